"""Modules of the user, such as kernels and models, imported here and in worker processes."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from ..errors import InputError

_VARIABLE = "BOOLRANK_IMPORT"  # tells worker processes what to import


def import_user_module(name: str) -> None:
    """Import a module by name, or a ``.py`` file by path, here and in workers started later.

    Its kernels are then known to `parse_kernel`. Modules of the current folder are found.
    """
    try:
        load_module(name)
    except Exception as error:
        why, hint = f"{type(error).__name__}: {error}", "correct it; --debug shows the traceback"
        if _is_missing(name, error):
            why, hint = "it is not there", "name a module, or the path of a .py file"
        problem = f"{name} cannot be imported: {why}"
        raise InputError(problem, hint=hint, parameter="import") from error
    os.environ[_VARIABLE] = os.pathsep.join(dict.fromkeys([*user_modules(), name]))


def _is_missing(name: str, error: Exception) -> bool:
    """Tell whether the module itself or its package is missing, not something that it imports."""
    if name.endswith(".py"):
        return not Path(name).is_file()
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return missing is not None and f"{name}.".startswith(f"{missing}.")


def user_modules() -> list[str]:
    """Return the modules imported so far, as they were named."""
    return [name for name in os.environ.get(_VARIABLE, "").split(os.pathsep) if name]


def load_module(name: str) -> None:
    """Import a module by name or path, here only."""
    if not name.endswith(".py"):
        if "" not in sys.path:
            sys.path.append("")
        import_module(name)
        return
    spec = spec_from_file_location(f"boolrank_user_{Path(name).stem}", name)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(name)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
