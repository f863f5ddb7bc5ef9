"""HTTP service: recommendations with reasons, durable events, exact refreshes, and a web page.

Bodies are JSON. Every answer has ``model``, the hash of the model that gave it. An entry of a list
is ``{"item": id, "title": text or null, "score": number}``, with ``reasons: k`` also
``"reasons": [{"item", "title", "adds"}]`` (the k largest) and ``"rest"`` (the sum of the others):
reasons and rest add up to the score. Where a kernel has terms over tags, some reasons are shared
tags: ``{"item": null, "title": "genres: war, 1 of 3 shared", "column", "tags", "adds"}``.

    GET  /v1/recommendations/{user}?n&exclude&candidates&exclude_seen&where&per&diversity&reasons
         &strict                        per: column=number, repeated; diversity: 0 to 1
    POST /v1/recommendations            {"user": id} or {"items": [id]}, and the same options, but
         "per": {column: number}
         {"model", "user", "popular", "items": [entry], "unknown": [id]}
         popular: there is no history, so these are popular items. unknown: ids that were ignored.
    POST /v1/recommendations:batch      {"queries": [...]} -> {"model", "results": [...]}
    GET  /v1/similar/{item}?n&where     {"model", "item", "title", "items": [{.., "similarity"}]}
    GET  /v1/explanations/{user}/{item}?n
         {"model", "user", "item", "title", "popular", "score", "reasons", "rest"}
    GET  /v1/popular?n&exclude          {"model", "items": [entry]}; the score counts users
    GET  /v1/items?q&n                  {"model", "total", "items": [{"item", "title", "users"}]}
    GET  /v1/users?q&n                  {"model", "users": [{"user", "items"}]}
    GET  /v1/users/{user}?n             {"model", "user", "known", "total", "items": [{..}],
                                         "events", "unknown"}
    POST /v1/events                     {"events": [{"id", "user", "item", "action", "time"}]}
         {"model", "stored", "duplicates", "sequence", "unknown"}
    POST /v1/refresh                    {"model", "previous", "changed", "seconds"}
    GET  /v1/model                      {"model", "name", "parameters", "users", "items",
                                         "interactions", "created", "bytes", "choice",
                                         "abilities", "titles", "columns", "events", "limits",
                                         "keys"}
    GET  /healthz /readyz /metrics /openapi.json /docs, and the page at /

Errors are ``application/problem+json``: ``{"type", "title", "status", "detail", "hint"}``, for a
body with mistakes also ``"errors": [{"field", "problem"}]``. A key goes into the header
``Authorization: Bearer KEY``. `/`, `/static/...`, `/docs`, `/healthz` and `/readyz` need none.
"""
