"""Values of text columns: the forms of ids, times and ratings, and conditions on ratings.

A form is a function from a column of text to a column of another type, null where a value has
another form. A column takes the first form of its role that fits every value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

Form = Callable[["pl.Series"], "pl.Series"]

# Texts of a missing value, as pandas, R, SQL and spreadsheets write it.
MISSING = ("", "NaN", "nan", "NaT", "NA", "N/A", "n/a", "<NA>", "#N/A", "null", "NULL", "None")
BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "no", "n"), False),
}
_COMPARISONS = {">=": ge, "<=": le, "==": eq, "=": eq, "!=": ne, ">": gt, "<": lt}
_SAMPLE = 100  # values that tell whether a form is worth a try
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


def forms(role: str, condition: Condition | None) -> list[Form]:
    """Return the forms that a column of text may have in a role."""
    if role in ("user", "item"):
        return [whole_numbers, _text]
    if role == "attribute":
        return [_measures, _booleans, *_DATES]
    if role == "time":
        return [whole_numbers, _numbers, *_DATES]
    if condition is None:
        return [_booleans]
    if isinstance(condition.value, str):
        return [_booleans, _text]
    return [_numbers, _decimal_commas, _shares, _booleans]


def fits(form: Form, series: pl.Series) -> pl.Series | None:
    """Return a column in a form, None if a value has another form."""
    some = series.head(_SAMPLE)
    if form(some).null_count() > some.null_count():
        return None
    made = form(series)
    return made if made.null_count() == series.null_count() else None


def whole_numbers(series: pl.Series) -> pl.Series:
    """Return whole numbers where they are written in canonical form: not as 007."""
    import polars as pl

    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String).ne_missing(series), None)


def _text(series: pl.Series) -> pl.Series:
    return series


def _numbers(series: pl.Series) -> pl.Series:
    import polars as pl

    return series.cast(pl.Float64, strict=False)


def _measures(series: pl.Series) -> pl.Series:
    """Return finite numbers, but not codes such as 007."""
    numbers = _numbers(series)
    codes = series.str.contains(r"^[-+]?0\d")
    return numbers.set(codes | ~numbers.is_finite(), None)


def _decimal_commas(series: pl.Series) -> pl.Series:
    return _numbers(series.str.replace(_DECIMAL_COMMA, "$1.$2"))


def _shares(series: pl.Series) -> pl.Series:
    numbers = _decimal_commas(series.str.replace(r"\s*%$", "")) / 100
    return numbers.set(~series.str.ends_with("%"), None)


def _booleans(series: pl.Series) -> pl.Series:
    import polars as pl

    lower = series.str.to_lowercase()
    return lower.replace_strict(BOOLEANS, default=None, return_dtype=pl.Boolean)


def _dates(series: pl.Series, form: str | None = None) -> pl.Series:
    """Return dates of a format, by default of the one that polars finds."""
    import polars as pl

    zone = "UTC" if form is None else None
    try:
        return series.str.to_datetime(form, time_unit="us", strict=False, time_zone=zone)
    except pl.exceptions.PolarsError:  # no format that it knows
        return pl.Series(series.name, [None] * len(series), pl.Datetime("us"))


# Formats besides those that polars recognises, which include 2024-03-05 and 05/03/2024. Years of
# two digits come first: %Y would take 24 for the year 24.
_DAYS = (
    *("%Y-%m-%d", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"),
    *("%d %b %Y", "%b %d %Y", "%b %d, %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_DATES: list[Form] = [
    _dates,
    *(partial(_dates, form=day + clock) for day in _DAYS for clock in _CLOCKS),
]


def is_ambiguous(series: pl.Series, made: pl.Series) -> bool:
    """Return True for dates such as 05/03/2024 in which day and month could be exchanged."""
    slashes = r"^\d{1,2}/\d{1,2}/"
    dates = made.dtype.is_temporal() and bool(series.str.contains(slashes).all())
    return dates and int(made.dt.day().max()) <= 12  # type: ignore[arg-type]


def is_date_like(series: pl.Series) -> bool:
    """Return True if all values are dates; numbers are not."""
    import polars as pl

    if series.dtype != pl.String or not len(series.drop_nulls()):
        return series.dtype.is_temporal()
    series = cleaned(series)[0]
    return fits(_numbers, series) is None and any(fits(f, series) is not None for f in _DATES)


def cleaned(series: pl.Series) -> tuple[pl.Series, int]:
    """Return text stripped of blanks, null if missing, and the number of values stripped."""
    bare = series.str.strip_chars()
    return bare.set(bare.is_in(MISSING), None), int((bare != series).sum())


def is_boolean(series: pl.Series) -> bool:
    """Return True if the first value is a truth value."""
    words = _words(series)
    return bool(len(words)) and words[0].lower() in BOOLEANS


def suggest(ratings: pl.Series) -> str:
    """Return a condition that keeps the better ratings, "" if there are none.

    >>> import polars as pl
    >>> suggest(pl.Series([1, 2, 5])), suggest(pl.Series(["bad", "good", "bad"]))
    ('>= 4', '= bad')
    """
    words = _words(ratings)
    numbers = _numbers(words)
    if not numbers.is_finite().all(ignore_nulls=False):
        return f"= {words[0]}"
    if not len(words):
        return ""
    low, high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    return f">= {math.ceil(low + 0.7 * (high - low))}"


def _words(series: pl.Series) -> pl.Series:
    """Return the values as text, without missing ones."""
    import polars as pl

    texts = list(map(str, series.drop_nulls().to_list()))
    return cleaned(pl.Series(texts, dtype=pl.String))[0].drop_nulls()
