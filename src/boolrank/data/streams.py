"""Arrow streams: record batches from databases and other libraries, kept as a small frame.

Only the columns of events are kept, with text as categories: 4 bytes for each id of any length, and
each distinct text once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._extras import needs

if TYPE_CHECKING:
    import polars as pl

_UUID = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))  # start and length of its groups


class ArrowStream:
    """An object with the Arrow C stream interface. Its first batch is read at once."""

    def __init__(self, source: Any) -> None:
        with needs("sql", "Reading Arrow streams"):
            import pyarrow as pa
        with needs("cli", "Reading Arrow streams"):
            import polars as pl

        reader = pa.RecordBatchReader.from_stream(source)
        kinds = {each.name: getattr(each.type, "extension_name", "") for each in reader.schema}
        plain = pa.schema(
            (each.name, each.type.storage_type if kinds[each.name] else each.type)
            for each in reader.schema
        )
        self.names = list(reader.schema.names)
        self._uuids = [name for name, kind in kinds.items() if kind == "arrow.uuid"]
        self._batches = map(self._frame, reader.cast(plain) if any(kinds.values()) else reader)
        empty: Any = pl.from_arrow(plain.empty_table())
        self.first: pl.DataFrame = next(self._batches, empty)

    def _frame(self, batch: Any) -> pl.DataFrame:
        import polars as pl

        frame: Any = pl.from_arrow(batch)
        parts = (
            [pl.col(name).bin.encode("hex").str.slice(*p) for p in _UUID] for name in self._uuids
        )
        dashed = [pl.concat_str(each, separator="-") for each in parts]
        return frame.with_columns(dashed) if dashed else frame  # type: ignore[no-any-return]

    def collect(self, roles: Mapping[str, str | None]) -> pl.DataFrame:
        """Return the columns of roles, text ids as categories."""
        import polars as pl

        columns = list(dict.fromkeys(name for name in roles.values() if name is not None))
        ids = [name for name in columns if name in (roles["user"], roles["item"])]
        kinds = [self.first.schema[name] for name in ids]
        texts = [name for name, kind in zip(ids, kinds, strict=True) if kind == pl.String]
        # Merging sorted batches is faster than sorting all rows, and overlaps with fetching. With
        # times, the order of rows has no meaning.
        is_sortable = roles["time"] is not None and all(kind.is_integer() for kind in kinds)

        def kept(batch: pl.DataFrame) -> pl.DataFrame:
            part = batch.select(columns).with_columns(pl.col(texts).cast(pl.Categorical))
            return part.sort(ids[0]) if is_sortable else part

        with closing(_fetched(self._batches)) as others:
            return pl.concat(map(kept, chain([self.first], others)))


def _fetched(batches: Iterator[pl.DataFrame]) -> Generator[pl.DataFrame]:
    """Yield batches; the next one is fetched while a batch is processed."""
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(next, batches, None)
        while (batch := later.result()) is not None:
            later = pool.submit(next, batches, None)
            yield batch
