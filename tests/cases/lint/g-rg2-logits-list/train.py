import torch
from sklearn.metrics import roc_auc_score


def run_epoch(tox, dl, opt, bce):
    outs, labs = [], []
    for graph, y in dl:
        z = tox(graph)
        loss = bce(z, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        outs.append(torch.sigmoid(z))
        labs.append(y)
    outs = torch.cat(outs).detach().cpu().numpy()
    return roc_auc_score(torch.cat(labs).cpu().numpy(), outs)
