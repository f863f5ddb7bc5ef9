"""Rows of numbers out of delimited text, in one pass, and where something is wrong with it."""

import numpy as np
from numba import njit

__all__ = ["KINDS", "parse_rows"]

# What a field holds.
KINDS = {"skip": 0, "whole": 1, "number": 2, "date": 3, "text": 4}
WHOLE, NUMBER, DATE, TEXT = KINDS["whole"], KINDS["number"], KINDS["date"], KINDS["text"]

_NEWLINE, _RETURN, _QUOTE, _BACKSLASH, _COLON = 10, 13, 34, 92, 58
_MOST_DIGITS = 15  # below 2^53, so a double holds it


@njit(cache=True)
def _whole(data, start, end):
    """Value of digits only; NaN where it is no whole number."""
    if end <= start or end - start > _MOST_DIGITS:
        return np.nan
    value = 0
    for at in range(start, end):
        digit = data[at] - 48
        if digit < 0 or digit > 9:
            return np.nan
        value = value * 10 + digit
    return float(value)


@njit(cache=True)
def _number(data, start, end):
    """Value of a decimal number with or without a sign and a point; NaN where it is none."""
    negative = end > start and data[start] == 45
    at = start + 1 if negative else start
    value, digits, decimals, point = 0, 0, 1.0, False
    while at < end:
        byte = data[at]
        if byte == 46 and not point:
            point = True
        elif 48 <= byte <= 57 and digits < _MOST_DIGITS:
            value = value * 10 + (byte - 48)
            digits += 1
            if point:
                decimals *= 10.0
        else:
            return np.nan
        at += 1
    if digits == 0:
        return np.nan
    return -(value / decimals) if negative else value / decimals


@njit(cache=True)
def _date(data, start, end):
    """Days from 1970-01-01 to YYYY-MM-DD; NaN where it is no date."""
    if end - start != 10 or data[start + 4] != 45 or data[start + 7] != 45:
        return np.nan
    year = _whole(data, start, start + 4)
    month = _whole(data, start + 5, start + 7)
    day = _whole(data, start + 8, end)
    if np.isnan(year) or not (1 <= month <= 12 and day >= 1):
        return np.nan
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 31
    if month in (4, 6, 9, 11):
        longest = 30
    elif month == 2:
        longest = 29 if leap else 28
    if day > longest:
        return np.nan
    # Years that begin in March have the leap day last, so months have fixed offsets.
    shifted = year - 1 if month <= 2 else year
    since_march = (month + 9) % 12
    of_year = (153 * since_march + 2) // 5 + day - 1
    return 365 * shifted + shifted // 4 - shifted // 100 + shifted // 400 + of_year - 719468


@njit(cache=True)
def _value(kind, data, start, end):
    """Value of a field by its kind; NaN where it is wrong."""
    if kind == WHOLE:
        return _whole(data, start, end)
    if kind == NUMBER:
        return _number(data, start, end)
    if kind == DATE:
        return _date(data, start, end)
    if kind == TEXT and end == start:
        return np.nan
    return 0.0


@njit(cache=True)
def _field(data, at, end, separator, quoted):
    """Where a field starts and stops, and where its separator is; it stops at -1 if broken."""
    if quoted and at < end and data[at] == _QUOTE:
        start = at + 1
        at = start
        while at < end and data[at] != _QUOTE:
            at += 2 if data[at] == _BACKSLASH else 1
        if at >= end or (at + 1 < end and data[at + 1] != separator[0]):
            return start, -1, end
        return start, at, at + 1
    start, first, wide = at, separator[0], len(separator)
    while at < end and not (data[at] == first and (wide == 1 or data[at + 1] == separator[1])):
        at += 1
    return start, at, at


@njit(cache=True)
def _row(data, at, end, separator, kinds, quoted, values, spans, row):
    """Fill a row from one line: -1, or which field is wrong, or how many there should be."""
    for field in range(len(kinds)):
        start, stop, at = _field(data, at, end, separator, quoted)
        if stop < 0:
            return field
        values[field, row] = _value(kinds[field], data, start, stop)
        if np.isnan(values[field, row]):
            return field
        if kinds[field] == TEXT:
            spans[row, 0] = start
            spans[row, 1] = stop
        if (at < end) != (field < len(kinds) - 1):
            return len(kinds)
        at += len(separator)
    return -1


@njit(cache=True)
def parse_rows(data, separator, kinds, quoted, sections, section, values, spans):
    """Fill ``values`` (field, row) from whole lines; those of text fields are left to ``spans``.

    With ``sections``, a line ``number:`` gives the section of the rows below it, which is put after
    the last field; ``section`` is the one that holds at the start, -1 for none. Blank lines count
    as lines only. ``spans`` (row, 2) has where the text field of each row starts and ends.

    Returns how many rows there are, how many lines, the section at the end, and which field of
    the last line is wrong: -1 for none, the number of fields for too few or too many of them.
    """
    rows, lines, following = 0, 0, 0
    while following < len(data):
        at = end = following
        lines += 1
        while data[end] != _NEWLINE:
            end += 1
        following = end + 1
        if end > at and data[end - 1] == _RETURN:
            end -= 1
        if end == at:
            continue
        if sections and data[end - 1] == _COLON:
            section = _whole(data, at, end - 1)
            if np.isnan(section):
                return rows, lines, section, 0
            continue
        wrong = _row(data, at, end, separator, kinds, quoted, values, spans, rows)
        if wrong < 0 and sections and section < 0:
            wrong = len(kinds)
        if wrong >= 0:
            return rows, lines, section, wrong
        if sections:
            values[len(kinds), rows] = section
        rows += 1
    return rows, lines, section, -1
