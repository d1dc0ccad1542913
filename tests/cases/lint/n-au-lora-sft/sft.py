import torch
import wandb
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, get_cosine_schedule_with_warmup, set_seed


def train(dataset, collate, name="Qwen/Qwen2.5-0.5B", accum=16, epochs=2, lr=2e-4):
    set_seed(0)
    wandb.init(project="sft")
    base = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).cuda()
    model = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"]))
    loader = DataLoader(dataset, batch_size=2, shuffle=True, collate_fn=collate, num_workers=4, pin_memory=True, drop_last=True)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    sched = get_cosine_schedule_with_warmup(opt, 50, epochs * len(loader) // accum)
    model.train()
    micro = updates = 0
    for _ in range(epochs):
        for batch in loader:
            micro += 1
            batch = {k: v.cuda(non_blocking=True) for k, v in batch.items()}
            loss = model(**batch).loss
            loss.backward()
            if micro % accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad(set_to_none=True)
                updates += 1
                if updates % 10 == 0:
                    wandb.log({"loss": loss.item(), "lr": sched.get_last_lr()[0]})
    model.save_pretrained("lora-out")
