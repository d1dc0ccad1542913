from steps import run_batch


def epoch(detector, opt, data):
    history = []
    for images, targets in data:
        whole, box = run_batch(detector, opt, images, targets)
        history.append((whole, box))
    return history
