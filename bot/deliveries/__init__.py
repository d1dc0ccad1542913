"""Deliveries of GitHub: the receiver that stores them, and the reconciler that asks for those that were missed."""
