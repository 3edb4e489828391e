"""Model files: what of a fitted mender is kept, and how it comes to life again.

Enters: a fitted mender, or a path. Leaves: a file, or a mender that gives the same bits. `FITTED` is the one place that
decides which fitted attributes are kept; `DERIVED` are those that are quicker computed than stored.

Every format version has a reader with the schema of its time, and all readers stay: a new version is a new entry of
`_READERS`. Adding a parameter or a fitted attribute makes a new version once a version was released.
"""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import treemend
from treemend import storage
from treemend.calibration import Calibration, calibrate
from treemend.exceptions import ModelFileError, TreemendError
from treemend.kernels import pack
from treemend.storage import Array, Fields, Integers, Number, Optional, Plain, Record, Series, Text
from treemend.tables import Scaling
from treemend.tree import AttributeTree
from treemend.tree.validity import tree_problem

if TYPE_CHECKING:
    from treemend.mender.estimator import TreeMender

__all__ = ["DERIVED", "FITTED", "FORMAT_VERSION", "load", "save"]

FORMAT_VERSION = 1
KIND = "treemend model"


def _scaling_problem(scaling: Scaling) -> str | None:
    good = np.isfinite(scaling.offset).all() and np.isfinite(scaling.width).all() and (scaling.width > 0).all()
    return None if good else "has an offset or a width that cannot be one"


def _calibration_problem(calibration: Calibration) -> str | None:
    good = np.isfinite(calibration.radii).all() and (calibration.radii >= 0).all()
    return None if good else "has radii that cannot be distances"


_TREE = Record(
    AttributeTree,
    {
        **{name: Integers("nodes") for name in ("start", "stop", "parent", "left", "right", "depth")},
        "order": Integers("attributes"),
    },
    problem=tree_problem,
)

FITTED: Mapping[str, storage.Schema] = {
    "n_features_in_": Number(least=1, whole=True),
    "feature_names_in_": Optional(Series(Text(), "attributes")),
    "tree_": _TREE,
    "tau_": Number(least=-1, most=1),
    "reference_rate_": Number(least=0, most=1),
    "reference_": Array("float64", ("rows", "attributes")),
    "_scaling": Record(
        Scaling,
        {name: Array("float64", ("attributes",)) for name in ("offset", "width")},
        problem=_scaling_problem,
    ),
    "_calibration": Record(
        Calibration,
        {"radii": Array("float64", ("rows", "nodes"))},
        build=calibrate,
        problem=_calibration_problem,
    ),
}
"""The fitted attributes that are kept."""

DERIVED: Mapping[str, Callable[[Any], Any]] = {
    "_packed": lambda mender: pack(mender._to_tree(mender.reference_), mender.tree_, float(mender.alpha)),
}
"""The fitted attributes that are computed from the kept ones, in this order."""

_VERSION_0 = Fields(
    {
        "parameters": Plain(),
        "names": Optional(Series(Text(), "attributes")),
        "reference": Array("float64", ("rows", "attributes")),
    }
)
_VERSION_1 = Fields({"written_by": Text(), "parameters": Plain(), "fitted": Fields(FITTED)})


def save(mender: "TreeMender", path: str | os.PathLike[str]) -> None:
    """Write a fitted mender to a file; a file that is there already is replaced."""
    fitted = {name: getattr(mender, name, None) for name in FITTED}
    value = {
        "written_by": f"treemend {treemend.__version__}",
        "parameters": mender.get_params(deep=False),
        "fitted": fitted,
    }
    contents, arrays = storage.encoded(value, _VERSION_1)
    storage.write(path, KIND, FORMAT_VERSION, contents, arrays)


def load(kind: type["TreeMender"], path: str | os.PathLike[str]) -> "TreeMender":
    """Read a mender from a file, or refuse the file."""
    stored = storage.read(path, KIND, FORMAT_VERSION)
    try:
        return _READERS[stored.version](kind, stored)
    except ModelFileError as error:
        raise ModelFileError(
            f"{os.fspath(path)}: {error}" if os.fspath(path) not in str(error) else str(error)
        ) from None
    except (TreemendError, RecursionError) as error:
        raise ModelFileError(f"{os.fspath(path)} holds no usable mender: {error}") from None


def _read_version_0(kind: type["TreeMender"], stored: storage.Stored) -> "TreeMender":
    """Version 0 kept what had been given; what was learnt from it is learnt again."""
    storage.checked(stored.contents, stored.headers, _VERSION_0)
    value = _VERSION_0.decode(stored.contents, "", stored.arrays())
    known = kind().get_params(deep=False)
    mender = _with_parameters(kind, {**known, **_dictionary(value["parameters"])}).fit(value["reference"])
    _name_features(mender, value["names"])
    return mender


def _read_version_1(kind: type["TreeMender"], stored: storage.Stored) -> "TreeMender":
    """Version 1 keeps what was learnt."""
    sizes = storage.checked(stored.contents, stored.headers, _VERSION_1)
    parameters = _VERSION_1.of["parameters"].decode(stored.contents["parameters"], "parameters", {})
    mender = _with_parameters(kind, _dictionary(parameters))
    if stored.contents["fitted"]["n_features_in_"] != sizes["attributes"] or sizes["rows"] < mender.n_neighbors + 2:
        raise ModelFileError("fitted.reference_ does not have the rows and columns that the rest asks for.")
    fitted = _VERSION_1.decode(stored.contents, "", stored.arrays())["fitted"]
    if not np.isfinite(fitted["reference_"]).all():
        raise ModelFileError("fitted.reference_ must be finite.")
    names = fitted.pop("feature_names_in_")
    for name, value in fitted.items():
        setattr(mender, name, value)
    _name_features(mender, names)
    for name, derive in DERIVED.items():
        setattr(mender, name, derive(mender))
    return mender


_READERS = {0: _read_version_0, 1: _read_version_1}


def _dictionary(parameters: Any) -> dict[str, Any]:
    if not isinstance(parameters, dict) or not all(isinstance(name, str) for name in parameters):
        raise ModelFileError("parameters must be a dictionary.")
    return parameters


def _with_parameters(kind: type["TreeMender"], parameters: dict[str, Any]) -> "TreeMender":
    known = set(kind().get_params(deep=False))
    if set(parameters) != known:
        differing = ", ".join(sorted(set(parameters) ^ known)[:5])
        raise ModelFileError(f"parameters must be those of {kind.__name__}; {differing} differ.")
    mender = kind(**parameters)
    mender._check_parameters()
    return mender


def _name_features(mender: "TreeMender", names: tuple[str, ...] | None) -> None:
    if names is not None:
        mender.feature_names_in_ = np.array(names, dtype=object)
