import subprocess
import sys

import treemend


def python(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_public_names_are_there():
    assert len(treemend.__all__) == len(set(treemend.__all__))
    assert all(getattr(treemend, name) is not None for name in treemend.__all__)
    assert set(treemend.__all__) <= set(dir(treemend))


def test_unknown_names_are_refused():
    assert not hasattr(treemend, "no_such_name")


def test_import_loads_nothing_heavy():
    loaded = python("import treemend, sys; print(*sorted(sys.modules))").split()
    assert not {"numba", "sklearn", "scipy", "numpy", "pandas"} & set(loaded)


def test_estimators_compile_nothing_at_import():
    code = (
        "from treemend import TCS, Mender; from numba.core.dispatcher import Dispatcher; import gc; "
        "print(sum(len(o.overloads) for o in gc.get_objects() if isinstance(o, Dispatcher)))"
    )
    assert python(code).strip() == "0"
