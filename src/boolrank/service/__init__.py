"""HTTP service: recommendations with reasons, durable events, exact refreshes, and a web page."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """Options of `boolrank serve`, which describes them."""

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    items: Path | None = None
    events: str | None = None
    refresh: str | None = None
    api_key_file: Path | None = None
    no_auth: bool = False
