"""One reading of a project: an abstract interpreter that turns files into a Trace."""

from engine.interpreter.analysis import trace_project

__all__ = ["trace_project"]
