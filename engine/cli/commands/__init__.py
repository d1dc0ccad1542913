"""One module a command, each with `HELP`, `EXAMPLES`, `configure(parser)` and `run(arguments)`.

Heavy imports stand in `run`: a command costs what it needs, and `--help` next to nothing.
"""
