"""Validate the docstrings of every public name with numpydoc's own checks; prints what is wrong and exits with 1.

Left out are the checks that contradict the rest of the project: an extended summary (ES01), See Also (SA01) and
examples (EX01) everywhere, types of return values by name (RT03), a capital letter or a full stop in the description of
"ignored" parameters (PR08, PR09), and private members.
"""

import importlib
import inspect
import sys
from dataclasses import is_dataclass

from numpydoc.validate import validate

MODULES = ("treemend", "treemend.tcs", "treemend.dask", "treemend.plots", "treemend.synthetic")
LEFT_OUT = {"ES01", "SA01", "EX01", "RT03", "PR06", "PR07", "PR08", "PR09", "GL01", "GL02", "GL03", "SS06", "YD01"}


def public_names() -> list[str]:
    """Return the dotted names of all public functions, classes and methods."""
    names = []
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", []):
            member = getattr(module, name)
            if inspect.ismodule(member) or not callable(member):
                continue
            names.append(f"{member.__module__}.{member.__qualname__}")
            if inspect.isclass(member) and not issubclass(member, Exception):
                names += [
                    f"{value.__module__}.{value.__qualname__}"
                    for attribute, value in inspect.getmembers(member, inspect.isfunction)
                    if _is_checked(value.__module__) and not attribute.startswith("_")
                ]
    return sorted(set(names))


def _is_checked(module: str) -> bool:
    """Tell whether methods of a module are checked: not scikit-learn's own, which those of BaseMender follow."""
    return module.startswith("treemend.") and module != "treemend.base"


def complaints(name: str) -> list[tuple[str, str]]:
    """Return what is wrong; a dataclass documents its fields as attributes, not again as parameters."""
    found = [(code, message) for code, message in validate(name)["errors"] if code not in LEFT_OUT]
    module, _, attribute = name.rpartition(".")
    member = getattr(sys.modules.get(module), attribute, None)
    return [(code, message) for code, message in found if not (code == "PR01" and is_dataclass(member))]


def main() -> int:
    """Check all names."""
    wrong = 0
    names = public_names()
    for name in names:
        for code, message in complaints(name):
            print(f"{name}: {code} {message}")
            wrong += 1
    print(f"{len(names)} docstrings, {wrong} complaints")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
