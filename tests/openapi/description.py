"""GitHub's published description of its API, cut down to some operations, as Prism takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

JSON = dict[str, Any]

MEDIA_TYPES = ("application/vnd.github+json", "application/vnd.github.v3+json")
"""How GitHub and its clients also call what the description calls application/json."""


def narrowed(whole: JSON, operations: Iterable[tuple[str, str]]) -> JSON:
    """Return a description of these operations alone, each a method and a path of the whole.

    What they refer to is kept. What is JSON is it under its other names, too; headers of answers
    are left out, because Prism reads GitHub's example of a Link as a rule; and requests may say
    nothing but what is described, so that a misspelt member is reported. Raises KeyError for an
    operation that GitHub does not describe.
    """
    paths: JSON = {}
    for method, path in operations:
        paths.setdefault(path, {})[method.lower()] = whole["paths"][path][method.lower()]
    components: JSON = {}
    waiting = sorted(_references(paths))
    while waiting:
        kind, name = waiting.pop().removeprefix("#/components/").split("/")
        there = components.setdefault(kind, {})
        if name not in there:
            there[name] = whole["components"][kind][name]
            waiting += _references(there[name])
    kept = {
        "openapi": whole["openapi"],
        "info": whole["info"],
        "paths": paths,
        "components": components,
    }
    return _eased(json.loads(json.dumps(kept)))


def same_shape(path: str) -> str:
    """Return a path with its parts unnamed, by which two namings of it are equal."""
    return re.sub(r"\{[^}]+\}", "{}", path)


def queries(description: JSON, method: str, path: str) -> set[str] | None:
    """Return the names that the query of a request may have; None for what is not described."""
    # issues/comments is also an issue called comments: the fewest parts without a name win.
    templates = sorted(description["paths"].items(), key=lambda each: each[0].count("{"))
    for template, operations in templates:
        pattern = re.escape(same_shape(template)).replace(r"\{\}", "[^/]+")
        if re.fullmatch(pattern, path) and method.lower() in operations:
            found = operations[method.lower()].get("parameters", [])
            parameters = [
                description["components"]["parameters"][each["$ref"].rpartition("/")[2]]
                if "$ref" in each
                else each
                for each in found
            ]
            return {each["name"] for each in parameters if each["in"] == "query"}
    return None


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        # Examples look like what they are examples of.
        for name, value in part.items():
            if name not in ("example", "examples"):
                yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


def _eased(description: JSON) -> JSON:
    components = description["components"]
    for parameter in components.get("parameters", {}).values():
        # A number in a path is a text, too, and is not to be refused for being both.
        if "oneOf" in parameter["schema"]:
            parameter["schema"]["anyOf"] = parameter["schema"].pop("oneOf")
    bodies: list[JSON] = list(components.get("responses", {}).values())
    for operations in description["paths"].values():
        for operation in operations.values():
            bodies += operation["responses"].values()
            if "requestBody" in operation:
                bodies.append(operation["requestBody"])
                for media in operation["requestBody"]["content"].values():
                    _close(media["schema"])
    for body in bodies:
        body.pop("headers", None)
        content = body.get("content", {})
        for media in content.values():
            media.pop("examples", None)
        if "application/json" in content:
            content.update(dict.fromkeys(MEDIA_TYPES, content["application/json"]))
    eased: JSON = _nullable(description)
    return eased


def _close(schema: JSON) -> None:
    """Let objects have no members but those that are described."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
        for member in schema["properties"].values():
            _close(member)
    if "items" in schema:
        _close(schema["items"])


def _nullable(part: Any) -> Any:
    """Return a part in which whatever may be null says it together with a type.

    Where it does not, the validator refuses the whole schema, and Prism then checks nothing by it.
    """
    if isinstance(part, list):
        return [_nullable(value) for value in part]
    if not isinstance(part, dict):
        return part
    eased = {name: _nullable(value) for name, value in part.items() if not name.startswith("x-")}
    if not isinstance(eased.get("nullable"), bool):
        return eased
    if isinstance(eased.get("enum"), list):
        # Prism adds it once more.
        eased["enum"] = [value for value in eased["enum"] if value is not None]
    if "type" in eased:
        return eased
    null = {"type": "string", "nullable": True, "not": {"type": "string"}}
    return {"anyOf": [eased, null]} if eased.pop("nullable") else eased
