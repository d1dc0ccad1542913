"""Findings as the Language Server Protocol says them: diagnostics, hovers, code actions.

Columns of findings count characters; the protocol counts in the units that client and server agreed on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from engine.editor.checking import Checked
from engine.findings import Edit, Evidence, Finding
from engine.fixes.applying import compatible
from engine.presentation.markdown import prose

SOURCE = "preflight"
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{SOURCE}"

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}

Locate = Callable[[Path, str], str]
"""The name by which the editor knows a place of a project: its folder, and a path as findings give it."""


def diagnostics(checked: Checked, codec: PositionCodec, locate: Locate) -> list[types.Diagnostic]:
    """What the editor marks in one part."""
    found = [diagnostic(finding, checked, codec, locate) for finding in checked.findings]
    if checked.unread is not None:
        line = max(0, min(checked.unread.line, len(checked.part.lines)) - 1)
        place = types.Range(types.Position(line, 0), types.Position(line, len(checked.part.lines[line])))
        message = f"Not analysed: {checked.unread.reason}"
        severity = types.DiagnosticSeverity.Information
        found.append(types.Diagnostic(place, message, severity=severity, source=SOURCE))
    return found


def diagnostic(finding: Finding, checked: Checked, codec: PositionCodec, locate: Locate) -> types.Diagnostic:
    """One finding; its evidence becomes related information."""
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(locate(checked.root, step.path), _line_range(step.line)), step.message
        )
        for step in finding.evidence
    ]
    return types.Diagnostic(
        _range(finding, checked, codec),
        finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.rule,
        source=f"{SOURCE}({finding.name})",
        related_information=related or None,
    )


def hover(checked: Checked, position: types.Position, codec: PositionCodec, locate: Locate) -> types.Hover | None:
    """The findings at a place with the chain of places that led to each, None where there is none."""
    here = [f for f in checked.findings if _holds(_range(f, checked, codec), position)]
    if not here:
        return None
    text = "\n\n---\n\n".join(_told(finding, checked, locate) for finding in here)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), _range(here[0], checked, codec))


def _told(finding: Finding, checked: Checked, locate: Locate) -> str:
    parts = [f"**{finding.name}** ({finding.rule}), {finding.severity}", prose(finding.message)]
    if finding.evidence:
        steps = (_step(number, step, checked, locate) for number, step in enumerate(finding.evidence, start=1))
        parts.append("How it comes about:\n\n" + "\n".join(steps))
    if finding.fix is not None:
        kind = "Fix" if finding.fix.safe else "Suggestion, needs a look"
        parts.append(f"{kind}: {prose(finding.fix.description)}")
    return "\n\n".join([*parts, f"`preflight explain {finding.name}` tells more."])


def _step(number: int, step: Evidence, checked: Checked, locate: Locate) -> str:
    name = prose(f"`{step.path}:{step.line}`")
    return f"{number}. [{name}]({locate(checked.root, step.path)}#L{step.line}) {prose(step.message)}"


def code_actions(
    checked: Checked,
    place: types.Range,
    only: Sequence[str | types.CodeActionKind] | None,
    codec: PositionCodec,
    locate: Locate,
) -> list[types.CodeAction]:
    """The safe fixes of the findings in a range, a comment that silences each, and all safe fixes of the part."""
    actions: list[types.CodeAction] = []
    if _wanted(types.CodeActionKind.QuickFix, only):
        near = [f for f in checked.findings if _overlap(_range(f, checked, codec), place)]
        for finding in near:
            told = [diagnostic(finding, checked, codec, locate)]
            if finding.fix is not None and finding.fix.safe:
                edit = _workspace_edit(checked, finding.fix.edits, codec)
                actions.append(
                    types.CodeAction(
                        finding.fix.description.rstrip("."),
                        types.CodeActionKind.QuickFix,
                        told,
                        is_preferred=True,
                        edit=edit,
                    )
                )
        for finding in near:
            title = f"Silence {finding.name} here with a comment"
            told = [diagnostic(finding, checked, codec, locate)]
            edit = _workspace_edit(checked, [_comment(finding, checked)], codec)
            actions.append(types.CodeAction(title, types.CodeActionKind.QuickFix, told, edit=edit))
    everything = [edit for fix in compatible(checked.findings) for edit in fix.edits]
    if everything and _wanted(FIX_ALL, only):
        edit = _workspace_edit(checked, everything, codec)
        actions.append(types.CodeAction("Apply all safe fixes of Preflight", FIX_ALL, edit=edit))
    return actions


def _comment(finding: Finding, checked: Checked) -> Edit:
    line = checked.part.lines[finding.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    text = f"{indent}# preflight: ignore[{finding.name}]\n"
    return Edit(line=finding.line, column=1, end_line=finding.line, end_column=1, text=text)


def _wanted(kind: str | types.CodeActionKind, only: Sequence[str | types.CodeActionKind] | None) -> bool:
    """Whether a client that asks for some kinds means this one: `source` means `source.fixAll` too."""
    name = kind.value if isinstance(kind, types.CodeActionKind) else kind
    asked = [each.value if isinstance(each, types.CodeActionKind) else each for each in only or ()]
    return not asked or any(name == each or name.startswith(f"{each}.") for each in asked)


def _workspace_edit(checked: Checked, edits: Iterable[Edit], codec: PositionCodec) -> types.WorkspaceEdit:
    document = types.OptionalVersionedTextDocumentIdentifier(checked.part.uri, checked.part.version)
    changes = [types.TextEdit(_span(edit, checked, codec), edit.text) for edit in edits]
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, changes)])


def _range(finding: Finding, checked: Checked, codec: PositionCodec) -> types.Range:
    return _span(finding, checked, codec)


def _span(place: Finding | Edit, checked: Checked, codec: PositionCodec) -> types.Range:
    lines = checked.part.lines
    start = _position(place.line, place.column, lines)
    end = _position(place.end_line, place.end_column, lines)
    return codec.range_to_client_units(lines, types.Range(start, max(start, end)))


def _position(line: int, column: int, lines: Sequence[str]) -> types.Position:
    """A place in the text; behind its last line it is the text's end."""
    if line > len(lines):
        return types.Position(len(lines) - 1, len(lines[-1]))
    return types.Position(line - 1, min(column - 1, len(lines[line - 1])))


def _line_range(line: int) -> types.Range:
    return types.Range(types.Position(line - 1, 0), types.Position(line - 1, 0))


def _holds(span: types.Range, position: types.Position) -> bool:
    return span.start <= position <= span.end


def _overlap(span: types.Range, other: types.Range) -> bool:
    return span.start <= other.end and other.start <= span.end
