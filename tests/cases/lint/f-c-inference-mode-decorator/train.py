import torch


class Evaluator:
    def __init__(self, net, tok):
        self.net = net.eval()
        self.tok = tok

    @torch.inference_mode()
    def perplexity(self, texts):
        total, count = 0.0, 0
        for t in texts:
            ids = self.tok(t, return_tensors="pt").input_ids
            out = self.net(ids, labels=ids)
            total += out.loss.item() * ids.numel()
            count += ids.numel()
        return total / count

    def __call__(self, texts):
        return self.perplexity(texts)
