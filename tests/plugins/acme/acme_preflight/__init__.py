"""What Acme's training code has to keep."""
