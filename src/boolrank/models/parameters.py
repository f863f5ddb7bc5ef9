"""Parameters of models, declared once as fields of the model's dataclass.

`param` gives a field its default, allowed values and search range. Validation, the command line's
help, tuning and the registry all read these declarations.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import add
from typing import Any, Self

from ..checks import real, whole
from ..errors import ParameterError, ParameterTypeError
from ..kernels import Kernel, Sum, parse_kernel
from ..table import counted
from .search import Range, Real, Recency


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model.

    A float default makes it a number, an int or None a whole number, text with ``choices`` one of
    these, and other text a kernel.

    Attributes
    ----------
    low, high : inclusive bounds of a number
    search : what tuning draws from; None if it is not tuned
    technical : whether it changes speed or memory only, not results
    days : whether text such as ``"30d"`` is allowed beside numbers
    tags : whether terms of a kernel may be bound to columns of tags
    """

    name: str
    default: Any
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    search: Range | None = None
    technical: bool = False
    days: bool = False
    tags: bool = False

    @property
    def allowed(self) -> str:
        """The allowed values as text."""
        if self.choices:
            return ", ".join(self.choices)
        if isinstance(self.default, str):
            return "a kernel"
        text = "number" if isinstance(self.default, float) else "whole number"
        if self.low is not None and self.high is not None:
            text += f" from {self.low:g} to {self.high:g}"
        elif self.low is not None:
            text += f", {self.low:g} or more"
        elif self.high is not None:
            text += f", at most {self.high:g}"
        text += ", or days such as 30d" if self.days else ""
        return f"{text}, or None" if self.default is None else text

    def check(self, owner: str, value: Any) -> Any:
        """Return a value in its one form, such as 1.0 for 1; raise if it is not allowed."""
        if self.choices:
            if value not in self.choices:
                raise self._error(owner, f"one of {self.allowed}", repr(value))
            return value
        if self.days and isinstance(value, str):
            found = re.fullmatch(r"(\d+|\d*\.\d+)d", value.strip())
            if found is None or not float(found[1]):
                raise self._error(owner, f"a {self.allowed}", repr(value))
            return f"{float(found[1]):.15g}d"
        if isinstance(self.default, str):
            if not isinstance(value, str | Kernel):
                raise ParameterTypeError(
                    f"{self.name} of {owner} must be a kernel or its text, not {value!r}",
                    parameter=self.name,
                )
            kernel = parse_kernel(value)
            if kernel.variables != ("",) and not self.tags:
                hint = "kernel-ranker takes kernels over tags"
                raise self._error(owner, "over users", str(kernel), hint)
            return kernel
        if value is None and self.default is None:
            return None
        if isinstance(self.default, float):
            return real(owner, self.name, value, self.low, self.high)
        bounds = (None if bound is None else int(bound) for bound in (self.low, self.high))
        return whole(owner, self.name, value, *bounds)

    def _error(self, owner: str, wanted: str, given: str, hint: str = "") -> ParameterError:
        problem = f"{self.name} of {owner} must be {wanted}, not {given}"
        return ParameterError(problem, hint=hint, parameter=self.name)


def param(default: Any, **options: Any) -> Any:
    """Declare a parameter as a dataclass field; the options are the attributes of `Parameter`."""
    return field(default=default, metadata={"parameter": Parameter("", default, **options)})


def lowered(kernel: Kernel, default: Kernel | str, users: int) -> Kernel:
    """Return the kernel; terms that are the default have an arity of at most so many users."""
    usual: Any = parse_kernel(default)
    if getattr(usual, "arity", 0) <= users:
        return kernel
    terms: tuple[Kernel, ...] = (kernel,)
    if isinstance(kernel, Sum) and kernel.variables != ("",):
        terms = kernel.parts
    return reduce(add, (replace(usual, arity=users) if t == usual else t for t in terms))


def threads_param() -> Any:
    """Declare the number of threads."""
    return param(None, low=1, technical=True)


def user_exponent_param(default: float = 0.0) -> Any:
    """Declare the exponent of users' weights, activity^-user_exponent."""
    return param(default, low=0, high=1, search=Real(0.0, 1.0))


def activity_cap_param() -> Any:
    """Declare the most items of a user that counts in the fit; all users count by default."""
    return param(None, low=1)


def recency_param() -> Any:
    """Declare the half-life of the weights of profile items; 0 for equal weights."""
    return param(0.0, low=0, search=Recency(0.5, 50.0), days=True)


def parameters_of(model: type) -> tuple[Parameter, ...]:
    """Return the parameters of a model class.

    >>> from boolrank import Ease
    >>> [(each.name, each.allowed) for each in parameters_of(Ease)][0]
    ('reg', 'number from 0 to 1e+12')
    """
    found = []
    for each in fields(model):
        if "parameter" not in each.metadata:
            raise ParameterTypeError(
                f"{each.name} of {model.__name__} has no declaration",
                hint=f"write {each.name}: float = param(default, low=...)",
            )
        found.append(replace(each.metadata["parameter"], name=each.name))
    return tuple(found)


class Estimator:
    """A dataclass whose fields are declared with `param`, with scikit-learn's interface."""

    def checked(self) -> Self:
        """Return an unfitted copy with validated parameters; raise if one is not allowed."""
        owner = type(self).__name__
        given = {p.name: p.check(owner, getattr(self, p.name)) for p in parameters_of(type(self))}
        return type(self)(**given)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return the constructor's parameters by name."""
        return {each.name: getattr(self, each.name) for each in parameters_of(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Set parameters for the next fit; the number of threads takes effect at once."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}",
                    hint=f"its parameters: {', '.join(known) or 'none'}",
                    parameter=name,
                )
            setattr(self, name, value)
        return self

    def kernel_for(self, users: int) -> Kernel:
        """Return the kernel; warn if the default one has more variables than there are users."""
        model: Any = self
        asked = parse_kernel(model.kernel)
        kernel = lowered(asked, type(model).kernel, users)
        if kernel != asked:
            some = f"the data have only {counted(users, 'user')}"
            warnings.warn(f"{some}, so the kernel is {kernel}, not {asked}", stacklevel=3)
        return kernel

    @property
    def uses_tags(self) -> bool:
        """Whether the kernel is bound to columns of the item table."""
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, Kernel) and kernel.variables != ("",)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn's searches that this is neither a classifier nor a regressor."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))
