"""`preflight lsp`, driven by a client of the protocol as an editor drives it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from engine.cli import main

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")
pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")

import pytest_asyncio  # noqa: E402
from lsprotocol import types  # noqa: E402
from pygls.protocol import default_converter  # noqa: E402
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features  # noqa: E402

in_one_session = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[3]
LONGEST_SECONDS = 60
"""A server that answers no more fails its test."""
TRAINING = """\
import torch
from torch.nn import functional as F


def train(model, loader, optimizer):
    losses = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses
"""
CLEAN = TRAINING.replace("append(loss)", "append(loss.detach())")


class Editor:
    """A client with what it has open, and the last that it was told of each text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.versions: dict[str, int] = {}
        self.told: dict[str, types.PublishDiagnosticsParams] = {}
        self.watched: list[str] = []
        self.news = asyncio.Condition()
        self.client = pytest_lsp.LanguageClient(converter_factory=default_converter)

        async def hear(parameters: types.PublishDiagnosticsParams) -> None:
            async with self.news:
                self.told[parameters.uri] = parameters
                self.news.notify_all()

        async def watch(parameters: types.RegistrationParams) -> None:
            async with self.news:
                self.watched += [entry.method for entry in parameters.registrations]
                self.news.notify_all()

        features = {
            **DEFAULT_CLIENT_FEATURES,
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: hear,
            types.CLIENT_REGISTER_CAPABILITY: watch,
        }
        register_lsp_features(self.client, features)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def marked(self, uri: str, version: int, *codes: str | None) -> list[types.Diagnostic]:
        """The diagnostics of a text, once its version is known to have those of these codes and no others."""

        def as_expected() -> bool:
            told = self.told.get(uri)
            return told is not None and told.version == version and [m.code for m in told.diagnostics] == list(codes)

        try:
            async with asyncio.timeout(LONGEST_SECONDS), self.news:
                await self.news.wait_for(as_expected)
        except TimeoutError:
            pytest.fail(f"expected {codes} of version {version}, but was told {self.told.get(uri)}")
        return list(self.told[uri].diagnostics)

    async def open(self, name: str, text: str, *codes: str | None) -> list[types.Diagnostic]:
        self.versions[name] = 1
        document = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return await self.marked(self.uri(name), 1, *codes)

    async def change(self, name: str, text: str, *codes: str | None) -> list[types.Diagnostic]:
        self.versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        return await self.marked(self.uri(name), self.versions[name], *codes)

    def close(self, name: str) -> None:
        identifier = types.TextDocumentIdentifier(self.uri(name))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(identifier))

    async def actions(self, uri: str, place: types.Range, *kinds: str) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only=list(kinds) or None)
        parameters = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        found = await self.client.text_document_code_action_async(parameters)
        return [action for action in found or () if isinstance(action, types.CodeAction)]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Editor]:
    folder = tmp_path_factory.mktemp("workspace")
    editor = Editor(folder)
    client = editor.client
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    await client.start_io(sys.executable, "-m", "engine.cli", "lsp", "--stdio", env=environment, cwd=str(folder))
    capabilities = pytest_lsp.client_capabilities("visual-studio-code")
    notebooks = types.NotebookDocumentSyncClientCapabilities()
    capabilities.notebook_document = types.NotebookDocumentClientCapabilities(notebooks)
    folders = [types.WorkspaceFolder(folder.as_uri(), "workspace")]
    await client.initialize_session(
        types.InitializeParams(capabilities, root_uri=folder.as_uri(), workspace_folders=folders)
    )
    yield editor
    await client.shutdown_session()
    await client.stop()


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """A text of plain characters after edits, as an editor makes them."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line.encode("utf-16-le")) // 2 + 1)
    units = text.encode("utf-16-le")
    for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
        first = 2 * (starts[edit.range.start.line] + edit.range.start.character)
        last = 2 * (starts[edit.range.end.line] + edit.range.end.character)
        units = units[:first] + edit.new_text.encode("utf-16-le") + units[last:]
    return units.decode("utf-16-le")


def edits_of(action: types.CodeAction, uri: str) -> Sequence[types.TextEdit]:
    assert action.edit is not None and action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri
    return [edit for edit in change.edits if isinstance(edit, types.TextEdit)]


@in_one_session
async def test_findings_come_on_opening_and_go_with_the_change_that_mends_them(editor: Editor) -> None:
    (mark,) = await editor.open("train.py", TRAINING, "PF101")
    assert mark.severity == types.DiagnosticSeverity.Error
    assert mark.range == types.Range(types.Position(11, 8), types.Position(11, 27))
    assert mark.related_information is not None
    assert [step.location.range.start.line for step in mark.related_information] == [8, 6]
    assert {step.location.uri for step in mark.related_information} == {editor.uri("train.py")}
    await editor.change("train.py", CLEAN)
    await editor.change("train.py", TRAINING, "PF101")
    editor.close("train.py")
    async with asyncio.timeout(LONGEST_SECONDS), editor.news:
        await editor.news.wait_for(lambda: not editor.told[editor.uri("train.py")].diagnostics)


@in_one_session
async def test_the_buffers_of_other_files_count_as_they_are_open(editor: Editor) -> None:
    helper = "def remember(losses, loss):\n    losses.append(loss{})\n"
    (editor.folder / "helper.py").write_text(helper.format(".detach()"))
    text = CLEAN.replace("losses.append(loss.detach())", "remember(losses, loss)")
    await editor.open("caller.py", f"from helper import remember\n{text}")
    await editor.open("helper.py", helper.format(".detach()"))
    # The finding may stand in either file, by which of them can be mended.
    await editor.change("helper.py", helper.format(""))
    (mark,) = await editor.marked(editor.uri("caller.py"), 1, "PF101")
    assert mark.range.start.line == 12
    editor.close("helper.py")
    await editor.marked(editor.uri("caller.py"), 1)


@in_one_session
async def test_a_file_that_changes_on_disk_counts_when_the_editor_tells(editor: Editor) -> None:
    async with asyncio.timeout(LONGEST_SECONDS), editor.news:
        await editor.news.wait_for(lambda: types.WORKSPACE_DID_CHANGE_WATCHED_FILES in editor.watched)
    aside = editor.folder / "aside.py"
    aside.write_text("def remember(losses, loss):\n    losses.append(loss.detach())\n")
    text = CLEAN.replace("losses.append(loss.detach())", "remember(losses, loss)")
    await editor.open("watcher.py", f"from aside import remember\n{text}")
    aside.write_text("def remember(losses, loss):\n    losses.append(loss)\n")
    event = types.FileEvent(aside.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
    await editor.marked(editor.uri("watcher.py"), 1, "PF101")


@in_one_session
async def test_hovering_tells_how_it_comes_about(editor: Editor) -> None:
    await editor.open("hover.py", TRAINING, "PF101")
    document = types.TextDocumentIdentifier(editor.uri("hover.py"))
    told = await editor.client.text_document_hover_async(types.HoverParams(document, types.Position(11, 12)))
    assert told is not None and isinstance(told.contents, types.MarkupContent)
    assert "**retained-graph** (PF101), error" in told.contents.value
    assert f"[`hover.py:9`]({editor.uri('hover.py')}#L9) made here" in told.contents.value
    assert await editor.client.text_document_hover_async(types.HoverParams(document, types.Position(0, 0))) is None


@in_one_session
async def test_code_actions_fix_silence_and_fix_everything(editor: Editor) -> None:
    # Two UTF-16 units stand for one character in front of the place.
    text = TRAINING.replace("losses.append(loss)", "'\N{ROCKET}', losses.append(loss)").replace(
        "        optimizer.zero_grad()\n", ""
    )
    marks = await editor.open("actions.py", text, "PF201", "PF101")
    uri, place = editor.uri("actions.py"), marks[1].range
    assert place.start.character == len("        '??', ")

    fix, silence, everything = await editor.actions(uri, place)
    assert fix.kind == types.CodeActionKind.QuickFix and fix.is_preferred
    assert applied(text, edits_of(fix, uri)) == text.replace("append(loss)", "append(loss.detach())")
    assert "\n        # preflight: ignore[retained-graph]\n        '" in applied(text, edits_of(silence, uri))
    assert silence.title == "Silence retained-graph here with a comment"
    (only,) = await editor.actions(uri, place, "source.fixAll")
    assert only == everything and only.kind == "source.fixAll.preflight"
    fixed = applied(text, edits_of(everything, uri))
    assert "optimizer.zero_grad()" in fixed and ".detach()" in fixed
    await editor.change("actions.py", fixed)
    assert await editor.actions(uri, place) == []


@in_one_session
async def test_cells_of_a_notebook_are_marked_and_fixed(editor: Editor) -> None:
    setup, training = TRAINING.split("\n\n\n")
    body = "\n".join(line[4:] for line in training.split("\n")[1:-2])
    code, markup = types.NotebookCellKind.Code, types.NotebookCellKind.Markup
    cells = [
        ("#1", code, setup + "\nmodel = torch.nn.Linear(1, 1)\ntorch.manual_seed(1)"),
        ("#2", markup, "# Training"),
        ("#3", code, "optimizer = torch.optim.SGD(model.parameters(), lr=1)"),
        ("#4", code, body),
    ]
    uri = editor.uri("notes.ipynb")
    names = [uri.replace("file:", "vscode-notebook-cell:") + name for name, _, _ in cells]
    in_order = [types.NotebookCell(kind, name) for name, (_, kind, _) in zip(names, cells, strict=True)]
    texts = [types.TextDocumentItem(name, "python", 1, cell[2]) for name, cell in zip(names, cells, strict=True)]
    notebook = types.NotebookDocument(uri, "jupyter-notebook", 1, in_order)
    editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))

    (mark,) = await editor.marked(names[3], 1, "PF101")
    assert body.split("\n")[mark.range.start.line] == "    losses.append(loss)"
    assert mark.related_information and mark.related_information[0].location.uri == names[3]
    fix, *_ = await editor.actions(names[3], mark.range)
    assert applied(body, edits_of(fix, names[3])) == body.replace("append(loss)", "append(loss.detach())")


@in_one_session
async def test_what_does_not_parse_is_said_and_what_is_excluded_is_left_alone(editor: Editor) -> None:
    (mark,) = await editor.open("broken.py", "import torch\ndef f(:\n", None)
    assert mark.severity == types.DiagnosticSeverity.Information and mark.range.start.line == 1
    assert mark.message.startswith("Not analysed: does not parse")
    await editor.open("tests/test_train.py", TRAINING)


@in_one_session
async def test_settings_count_as_they_are_typed(editor: Editor) -> None:
    await editor.open("settings.py", TRAINING, "PF101")
    await editor.open(".github/preflight.yml", "ignore: [retained-graph]\n")
    await editor.marked(editor.uri("settings.py"), 1)
    editor.close(".github/preflight.yml")
    await editor.marked(editor.uri("settings.py"), 1, "PF101")


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith(("pygls", "engine.editor"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    assert main(["lsp"]) == 2
    assert "pip install 'preflight-review[lsp]'" in capsys.readouterr().err
