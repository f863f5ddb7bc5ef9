"""The reference of the API as a page without scripts, from its OpenAPI document."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .schemas import Batch, Events, Problem, Query

_PLACE = "#/components/schemas/{model}"
# Errors that any request may have, and those of requests with a body.
_ERRORS = {
    400: "The request is malformed.",
    401: "A key is required.",
    403: "The key does not allow it, or the request is from another site.",
    404: "An id is unknown.",
    422: "A value is not allowed.",
    500: "Internal error.",
    503: "The service is overloaded, or a part of it does not answer.",
}
_BODY_ERRORS = {
    408: "The body is incomplete.",
    409: "Something else has this id.",
    413: "The body is too large.",
    415: "The body must be JSON.",
}


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of the routes, with their errors."""
    document = app.openapi()
    if "Problem" in document["components"]["schemas"]:
        return document
    bodies: Any = [(kind, "validation") for kind in (Query, Batch, Events, Problem)]
    schemas = models_json_schema(bodies, ref_template=_PLACE)[1]["$defs"]
    document["components"]["schemas"] = schemas
    of_error = {"application/problem+json": {"schema": {"$ref": _PLACE.format(model="Problem")}}}
    for methods in document["paths"].values():
        for method, operation in methods.items():
            errors = _ERRORS | (_BODY_ERRORS if method == "post" else {})
            operation["responses"] = {"200": operation["responses"]["200"]} | {
                str(status): {"description": text, "content": of_error}
                for status, text in sorted(errors.items())
            }
    return document


def takes(kind: type[BaseModel], role: str) -> dict[str, Any]:
    """Return the description of a body, and the role that may send it."""
    content = {"application/json": {"schema": {"$ref": _PLACE.format(model=kind.__name__)}}}
    return {"requestBody": {"required": True, "content": content}, "x-role": role}


def reference_page(document: dict[str, Any]) -> str:
    """Return an HTML page with all paths, parameters, bodies and examples."""
    schemas = document["components"]["schemas"]
    parts = [
        _operation(method, path, operation, schemas)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>boolrank API</title><link rel="stylesheet" href="/static/style.css">'
        '<link rel="icon" href="/static/icon.svg" type="image/svg+xml"></head>'
        '<body class="reference"><main><h1>boolrank API</h1><p>The same as '
        '<a href="/openapi.json">OpenAPI document</a>. <a href="/">Back to the page</a>.</p>'
        f"{''.join(parts)}</main></body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    rows = [
        _row(each["name"], each["in"], each.get("schema", {}), each.get("required", False))
        for each in operation.get("parameters", [])
    ]
    example = ""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    if body:
        schema = schemas[body["schema"]["$ref"].rpartition("/")[2]]
        needed = schema.get("required", [])
        rows += [
            _row(name, "body", each, name in needed) for name, each in schema["properties"].items()
        ]
        shown = "\n".join(json.dumps(each) for each in schema.get("examples", []))
        example = f"<pre><code>{escape(shown)}</code></pre>"
    table = (
        "<table><thead><tr><th>Name</th><th>In</th><th>Type</th><th>Meaning</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
        if rows
        else ""
    )
    text = escape(operation.get("description", ""))
    head = f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{text}</p>"
    return f"<section>{head}{table}{example}</section>"


def _row(name: str, place: str, schema: dict[str, Any], required: bool) -> str:
    kinds = [schema, *schema.get("anyOf", [])]
    kind = " or ".join(dict.fromkeys(str(each["type"]) for each in kinds if "type" in each))
    default = "" if required or "default" not in schema else f" Default {schema['default']}."
    meaning = schema.get("description", "") + default + (" Required." if required else "")
    cells = (f"<code>{escape(name)}</code>", place, escape(kind), escape(meaning))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
