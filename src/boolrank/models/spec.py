"""ModelSpec: an unfitted model as a value, a name and all parameters its results depend on.

As text it is the name and the parameters that differ from the defaults: ``ease``,
``kernel-ranker(kernel=linear, reg=0.5)``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ParameterError
from .recommender import Recommender
from .registry import find_model, make_model


@dataclass(frozen=True)
class ModelSpec:
    """A model by its name and parameters, with defaults filled in.

    Speed and memory settings are not part of it.

    >>> ModelSpec("kernel-ranker", {"kernel": "conjunctive( 2 )", "reg": 1})
    ModelSpec(name='kernel-ranker', params={'kernel': 'conjunctive(2)', 'reg': 1.0, \
'negative_weight': 1.0, 'user_exponent': 0.0, 'recency': 0.0, 'activity_cap': None})
    >>> str(ModelSpec("popularity")), str(ModelSpec("kernel-ranker", {"reg": 0.5}))
    ('popularity', 'kernel-ranker(reg=0.5)')
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        make_model(self.name, **self.params)  # raises for unknown names and missing libraries
        entry = find_model(self.name)
        for each in entry.parameters:
            if each.technical and each.name in self.params:
                raise ParameterError(
                    f"{each.name} of {self.name} changes no result and is not part of a model",
                    hint="leave it out",
                    parameter=each.name,
                )
        object.__setattr__(self, "params", entry.settings(self.params))

    def __hash__(self) -> int:
        return hash(str(self))

    def make(self, n_threads: int | None = None) -> Recommender:
        """Return the unfitted model."""
        model = make_model(self.name, **self.params)
        return model.set_params(n_threads=n_threads) if hasattr(model, "n_threads") else model

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON and TOML have it; `from_dict` restores it."""
        given = {name: value for name, value in self.params.items() if value is not None}
        return {"model": self.name} | given

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> ModelSpec:
        """Return the spec of a dictionary.

        >>> spec = parse_model("item-knn(neighbours=20)")
        >>> ModelSpec.from_dict(spec.to_dict()) == spec
        True
        """
        params = dict(content)
        return ModelSpec(params.pop("model"), params)

    @property
    def changes(self) -> dict[str, str]:
        """Parameters that differ from the defaults, as text with all digits."""
        defaults = find_model(self.name).defaults
        return {k: _text(v) for k, v in self.params.items() if v != defaults[k]}

    def __str__(self) -> str:
        given = ", ".join(f"{name}={text}" for name, text in self.changes.items())
        return f"{self.name}({given})" if given else self.name


def labels(specs: Sequence[ModelSpec]) -> list[str]:
    """Return short names for a table: of one model, only the parameters that differ.

    >>> labels([parse_model(f"kernel-ranker(kernel={k})") for k in ("linear", "tanimoto")])
    ['linear', 'tanimoto']
    >>> labels([parse_model("item-knn"), parse_model("item-knn(recency=3)")])
    ['recency=0', 'recency=3']
    """
    differing = [
        name for name in specs[0].params if len({str(spec.params.get(name)) for spec in specs}) > 1
    ]
    if len({spec.name for spec in specs}) > 1 or not differing:
        return [str(spec) for spec in specs]
    if differing == ["kernel"]:
        return [_text(spec.params["kernel"]) for spec in specs]
    return [", ".join(f"{name}={_text(spec.params[name])}" for name in differing) for spec in specs]


def parse_model(text: str) -> ModelSpec:
    """Return the spec of a text: a name, and in parentheses parameters that differ from defaults.

    >>> print(parse_model("kernel-ranker(kernel=disjunctive(2), reg=0.5)"))
    kernel-ranker(kernel=disjunctive(2), reg=0.5)
    """
    match = re.fullmatch(r"\s*([^\s(]+)\s*(?:\((.*)\)\s*)?", text, re.DOTALL)
    if match is None:
        raise ParameterError(
            f"{text!r} is not a model",
            hint="write 'popularity' or 'ease(reg=500)'",
            parameter="model",
        )
    params: dict[str, Any] = {}
    for part in split_commas(match[2] or ""):
        name, equals, value = part.partition("=")
        if not equals or not value.strip():
            raise ParameterError(
                f"{part!r} in {text!r} is not a parameter",
                hint=f"write {match[1]}(name=value, ...)",
                parameter="model",
            )
        params[name.strip()] = _value(value.strip())
    return ModelSpec(match[1], params)


def split_commas(text: str) -> list[str]:
    """Return the parts between commas outside parentheses and brackets.

    >>> split_commas("popularity, kernel-ranker(reg=1, kernel=linear)")
    ['popularity', 'kernel-ranker(reg=1, kernel=linear)']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _value(text: str) -> Any:
    if text.lower() == "none":
        return None
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text.strip("'\"")


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text.removesuffix(".0") if isinstance(value, float) else text
