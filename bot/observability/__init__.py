"""What operators see of a process: its figures, its health and its log, which lets no secret through."""
