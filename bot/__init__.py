"""Preflight as a GitHub App: GitHub in, GitHub out."""
