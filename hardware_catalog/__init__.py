"""GPUs, cloud instances and what a device really leaves for tensors."""
