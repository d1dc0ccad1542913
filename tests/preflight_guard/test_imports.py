"""The guard lives in other people's environments: it needs torch and the catalogue, and nothing else."""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "preflight_guard"


def test_it_imports_torch_and_the_catalogue_only() -> None:
    roots = set()
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                roots |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                roots.add(node.module.partition(".")[0])
    assert roots - set(sys.stdlib_module_names) == {"torch", "hardware_catalog", "preflight_guard"}
