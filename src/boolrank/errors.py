"""Errors raised on purpose.

Each derives from the builtin that numpy or scikit-learn code would catch::

    BoolrankError
    ├── ParameterError       (ValueError)     a parameter outside its range
    ├── ParameterTypeError   (TypeError)      a parameter of the wrong type
    ├── InputError           (ValueError)     unusable data: not binary, empty, not a matrix
    ├── CountsError          (ValueError)     counts that no pair of binary vectors has
    ├── UnknownIdError       (KeyError)       a user or item that is not in the data
    ├── KernelSyntaxError    (ValueError)     text that is not a kernel expression
    ├── ModelFileError       (ValueError)     a folder that is not a model, or is damaged
    ├── DatasetNotFoundError (FileNotFoundError)  a data set that is not on this machine
    ├── DownloadError        (OSError)        a failed or corrupt download
    ├── NotFittedError       (ValueError, AttributeError)  a model used before fit
    ├── MatrixTooLargeError  (MemoryError)    a matrix that does not fit into memory
    ├── KernelOverflowError  (OverflowError)  a raw kernel value beyond the largest double
    └── MissingExtraError    (ImportError)    an optional dependency that is not installed

and one warning::

    ConvergenceWarning       (RuntimeWarning) weights less accurate than promised

An error is an object: ``message`` says what is wrong, ``hint`` what to do, ``parameter`` which
argument is to blame. ``str(error)`` joins message and hint; nothing parses it.
"""

__all__ = [
    "BoolrankError",
    "ConvergenceWarning",
    "CountsError",
    "DatasetNotFoundError",
    "DownloadError",
    "InputError",
    "KernelOverflowError",
    "KernelSyntaxError",
    "MatrixTooLargeError",
    "MissingExtraError",
    "ModelFileError",
    "NotFittedError",
    "ParameterError",
    "ParameterTypeError",
    "UnknownIdError",
]


class BoolrankError(Exception):
    """Base class of all errors of this library.

    >>> error = ParameterError("reg is -1", hint="use 0 or more", parameter="reg")
    >>> str(error), error.hint, error.parameter
    ('reg is -1; use 0 or more', 'use 0 or more', 'reg')
    """

    def __init__(self, message: str, *, hint: str = "", parameter: str = "") -> None:
        super().__init__(message)
        self.message, self.hint, self.parameter = message, hint, parameter

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are rebuilt from args when another process raises them.
        return type(self), self.args, self.__dict__


class ParameterError(BoolrankError, ValueError):
    """A parameter is outside its range."""


class ParameterTypeError(BoolrankError, TypeError):
    """A parameter is of the wrong type."""


class InputError(BoolrankError, ValueError):
    """Data that cannot be used as it is."""


class CountsError(BoolrankError, ValueError):
    """Counts that no pair of binary vectors can have."""


class DatasetNotFoundError(BoolrankError, FileNotFoundError):
    """A data set that is not on this machine."""


class DownloadError(BoolrankError, OSError):
    """A failed or corrupt download."""


class KernelSyntaxError(BoolrankError, ValueError):
    """Text that is not a kernel expression."""


class KernelOverflowError(BoolrankError, OverflowError):
    """A raw kernel value beyond the largest double."""


class MissingExtraError(BoolrankError, ImportError):
    """An optional dependency is not installed."""


class MatrixTooLargeError(BoolrankError, MemoryError):
    """A matrix that does not fit into memory."""


class ModelFileError(BoolrankError, ValueError):
    """A folder that is not a model, or is damaged."""


class NotFittedError(BoolrankError, ValueError, AttributeError):
    """A model was used before fit."""


class UnknownIdError(BoolrankError, KeyError):
    """A user or item that is not in the data."""


class ConvergenceWarning(RuntimeWarning):
    """Weights are less accurate than promised."""
