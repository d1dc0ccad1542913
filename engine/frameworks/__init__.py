"""What training frameworks do for their users, as tables: one file a framework."""

from engine.frameworks.effects import Effect, Framework
from engine.frameworks.registry import base_family, call_effect, canonical, method_effect

__all__ = ["Effect", "Framework", "base_family", "call_effect", "canonical", "method_effect"]
