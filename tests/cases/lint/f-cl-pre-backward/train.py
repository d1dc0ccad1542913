from torch.nn.utils import clip_grad_value_


def seq2seq_epoch(enc_dec, pairs, opt, pad):
    enc_dec.train()
    for src, trg in pairs:
        opt.zero_grad()
        logits = enc_dec(src, trg[:, :-1])
        loss = pad(logits.flatten(0, 1), trg[:, 1:].flatten())
        clip_grad_value_(enc_dec.parameters(), 0.5)
        loss.backward()
        opt.step()
