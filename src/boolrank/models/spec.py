"""Models that are still to be made, as values: a name of the table of models, and parameters.

As text, a model is its name and whatever is not as usual: ``ease``, ``ease(reg=500)``. The kernel
ranker is called by its kernel: ``linear``, ``disjunctive(8), reg=0.5``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np

from ..errors import ParameterError, ParameterTypeError
from ..kernels import Kernel, parse_kernel
from . import make_model
from .kernel_ranker import KernelRanker
from .recommender import Recommender

__all__ = [
    "RANKER",
    "ModelSpec",
    "RankerSpec",
    "parse_model",
    "split_commas",
    "usual_params",
]

RANKER = "kernel-ranker"
# How a model computes, not what: its results are the same.
_HOW = ("n_threads", "storage")
_DEFAULTS = KernelRanker().get_params()
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class ModelSpec:
    """A model by its name, with all parameters that its results depend on.

    Attributes
    ----------
    name : one of the table of models
    params : the constructor's; those that are not given are its defaults

    >>> ModelSpec("kernel-ranker", {"kernel": "conjunctive( 2 )", "reg": 1})
    ModelSpec(name='kernel-ranker', params={'kernel': 'conjunctive(2)', 'reg': 1.0, \
'negative_weight': 1.0})
    >>> str(ModelSpec("popularity")), str(ModelSpec("kernel-ranker", {"reg": 0.5}))
    ('popularity', 'disjunctive(8), reg=0.5')
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        usual = usual_params(self.name)
        make_model(self.name, **self.params)  # complains of parameters that there are none of
        technical = [name for name in self.params if name not in usual]
        if technical:
            raise ParameterError(
                f"{technical[0]} of {self.name} changes no result, and is no part of a model "
                "here; leave it out"
            )
        params = {
            k: _plain(k, self.params.get(k, default), default) for k, default in usual.items()
        }
        object.__setattr__(self, "params", params)

    def __hash__(self) -> int:
        return hash(str(self))

    def make(self, n_threads: int | None = None) -> Recommender:
        """The model, not fitted yet."""
        model = make_model(self.name, **self.params)
        return model.set_params(n_threads=n_threads) if "n_threads" in model.get_params() else model

    def fit_options(self, **shared: Any) -> dict[str, Any]:
        """Those of what could be shared with other models that this one's ``fit`` takes."""
        taken = signature(self.make().fit).parameters
        return {name: value for name, value in shared.items() if name in taken}

    def to_dict(self) -> dict[str, Any]:
        """As JSON and TOML have it; `from_dict` gives it back. The ranker goes without a name."""
        given = {name: value for name, value in self.params.items() if value is not None}
        return given if self.name == RANKER else {"model": self.name} | given

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> ModelSpec:
        """What `to_dict` has given.

        >>> ModelSpec.from_dict({"kernel": "linear"}) == RankerSpec("linear")
        True
        """
        params = dict(content)
        return ModelSpec(params.pop("model", RANKER), params)

    def __str__(self) -> str:
        usual = usual_params(self.name)
        # All digits: results are told apart by this text.
        unusual = {k: f"{k}={_text(v)}" for k, v in self.params.items() if v != usual[k]}
        if self.name == RANKER:
            unusual.pop("kernel", None)
            return ", ".join([self.params["kernel"], *unusual.values()])
        return f"{self.name}({', '.join(unusual.values())})" if unusual else self.name


def RankerSpec(  # noqa: N802 - it stands for the ModelSpec that it gives
    kernel: str,
    reg: float = _DEFAULTS["reg"],
    negative_weight: float = _DEFAULTS["negative_weight"],
) -> ModelSpec:
    """A `KernelRanker` that is still to be made: its kernel as text, and its other parameters.

    >>> print(RankerSpec("conjunctive( 2 )", reg=0.5))
    conjunctive(2), reg=0.5
    """
    found = ModelSpec(RANKER, {"kernel": kernel, "reg": reg, "negative_weight": negative_weight})
    for name in ("reg", "negative_weight"):
        if found.params[name] < 0:
            raise ParameterError(f"{name} of a model must be 0 or more, not {found.params[name]!r}")
    return found


def usual_params(name: str) -> dict[str, Any]:
    """The defaults of a model, but for those that its results do not depend on.

    >>> usual_params("kernel-ranker")
    {'kernel': 'disjunctive(8)', 'reg': 0.1, 'negative_weight': 1.0}
    """
    defaults = make_model(name).get_params()
    return {key: _plain(key, value, value) for key, value in defaults.items() if key not in _HOW}


def parse_model(text: str) -> ModelSpec:
    """A model as text: its name, and in parentheses parameters that are not to be its defaults.

    >>> print(parse_model("kernel-ranker(kernel=disjunctive(2), reg=0.5)"))
    disjunctive(2), reg=0.5
    """
    match = re.fullmatch(r"\s*([^\s(]+)\s*(?:\((.*)\)\s*)?", text, re.DOTALL)
    if match is None:
        raise ParameterError(f"a model is written as 'popularity' or 'ease(reg=500)', not {text!r}")
    params: dict[str, Any] = {}
    for part in split_commas(match[2] or ""):
        name, equals, value = part.partition("=")
        if not equals or not value.strip():
            raise ParameterError(
                f"parameters of a model are written as {match[1]}(name=value, ...), not {text!r}"
            )
        params[name.strip()] = _value(value.strip())
    return ModelSpec(match[1], params)


def split_commas(text: str) -> list[str]:
    """Parts between commas that stand in no parentheses: models and kernels have their own.

    >>> split_commas("popularity, kernel-ranker(reg=1, kernel=linear)")
    ['popularity', 'kernel-ranker(reg=1, kernel=linear)']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip("'\"")


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def _plain(name: str, value: Any, default: Any) -> Any:
    """A parameter in the one form that it has here, as JSON has it: 1 and 1.0 are one model."""
    value = value.item() if isinstance(value, np.generic) else value
    if name == "kernel" and isinstance(value, str | Kernel):
        return repr(parse_kernel(value))
    if value is None or isinstance(value, bool | str):
        wrong = isinstance(default, float) or (isinstance(default, int) and value is None)
    else:
        wrong = not isinstance(value, int | float) or not math.isfinite(value)
    if wrong:
        raise ParameterTypeError(f"{name} of a model is a finite number, not {value!r}")
    if isinstance(default, float):
        return float(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
