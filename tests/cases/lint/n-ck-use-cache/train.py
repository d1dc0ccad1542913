import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, get_cosine_schedule_with_warmup, set_seed


def main(dataset, name="EleutherAI/pythia-1b", epochs=1):
    set_seed(1)
    tok = AutoTokenizer.from_pretrained(name)
    tok.pad_token = tok.eos_token
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16).to("cuda")
    model.gradient_checkpointing_enable()
    collate = DataCollatorForLanguageModeling(tok, mlm=False)
    loader = DataLoader(dataset, batch_size=8, shuffle=True, collate_fn=collate, num_workers=4, pin_memory=True)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    sched = get_cosine_schedule_with_warmup(opt, 100, epochs * len(loader))
    model.train()
    for _ in range(epochs):
        for step, batch in enumerate(loader):
            batch = {k: v.to("cuda", non_blocking=True) for k, v in batch.items()}
            out = model(**batch, use_cache=True)
            out.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad(set_to_none=True)
            if step % 50 == 0:
                print(step, out.loss.item())
    model.save_pretrained("pythia-sft")
