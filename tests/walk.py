"""Which files of the package some work passes through."""

import sys
from pathlib import Path

import treemend


def walked(work):
    """Return the files of the package that Python enters, in turn; compiled functions and ``__init__`` do not count."""
    folder, compiled, files = Path(treemend.__file__).parent, set(), []
    for module in [module for name, module in sys.modules.items() if name.startswith("treemend.")]:
        compiled |= {(module.__file__, name) for name, value in vars(module).items() if hasattr(value, "py_func")}

    def note(frame, event, argument):
        path, name = Path(frame.f_code.co_filename), frame.f_code.co_name
        is_ours = folder in path.parents and path.name != "__init__.py" and (str(path), name) not in compiled
        if event == "call" and is_ours:
            files.append(path.relative_to(folder).as_posix())

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return files
