"""``torch.nn``: modules that hold shadow parameters."""
