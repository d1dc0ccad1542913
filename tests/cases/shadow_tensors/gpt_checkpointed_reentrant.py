import torch, torch.utils.checkpoint, torch.nn as nn, torch.nn.functional as F, math
class Block(nn.Module):
    def __init__(s, d, h):
        super().__init__()
        s.h=h; s.ln1=nn.LayerNorm(d); s.ln2=nn.LayerNorm(d)
        s.qkv=nn.Linear(d,3*d); s.proj=nn.Linear(d,d)
        s.fc=nn.Linear(d,4*d); s.fc2=nn.Linear(4*d,d); s.drop=nn.Dropout(0.1)
    def forward(s,x):
        B,T,C=x.shape
        q,k,v=s.qkv(s.ln1(x)).split(C,dim=2)
        q=q.view(B,T,s.h,C//s.h).transpose(1,2); k=k.view(B,T,s.h,C//s.h).transpose(1,2); v=v.view(B,T,s.h,C//s.h).transpose(1,2)
        y=F.scaled_dot_product_attention(q,k,v,is_causal=True)
        y=y.transpose(1,2).contiguous().view(B,T,C)
        x=x+s.drop(s.proj(y))
        x=x+s.fc2(F.gelu(s.fc(s.ln2(x))))
        return x
class GPT(nn.Module):
    def __init__(s,V=50257,T=512,d=512,L=4,h=8):
        super().__init__()
        s.wte=nn.Embedding(V,d); s.wpe=nn.Embedding(T,d); s.blocks=nn.ModuleList([Block(d,h) for _ in range(L)])
        s.ln=nn.LayerNorm(d); s.head=nn.Linear(d,V,bias=False); s.head.weight=s.wte.weight
    def forward(s,i,t):
        x=s.wte(i)+s.wpe(torch.arange(i.shape[1],device=i.device))
        for b in s.blocks: x=torch.utils.checkpoint.checkpoint(b,x,use_reentrant=True)
        l=s.head(s.ln(x))
        return l, F.cross_entropy(l.view(-1,l.size(-1)),t.view(-1))
model=GPT().cuda()
opt=torch.optim.AdamW(model.parameters(),lr=1e-4)
for i in range(2):
    x=torch.randint(0,50257,(8,512),device="cuda"); t=torch.randint(0,50257,(8,512),device="cuda")
    with torch.autocast("cuda",dtype=torch.bfloat16): logits, loss = model(x,t)
    opt.zero_grad(); loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(),1.0); opt.step()
