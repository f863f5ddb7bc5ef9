"""Values of text columns: the forms of ids, times and ratings, and conditions on ratings.

A form is a function from a column of text to a column of another type, null where a value has not
that form. A column has the first form of its role in which every value can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

# Texts of a missing value, as pandas, R, SQL and spreadsheets write it.
MISSING = ("", "NaN", "nan", "NaT", "NA", "N/A", "n/a", "<NA>", "#N/A", "null", "NULL", "None")
BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "no", "n"), False),
}
# Dates besides those that polars recognises, which include 2024-03-05 and 05/03/2024. Years of two
# digits come first: %Y would take 24 for the year 24.
_DATES = (
    *("%Y-%m-%d", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"),
    *("%d %b %Y", "%b %d %Y", "%b %d, %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")

_COMPARISONS = {">=": ge, "<=": le, "==": eq, "=": eq, "!=": ne, ">": gt, "<": lt}
_DECIMAL_COMMA = r"^([-+]?\d+),(\d{1,2})$"  # 1,234 may be a thousand


class Condition(NamedTuple):
    """A condition on ratings, such as ``>= 4`` or ``= good``."""

    text: str
    sign: str
    value: float | str

    @staticmethod
    def parse(text: str) -> Condition:
        """Parse a condition.

        >>> Condition.parse(">= 3,5").value, Condition.parse(" > 60%").value
        (3.5, 0.6)
        >>> Condition.parse("= good")
        Condition(text='= good', sign='=', value='good')
        """
        match = re.fullmatch(r"(>=|<=|==|=|!=|>|<)\s*(\w.*|[-+.]\d.*)", text.strip())
        if match is not None:
            plain = re.sub(_DECIMAL_COMMA.replace("$", "(?=%?$)"), r"\1.\2", match[2])
            number = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+))\s*(%?)", plain)
            if number is not None:
                value = float(number[1]) / (100 if number[2] else 1)
                return Condition(text.strip(), match[1], value)
            if _COMPARISONS[match[1]] in (eq, ne):
                return Condition(text.strip(), match[1], match[2])
        raise ParameterError(
            f"positive is a comparison with a number, or with = and a text, not {text!r}",
            hint="write it as '>= 4', or for text as '= good'",
            parameter="positive",
        )

    def __call__(self, ratings: Any) -> Any:
        """Return the expression that is true where it holds, and null without a rating."""
        return _COMPARISONS[self.sign](ratings, self.value)


def forms(series: pl.Series, role: str, condition: Condition | None) -> Iterator[pl.Series]:
    """Yield the forms that a column of text may have in a role."""
    import polars as pl

    if role != "rating":
        yield whole_numbers(series)
    if role in ("user", "item"):
        yield series
        return
    if role == "time":
        yield series.cast(pl.Float64, strict=False)
        yield from _dates(series)
        return
    if condition is not None and not isinstance(condition.value, str):
        yield series.cast(pl.Float64, strict=False)
        numbers = series.str.replace(_DECIMAL_COMMA, "$1.$2")
        yield numbers.cast(pl.Float64, strict=False)
        shares = numbers.str.replace(r"\s*%$", "").cast(pl.Float64, strict=False) / 100
        yield shares.set(~series.str.ends_with("%"), None)
    yield booleans(series)
    if condition is not None and isinstance(condition.value, str):
        yield series


def _dates(series: pl.Series) -> Iterator[pl.Series]:
    import polars as pl

    with suppress(pl.exceptions.PolarsError):  # no format of dates that it knows
        yield series.str.to_datetime(time_unit="us", strict=False, time_zone="UTC")
    some = series.drop_nulls().head(1000)
    for form in (date + clock for date in _DATES for clock in _CLOCKS):
        if some.str.to_datetime(form, strict=False).null_count() < len(some):
            yield series.str.to_datetime(form, time_unit="us", strict=False)


def is_ambiguous(series: pl.Series, made: pl.Series) -> bool:
    """Return True for dates such as 05/03/2024 in which day and month could be exchanged."""
    slashes = r"^\d{1,2}/\d{1,2}/"
    dates = made.dtype.is_temporal() and bool(series.str.contains(slashes).all())
    return dates and int(made.dt.day().max()) <= 12  # type: ignore[arg-type]


def is_date_like(series: pl.Series) -> bool:
    """Return True if all values are dates; numbers are not."""
    import polars as pl

    series = cleaned(series)[0] if series.dtype == pl.String else series
    if series.dtype != pl.String or not len(series.drop_nulls()):
        return series.dtype.is_temporal()
    if series.cast(pl.Float64, strict=False).null_count() == series.null_count():
        return False
    return any(each.null_count() == series.null_count() for each in _dates(series))


def whole_numbers(series: pl.Series) -> pl.Series:
    """Return whole numbers where they are written in canonical form: not as 007."""
    import polars as pl

    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String).ne_missing(series), None)


def booleans(series: pl.Series) -> pl.Series:
    """Return truth values where a text means one."""
    import polars as pl

    return series.str.to_lowercase().replace_strict(BOOLEANS, default=None, return_dtype=pl.Boolean)


def cleaned(series: pl.Series) -> tuple[pl.Series, int]:
    """Return text without blanks around it, null if missing; and how many blanks were removed."""
    bare = series.str.strip_chars()
    return bare.set(bare.is_in(MISSING), None), int((bare != series).sum())


def wrong_value(series: pl.Series, made: list[pl.Series]) -> Any:
    """Return the first value that has not the form that fits best."""
    broken = (series.filter(each.is_null() & series.is_not_null()) for each in made)
    return min(broken, key=len).first()


def suggest(ratings: pl.Series) -> str:
    """Return a condition that keeps the better ratings of a column, which is text.

    >>> import polars as pl
    >>> suggest(pl.Series(["1", "2", "5"])), suggest(pl.Series(["bad", "good", "bad"]))
    ('>= 4', '= bad')
    """
    import math

    import polars as pl

    numbers = ratings.cast(pl.Float64, strict=False)
    if numbers.null_count() > ratings.null_count():
        return f"= {ratings.drop_nulls()[0]}"
    low, high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    return f">= {math.ceil(low + 0.7 * (high - low))}"
