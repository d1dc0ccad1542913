"""The JSON schema of `.github/preflight.yml`, for editors: `python -m engine.settings.schema > FILE`.

# yaml-language-server: $schema=https://YOUR-BOT/preflight.schema.json
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from engine.settings.model import EntryPoint, Settings, kebab

FILE = "preflight.schema.json"


def json_schema() -> dict[str, Any]:
    """The schema, made from the settings' own model: both spellings of a key, and one name where a list may stand."""
    schema = Settings.model_json_schema(by_alias=False)
    definitions = schema.pop("$defs", {})
    point = definitions.pop(EntryPoint.__name__)
    properties = schema["properties"]
    properties["entry_points"]["items"] = {"anyOf": [{"type": "string"}, _both_spellings(point)]}
    described = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Preflight's configuration of a repository or an organisation",
        **_both_spellings(schema),
    }
    return described | ({"$defs": definitions} if definitions else {})


def _both_spellings(schema: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, entry in schema["properties"].items():
        taken = {key: value for key, value in entry.items() if key != "title"}
        described = {key: taken[key] for key in ("default", "description") if key in taken}
        bare = _one_or_many({key: value for key, value in taken.items() if key not in described})
        for spelling in dict.fromkeys((name, kebab(name))):
            properties[spelling] = {**bare, **described}
    rest = {key: value for key, value in schema.items() if key not in ("properties", "title", "description")}
    return {**rest, "properties": properties}


def _one_or_many(schema: Any) -> Any:
    """Where a list of names may stand, one name may."""
    if isinstance(schema, list):
        return [_one_or_many(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "array" and schema.get("items") == {"type": "string"}:
        return {"type": ["string", "array"], "items": {"type": "string"}}
    return {key: _one_or_many(value) for key, value in schema.items()}


def text() -> str:
    """The schema as the file holds it."""
    return json.dumps(json_schema(), indent=2) + "\n"


def published() -> str:
    """The file that is published with the package."""
    return resources.files("engine.settings").joinpath(FILE).read_text(encoding="utf-8")


if __name__ == "__main__":
    print(text(), end="")
