def test(model, test_loader, criterion, device):
    model.eval()
    test_loss, correct = 0, 0
    for data, target in test_loader:
        data, target = data.to(device), target.to(device)
        output = model(data)
        test_loss += criterion(output, target).item()
        correct += output.argmax(1).eq(target).sum().item()
    return test_loss / len(test_loader), correct / len(test_loader.dataset)
