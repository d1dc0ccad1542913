import torch
import torch.nn as nn
import torch.nn.functional as F


class TextCNN(nn.Module):
    def __init__(self, vocab, classes, dim=128, sizes=(3, 4, 5), filters=100):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, filters, k) for k in sizes])
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(filters * len(sizes), classes)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(dim=2) for conv in self.convs]
        logits = self.fc(self.drop(torch.cat(pooled, dim=1)))
        return F.softmax(logits, dim=1)


def train(loader, vocab, classes, device, epochs=10):
    torch.manual_seed(9)
    model = TextCNN(vocab, classes).to(device)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, rho=0.95)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        for ids, labels in loader:
            ids, labels = ids.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = criterion(model(ids), labels)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
    return model
