from accelerate import Accelerator
from torch.optim import AdamW
from torch.utils.data import DataLoader


def main(model, train_set):
    acc = Accelerator()
    opt = AdamW(model.parameters(), lr=1e-5)
    dl = DataLoader(train_set, batch_size=8, shuffle=True)
    model, opt = acc.prepare(model, opt)
    for batch in dl:
        out = model(**batch)
        acc.backward(out.loss)
        opt.step()
        opt.zero_grad()
