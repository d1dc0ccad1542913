def run_batch(detector, opt, images, targets):
    parts = detector(images, targets)
    opt.zero_grad()
    whole = parts["box"] + parts["cls"]
    whole.backward()
    opt.step()
    return whole, parts["box"]
