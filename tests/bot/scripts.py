"""A training script with and without a bug that the engine knows."""

from __future__ import annotations

CLEAN = """import torch
from torch import nn

model = nn.Linear(4, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for step in range(100):
    batch = torch.randn(8, 4, device="cuda")
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
BUG = CLEAN.replace("    optimizer.zero_grad()\n", "")
"""Gradients are never cleared: the deleted line makes a finding where no line was added."""
