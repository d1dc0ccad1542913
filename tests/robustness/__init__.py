"""Hostile and broken input: nothing crashes, nothing hangs, each failure is named."""
