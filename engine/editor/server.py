"""The language server: keeps up with the editor, and answers from the last check.

Checking happens in one thread beside the protocol's loop, a moment after the last change. What is asked meanwhile is
answered from what was found for the text that is still open; where the text has changed since, nothing is offered.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from engine.editor import answers
from engine.editor.checking import Checked, Checker
from engine.editor.documents import Document, Part, by_root
from engine.project.module import split_cell

DEBOUNCE_SECONDS = 0.25
"""How long nothing may change before a check starts."""
STACK_BYTES = 64 * 2**20
"""Stack of the checking thread: following calls nests deeply."""
LANGUAGES = ("python",)
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook", cells=[types.NotebookCellLanguage(language) for language in LANGUAGES]
        )
    ],
    save=True,
)
WATCHED = ("**/*.py", "**/*.ipynb", "**/.github/preflight.y*ml", "**/pyproject.toml")
"""What may change on disk without the editor, by a checkout or a formatter."""


class PreflightServer(LanguageServer):
    """What is open, and what was found in it last."""

    def __init__(self) -> None:
        super().__init__("preflight", version("preflight-review"), notebook_document_sync=NOTEBOOKS)
        before = threading.stack_size(STACK_BYTES)
        self._thread = ThreadPoolExecutor(1, "check")
        # Threads start when they get their first work.
        self._thread.submit(int).result()
        threading.stack_size(before)
        self._checker = Checker()
        self._found: dict[str, Checked] = {}
        self._said: set[str] = set()
        self._asked = 0
        self._checking: asyncio.Task[None] | None = None

    # ---- checking ------------------------------------------------------------------------------------------------

    def recheck(self, *, look_again: bool = False) -> None:
        """Something changed: check when things are quiet. `look_again`: on disk too."""
        self._asked += 1
        if look_again:
            self._checker.look_again()
        if self._checking is None or self._checking.done():
            self._checking = asyncio.get_running_loop().create_task(self._check_until_quiet())

    async def _check_until_quiet(self) -> None:
        answered = -1
        while answered != self._asked:
            answered = self._asked
            await asyncio.sleep(DEBOUNCE_SECONDS)
            if answered != self._asked:
                answered = -1
                continue
            opened = by_root(self._documents(), self._folders())
            try:
                found, remarks = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._checker.check, opened
                )
            except Exception as problem:
                # The editor goes on; what went wrong stands in its log.
                self._log(f"The check stopped: {type(problem).__name__}: {problem}", types.MessageType.Error)
                continue
            self._publish(found)
            for remark in remarks:
                self._log(remark, types.MessageType.Warning)

    def _publish(self, found: Sequence[Checked]) -> None:
        self._found = {checked.part.uri: checked for checked in found}
        for uri, checked in self._found.items():
            if uri in self.workspace.text_documents:
                marks = answers.diagnostics(checked, self.workspace.position_codec, self.uri_of)
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri, marks, version=checked.part.version)
                )

    def _log(self, message: str, kind: types.MessageType) -> None:
        if message not in self._said:
            self._said.add(message)
            self.window_log_message(types.LogMessageParams(kind, message))

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._found.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def current(self, uri: str) -> Checked | None:
        """What was found in a document, if it is still the text that it was found in."""
        checked = self._found.get(uri)
        document = self.workspace.text_documents.get(uri)
        if checked is None or document is None or document.source != checked.part.text:
            return None
        return checked

    async def watch(self) -> None:
        """Ask the editor to tell of files that change on disk, where it can."""
        workspace = self.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is None or not watching.dynamic_registration:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(name) for name in WATCHED])
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = types.Registration("preflight-files", method, options)
        try:
            await self.client_register_capability_async(types.RegistrationParams([registration]))
        except JsonRpcException as problem:
            self._log(
                f"Files that change on disk are seen when one is opened or saved: {problem}", types.MessageType.Log
            )

    # ---- what is open --------------------------------------------------------------------------------------------

    def _folders(self) -> list[Path]:
        known = [folder.uri for folder in self.workspace.folders.values()] or [self.workspace.root_uri]
        return [path for path in map(_local_path, known) if path is not None]

    def _documents(self) -> list[Document]:
        found: list[Document] = []
        in_notebooks: set[str] = set()
        for notebook in self.workspace.notebook_documents.values():
            cells = [cell.document for cell in notebook.cells if cell.kind == types.NotebookCellKind.Code]
            in_notebooks |= {cell.document for cell in notebook.cells}
            path = _local_path(notebook.uri)
            parts = [_part(self.workspace.text_documents[uri]) for uri in cells if uri in self.workspace.text_documents]
            if path is not None and parts:
                found.append(Document(path, parts))
        for uri, document in self.workspace.text_documents.items():
            path = _local_path(uri)
            if uri not in in_notebooks and path is not None and path.suffix != ".ipynb":
                found.append(Document(path, [_part(document)]))
        return found

    def uri_of(self, root: Path, display_path: str) -> str:
        """The editor's name for a place in a project."""
        path, cell = split_cell(display_path)
        whole = root / path
        if cell:
            for notebook in self.workspace.notebook_documents.values():
                if _local_path(notebook.uri) == whole:
                    code: list[str] = [
                        each.document for each in notebook.cells if each.kind == types.NotebookCellKind.Code
                    ]
                    return code[int(cell) - 1] if int(cell) <= len(code) else notebook.uri
        names: Iterable[str] = self.workspace.text_documents
        opened: str | None = next((uri for uri in names if _local_path(uri) == whole), None)
        return opened or whole.as_uri()


def _part(document: TextDocument) -> Part:
    return Part(document.uri, document.version, document.source)


def _local_path(uri: str | None) -> Path | None:
    """The place on this machine, None for what has none, such as a text that was never saved."""
    if uri is None or not uri.startswith("file:"):
        return None
    path = uris.to_fs_path(uri)
    return Path(path) if path else None


def build_server() -> PreflightServer:
    """The server with all that it answers to."""
    server = PreflightServer()

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        await server.watch()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    async def changed(_: Any) -> None:
        server.recheck()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def on_disk(_: Any) -> None:
        server.recheck(look_again=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        server.forget(parameters.text_document.uri)
        server.recheck()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    async def notebook_closed(parameters: types.DidCloseNotebookDocumentParams) -> None:
        for cell in parameters.cell_text_documents:
            server.forget(cell.uri)
        server.recheck()

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(parameters: types.HoverParams) -> types.Hover | None:
        checked = server.current(parameters.text_document.uri)
        if checked is None:
            return None
        return answers.hover(checked, parameters.position, server.workspace.position_codec, server.uri_of)

    kinds = [types.CodeActionKind.QuickFix, answers.FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def code_actions(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        checked = server.current(parameters.text_document.uri)
        if checked is None:
            return []
        codec = server.workspace.position_codec
        return answers.code_actions(checked, parameters.range, parameters.context.only, codec, server.uri_of)

    return server
