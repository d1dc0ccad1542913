"""The bot under load and under faults: real `preflight-bot` processes against the stand-in for GitHub.

`python -m tests.stress [NAME ...] [--small] [--seed N]`; `make stress` runs all of them at full size. Each scenario
prints its figures and fails where the end state is wrong. Small samples of those in
which something breaks run with the other tests.
"""
