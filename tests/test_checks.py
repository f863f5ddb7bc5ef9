"""Numbers are validated in one place; errors name the parameter, its owner, range and value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from boolrank.checks import flag, real, whole
from boolrank.errors import ParameterError, ParameterTypeError


@pytest.mark.parametrize(
    "value", [3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.longdouble(3)]
)
def test_python_and_numpy_numbers_become_python_numbers(value: Any) -> None:
    assert type(whole("a", "b", value)) is int
    assert type(real("a", "b", value)) is float
    assert whole("a", "b", value) == real("a", "b", value) == 3


@pytest.mark.parametrize(
    "value",
    [True, np.bool_(True), "3", None, [3], 3j, np.array([3]), np.timedelta64(3), Decimal(3)],
)
def test_everything_else_is_a_type_error(value: Any) -> None:
    for check in (whole, real):
        with pytest.raises(ParameterTypeError, match=r"b of a must be a .*number, not") as caught:
            check("a", "b", value)
        assert type(value).__name__ in caught.value.message
        assert caught.value.parameter == "b"


@pytest.mark.parametrize(
    ("check", "value", "bounds", "said"),
    [
        (whole, 0, {"low": 1}, "b of a must be a whole number, 1 or more, not 0"),
        (whole, 2.5, {}, "b of a must be a whole number, not 2.5"),
        (whole, 11, {"low": 1, "high": 10}, "b of a must be a whole number from 1 to 10, not 11"),
        (whole, 1 << 16609, {"high": 9}, "a whole number, at most 9, not a number of 16610 bits"),
        (whole, float("nan"), {"low": 0}, "not nan"),
        (whole, float("inf"), {"low": 0}, "not inf"),
        (real, -0.5, {"low": 0}, "b of a must be a finite number, 0 or more, not -0.5"),
        (real, 0, {"above": 0}, "b of a must be a finite number, more than 0, not 0"),
        (real, 2, {"low": 0, "high": 1.5}, "b of a must be a number from 0 to 1.5, not 2"),
        (real, 3, {"above": 0, "high": 1}, "must be a number, more than 0, at most 1, not 3"),
        (real, 10**400, {"low": 0}, "not a number of 1329 bits"),
        (real, np.float64("nan"), {"high": 1}, "b of a must be a number, at most 1, not nan"),
        (real, -float("inf"), {}, "b of a must be a finite number, not -inf"),
    ],
    ids=range(13),
)
def test_a_number_out_of_range_is_refused(
    check: Any, value: Any, bounds: dict[str, float], said: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        check("a", "b", value, **bounds)
    assert caught.value.message.endswith(said)
    assert caught.value.parameter == "b"


def test_bounds_are_inclusive() -> None:
    assert [whole("a", "b", value, 1, 3) for value in (1, 3)] == [1, 3]
    assert [real("a", "b", value, 0, 0.5) for value in (0, 0.5)] == [0, 0.5]


def test_the_owner_may_be_left_out() -> None:
    with pytest.raises(ParameterError, match=r"^n must be a whole number, 0 or more, not -1$"):
        whole("", "n", -1, low=0)


def test_a_flag_is_true_or_false() -> None:
    assert flag("a", "b", np.bool_(True)) is True
    with pytest.raises(ParameterTypeError, match="b of a must be True or False, not 1 of type int"):
        flag("a", "b", 1)
