"""How much of everything a number of repositories needs: `make capacity` writes docs/capacity.md.

`measure` finds what one review costs, on a bot of its own against the stand-in, and keeps it in costs.json;
`simulation` plays the deliveries of a working day against workers and GitHub's limits with those costs; `page` writes
what came of it.
"""
