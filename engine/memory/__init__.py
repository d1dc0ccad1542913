"""Peak GPU memory of a training script: a shadow run over tensors without data."""
