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
        raise InputError(
            f"{name} cannot be imported: {type(error).__name__}: {error}",
            hint="name a module, or the path of a .py file; --debug shows the traceback",
            parameter="import",
        ) from error
    os.environ[_VARIABLE] = os.pathsep.join(dict.fromkeys([*user_modules(), name]))


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
