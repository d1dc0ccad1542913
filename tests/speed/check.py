"""The speed gate: `python -m tests.speed.check`.

Machines are shared and noisy, so speed is a ratio: CPU seconds of reading a generated project against CPU seconds of
parsing the same text with the standard library, both in this process. The gate fails only where the ratio leaves its
order of magnitude.
"""

from __future__ import annotations

import ast
import sys
import time

from engine.check import check
from engine.project import Project

RATIO_CEILING = 90.0

TRAINING_FILE = """
import torch
from torch import nn


class Network{number}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, 10)

    def forward(self, batch):
        return self.second(torch.relu(self.first(batch)))


def train_{number}(loader, epochs):
    network = Network{number}(128)
    optimizer = torch.optim.AdamW(network.parameters())
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        network.train()
        total = 0.0
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(network(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(epoch, total)
"""


def main() -> int:
    """Print the ratio; 1 where it is above the ceiling."""
    files = {f"package/module_{n}.py": TRAINING_FILE.replace("{number}", str(n)) for n in range(60)}
    start = time.process_time()
    for _ in range(3):
        for text in files.values():
            ast.parse(text)
    parsing = (time.process_time() - start) / 3
    check(Project.from_mapping({"warm.py": TRAINING_FILE.replace("{number}", "0")}))
    start = time.process_time()
    check(Project.from_mapping(files))
    reading = time.process_time() - start
    ratio = reading / parsing
    print(
        f"check: {reading / len(files) * 1000:.1f} ms of CPU a file, "
        f"{ratio:.1f} times the parse (ceiling {RATIO_CEILING:.0f})"
    )
    return 1 if ratio > RATIO_CEILING else 0


if __name__ == "__main__":
    sys.exit(main())
