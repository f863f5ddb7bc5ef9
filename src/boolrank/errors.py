"""Every error that boolrank raises on purpose.

Each is also the builtin error that a caller would expect, so that code written against numpy or
scikit-learn habits keeps working::

    BoolrankError
    ├── ParameterError       (ValueError)     a parameter outside its range
    ├── ParameterTypeError   (TypeError)      a parameter of the wrong type
    ├── InputError           (ValueError)     data that cannot be used: not binary, empty, no matrix
    ├── CountsError          (ValueError)     counts that no pair of binary vectors has
    ├── UnknownIdError       (KeyError)       a user or an item that the data do not have
    ├── KernelSyntaxError    (ValueError)     text that is not a kernel expression
    ├── ModelFileError       (ValueError)     a folder that is no model, or a damaged one
    ├── DatasetNotFoundError (FileNotFoundError)  a data set that is not on this machine
    ├── DownloadError        (OSError)        a download that did not come, or came wrong
    ├── NotFittedError       (ValueError, AttributeError)  a model that has seen no data yet
    ├── MatrixTooLargeError  (MemoryError)    a matrix that would not fit into memory
    ├── KernelOverflowError  (OverflowError)  a raw kernel value past the largest double
    └── MissingExtraError    (ImportError)    an optional dependency that is not installed

and a warning::

    ConvergenceWarning       (RuntimeWarning) weights that are less exact than they should be
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
    """Base of all errors of this library."""


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
    """A download that did not come, or came wrong."""


class KernelSyntaxError(BoolrankError, ValueError):
    """Text that is not a kernel expression."""


class KernelOverflowError(BoolrankError, OverflowError):
    """A raw kernel value past the largest double."""


class MissingExtraError(BoolrankError, ImportError):
    """An optional dependency is needed and not installed."""


class MatrixTooLargeError(BoolrankError, MemoryError):
    """A matrix that would not fit into memory."""


class ModelFileError(BoolrankError, ValueError):
    """A folder that is no model, or a damaged one."""


class NotFittedError(BoolrankError, ValueError, AttributeError):
    """A model that has seen no data yet."""


class UnknownIdError(BoolrankError, KeyError):
    """A user or an item that the data do not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class ConvergenceWarning(RuntimeWarning):
    """Weights are less exact than they should be."""
