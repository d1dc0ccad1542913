import torch, torch.nn as nn
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.e=nn.Embedding(20000,256); s.l=nn.LSTM(256,512,2,batch_first=True,dropout=.2,bidirectional=True); s.f=nn.Linear(1024,20000)
    def forward(s,x):
        o,_=s.l(s.e(x)); return s.f(o)
m=M().cuda(); opt=torch.optim.RMSprop(m.parameters(),lr=1e-3); crit=nn.CrossEntropyLoss()
scaler=torch.cuda.amp.GradScaler()
for i in range(2):
    x=torch.randint(0,20000,(32,128)).cuda()
    with torch.cuda.amp.autocast():
        o=m(x); loss=crit(o.transpose(1,2),x)
    opt.zero_grad(); scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
