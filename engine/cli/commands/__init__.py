"""One module a command, each with `HELP`, `configure(parser)` and `run(arguments)`; heavy imports stand in `run`."""
