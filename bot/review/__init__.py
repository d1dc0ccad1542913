"""The review pipeline: fetch, analyse, compare, publish."""
