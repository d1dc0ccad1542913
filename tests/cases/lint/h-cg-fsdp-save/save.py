import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel as FSDP, StateDictType


class Saver:
    def __init__(self, model: FSDP, path):
        self.model, self.path = model, path
        self.cfg = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)

    def save(self, step):
        if dist.get_rank() == 0:
            with FSDP.state_dict_type(self.model, StateDictType.FULL_STATE_DICT, self.cfg):
                state = self.model.state_dict()
            torch.save(state, f"{self.path}/{step}.pt")
        dist.barrier()


def train(model, dl, opt, path):
    model = FSDP(model.cuda())
    saver = Saver(model, path)
    model.train()
    for i, b in enumerate(dl):
        loss = model(**b).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 1000 == 999:
            saver.save(i)
