"""A concrete interpreter of Python: executes a project's source over `ast`, on models of its libraries.

The source is parsed and evaluated here; it is never imported, compiled or handed to the host interpreter. Classes of
the program are host classes whose methods are interpreted functions, so inheritance, descriptors, operators and
dataclasses behave as the language says. What it can reach is what `builtins`, `stdlib` and the library models
offer: no file outside the project, no network, no process, no clock.
"""
