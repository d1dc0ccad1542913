import torch, torch.nn as nn
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.e=nn.Embedding(10000,512); s.t=nn.TransformerEncoder(nn.TransformerEncoderLayer(512,8,2048,batch_first=True,norm_first=True),4); s.h=nn.Linear(512,10000)
    def forward(s,x):
        m=nn.Transformer.generate_square_subsequent_mask(x.shape[1],device=x.device)
        return s.h(s.t(s.e(x),mask=m,is_causal=True))
m=M().cuda(); opt=torch.optim.Adam(m.parameters())
for i in range(2):
    x=torch.randint(0,10000,(16,256),device="cuda")
    o=m(x); loss=nn.functional.cross_entropy(o.reshape(-1,10000),x.view(-1),label_smoothing=0.1)
    opt.zero_grad(); loss.backward(); opt.step()
