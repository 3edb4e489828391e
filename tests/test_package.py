import subprocess
import sys

import treemend


def python(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_public_names_are_sorted_and_there():
    assert treemend.__all__ == sorted(treemend.__all__)
    assert all(getattr(treemend, name) is not None for name in treemend.__all__)
    assert set(treemend.__all__) <= set(dir(treemend))


def test_unknown_names_are_refused():
    assert not hasattr(treemend, "no_such_name")


def test_import_loads_nothing_heavy():
    loaded = python("import treemend, sys; print(*sorted(sys.modules))").split()
    assert not {"numba", "sklearn", "scipy", "numpy", "pandas"} & set(loaded)


def test_estimator_compiles_nothing_at_import():
    loaded = python("from treemend import TreeMender; import sys; print(*sorted(sys.modules))").split()
    assert "numba" not in loaded
