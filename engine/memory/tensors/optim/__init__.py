"""``torch.optim``: optimizers with their states and the temporaries of a step."""
