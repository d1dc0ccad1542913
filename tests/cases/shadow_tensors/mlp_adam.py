import torch, torch.nn as nn
model = nn.Sequential(nn.Linear(1024,4096), nn.GELU(), nn.Linear(4096,1024), nn.ReLU(), nn.Linear(1024,10)).cuda()
opt = torch.optim.Adam(model.parameters())
for i in range(2):
    x = torch.randn(512,1024,device="cuda"); y = torch.randint(0,10,(512,),device="cuda")
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
