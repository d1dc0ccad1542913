import torch


def train(lm, tok, dl, opt, prompt):
    lm.train()
    for i, b in enumerate(dl):
        loss = lm(**b).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 200 == 0:
            lm.eval()
            with torch.no_grad():
                print(tok.decode(lm.generate(**prompt, max_new_tokens=50)[0]))
            lm.train()
