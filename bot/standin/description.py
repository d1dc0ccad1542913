"""Reads ``description.toml``, our own description of the operations, and checks requests against it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from openapi_schema_validator import OAS30Validator
from pydantic import BaseModel, ConfigDict

Schema = dict[str, Any]
Level = Literal["read", "write"]

PRIMITIVES: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "yes-no": {"type": "boolean"},
    "time": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"},
    "any": {"type": "object"},
}


class OperationEntry(BaseModel):
    """One line of ``[operations]`` as written in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    call: str
    needs: str
    body: str | None = None
    query: tuple[str, ...] = ()
    paged: bool = False


class DescriptionFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    operations: dict[str, OperationEntry]
    bodies: dict[str, dict[str, str]]


@dataclass(frozen=True)
class Operation:
    """One call of the REST API: how it is reached, who may make it, and what it may carry."""

    name: str
    method: str
    path: str
    needs: str
    query: frozenset[str]
    paged: bool
    pattern: re.Pattern[str]
    schema: Schema | None

    @property
    def permissions(self) -> Sequence[tuple[str, Level]]:
        """The permissions of which one is enough; empty for ``app``, ``open`` and ``token``."""
        if ":" not in self.needs:
            return ()
        pairs = (alternative.split(": ") for alternative in self.needs.split(" or "))
        return [(name, "write" if level == "write" else "read") for name, level in pairs]

    def parameters(self, path: str) -> dict[str, str] | None:
        match = self.pattern.fullmatch(path)
        return match.groupdict() if match else None

    def complaints(self, body: object) -> list[dict[str, str]]:
        """What is wrong with a request body, in the shape of GitHub's ``errors``."""
        if self.schema is None:
            return [] if body in (None, {}) else [{"code": "invalid", "message": f"{self.name} takes no body"}]
        found = []
        for error in OAS30Validator(self.schema).iter_errors({} if body is None else body):
            field = "/".join(str(part) for part in error.absolute_path) or "body"
            message = error.message
            if error.validator == "maxItems":
                message = (
                    f"No more than {error.validator_value} items are allowed; {len(error.instance)} were supplied."
                )
            code = "missing_field" if error.validator == "required" else "invalid"
            found.append({"field": field, "code": code, "message": message})
        return found


def field_schema(text: str, bodies: Mapping[str, Mapping[str, str]]) -> Schema:
    """The JSON schema of one TYPE of the file, without the mark for required fields."""
    text = text.removesuffix("!")
    if text.startswith("one of "):
        return {"type": "string", "enum": text.removeprefix("one of ").split(", ")}
    limit = None
    if ", at most " in text:
        text, figure = text.split(", at most ")
        limit = int(figure)
    if text.startswith("list of "):
        listed: Schema = {"type": "array", "items": field_schema(text.removeprefix("list of "), bodies)}
        return listed if limit is None else {**listed, "maxItems": limit}
    if text in PRIMITIVES:
        return dict(PRIMITIVES[text]) if limit is None else {**PRIMITIVES[text], "maxLength": limit}
    return body_schema(text, bodies)


def body_schema(name: str, bodies: Mapping[str, Mapping[str, str]]) -> Schema:
    fields = bodies[name]
    schema: Schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {field: field_schema(text, bodies) for field, text in fields.items()},
    }
    required = [field for field, text in fields.items() if text.endswith("!")]
    return {**schema, "required": required} if required else schema


def path_pattern(path: str) -> re.Pattern[str]:
    """``{path}``, ``{ref}`` and ``{basehead}`` may hold slashes, the other parameters may not."""
    pieces = []
    for piece in re.split(r"(\{\w+\})", path):
        if not piece.startswith("{"):
            pieces.append(re.escape(piece))
        elif (name := piece.strip("{}")) in ("path", "ref", "basehead"):
            pieces.append(f"(?P<{name}>.{'*' if name == 'path' else '+'})")
        else:
            pieces.append(f"(?P<{name}>[^/]+)")
    return re.compile("".join(pieces))


@cache
def operations() -> Mapping[str, Operation]:
    """All operations by name; the order is that of matching, longest path first."""
    text = files("bot.standin").joinpath("description.toml").read_text(encoding="utf-8")
    description = DescriptionFile.model_validate(tomllib.loads(text))
    found = []
    for name, entry in description.operations.items():
        method, path = entry.call.split(" ", 1)
        paging = ("per_page", "page") if entry.paged else ()
        schema = body_schema(entry.body, description.bodies) if entry.body else None
        query = frozenset((*entry.query, *paging))
        found.append(Operation(name, method, path, entry.needs, query, entry.paged, path_pattern(path), schema))
    found.sort(
        key=lambda operation: (-operation.path.count("/"), "{path}" in operation.path, "{ref}" in operation.path)
    )
    return {operation.name: operation for operation in found}


def find_operation(method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
    for operation in operations().values():
        if operation.method == method and (parameters := operation.parameters(path)) is not None:
            return operation, parameters
    return None
