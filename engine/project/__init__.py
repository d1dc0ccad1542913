"""The files of one commit: looked up by path or by module name, read lazily, never executed.

project = Project.from_folder(Path("."))
project = Project.from_revision(Path("repo.git"), "main")
project = Project.from_mapping({"train.py": "import torch"})
module = project.module("train.py")          # Module(path, text, tree, lines, ...)
project.find_module("pkg.model", importer="train.py")
"""

from engine.project.module import Module, Span
from engine.project.notebooks import Cell
from engine.project.project import Project
from engine.project.reading import UnreadableFile
from engine.project.sources import MAX_FILE_BYTES, MAX_NOTEBOOK_BYTES
from engine.project.suppressions import Suppression

__all__ = ["MAX_FILE_BYTES", "MAX_NOTEBOOK_BYTES", "Cell", "Module", "Project", "Span", "Suppression", "UnreadableFile"]
