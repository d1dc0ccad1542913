"""`python -m engine.cli`: the `preflight` command."""

import sys

from engine.cli.program import main

sys.exit(main())
