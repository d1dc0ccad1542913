import torch
import torch.nn as nn


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=256, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, num_layers=layers, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, tokens, state):
        out, state = self.gru(self.embed(tokens), state)
        return self.head(out), state


def chunks(data, bptt):
    for i in range(0, data.size(1) - 1, bptt):
        n = min(bptt, data.size(1) - 1 - i)
        yield data[:, i : i + n], data[:, i + 1 : i + 1 + n]


def train(text_ids, vocab, device, epochs=10, batch=32, bptt=64):
    torch.manual_seed(3)
    model = CharGRU(vocab).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    ce = nn.CrossEntropyLoss()
    data = text_ids[: len(text_ids) // batch * batch].view(batch, -1).to(device)
    for epoch in range(epochs):
        model.train()
        state = None
        for src, dst in chunks(data, bptt):
            opt.zero_grad()
            if state is not None:
                state = state.detach()
            logits, state = model(src, state)
            loss = ce(logits.reshape(-1, vocab), dst.reshape(-1))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        print(epoch, loss.item())
    return model
