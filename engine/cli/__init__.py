"""The preflight command."""
