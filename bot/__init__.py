"""Preflight as a GitHub App: GitHub in, GitHub out.

A delivery comes in at `deliveries`, `events` or `commands` decide what it asks for, `jobs` keeps that until it is done,
`handler` says whose work it is, and `review` does the largest part of it. `service` puts them together.
"""
