import torch, torch.nn as nn, torch.nn.functional as F
class BB(nn.Module):
    def __init__(s,i,o,st):
        super().__init__()
        s.c1=nn.Conv2d(i,o,3,st,1,bias=False); s.b1=nn.BatchNorm2d(o); s.c2=nn.Conv2d(o,o,3,1,1,bias=False); s.b2=nn.BatchNorm2d(o); s.relu=nn.ReLU(inplace=True)
        s.down=nn.Sequential(nn.Conv2d(i,o,1,st,bias=False),nn.BatchNorm2d(o)) if st!=1 or i!=o else None
    def forward(s,x):
        idt=x if s.down is None else s.down(x)
        y=s.relu(s.b1(s.c1(x))); y=s.b2(s.c2(y)); y+=idt
        return s.relu(y)
model=nn.Sequential(nn.Conv2d(3,64,7,2,3,bias=False),nn.BatchNorm2d(64),nn.ReLU(True),nn.MaxPool2d(3,2,1),BB(64,64,1),BB(64,128,2),BB(128,256,2),nn.AdaptiveAvgPool2d(1),nn.Flatten(),nn.Linear(256,1000)).cuda()
crit=nn.CrossEntropyLoss()
opt=torch.optim.SGD(model.parameters(),lr=.1,momentum=.9,weight_decay=1e-4)
for i in range(2):
    x=torch.randn(64,3,224,224).cuda(); y=torch.randint(0,1000,(64,)).cuda()
    out=model(x); loss=crit(out,y); opt.zero_grad(); loss.backward(); opt.step()
