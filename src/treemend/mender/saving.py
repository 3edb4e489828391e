"""Model files: a fitted mender written down, and brought to life again.

Enters: a fitted mender, or a path. Leaves: a file, or a mender that gives the same bits. ``kept`` says what is kept.

Every format version has a reader with the schema of its time, and all readers stay: a new version is a new entry of
`_READERS`. Adding a parameter or something learnt makes a new version once a version was released.
"""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import treemend
from treemend import storage
from treemend.exceptions import ModelFileError
from treemend.mender.kept import KNOWLEDGE
from treemend.mender.knowledge import open_workshop
from treemend.mender.parameters import check_names
from treemend.mender.settings import Settings, settle
from treemend.reference import HeldRows
from treemend.storage import Array, Fields, Integers, Number, Optional, Plain, Series, Text

if TYPE_CHECKING:
    from treemend.mender.estimator import TreeMender

__all__ = ["FITTED", "FORMAT_VERSION", "KIND", "load", "save"]

FORMAT_VERSION = 1
KIND = "treemend model"
FITTED = {"n_features_in_", "feature_names_in_", "_set_aside", "_workshop"}
"""The fitted attributes that `save` writes and `load` restores."""

_VERSION_0 = Fields(
    {
        "parameters": Plain(),
        "names": Optional(Series(Text(), "attributes")),
        "reference": Array("float64", ("rows", "attributes")),
    }
)
_VERSION_1 = Fields(
    {
        "written_by": Text(),
        "parameters": Plain(),
        "seed": Number(least=0, most=2**32 - 1, whole=True),
        "names": Optional(Series(Text(), "attributes")),
        "set_aside": Integers("rows set aside"),
        "reference": Array("float64", ("rows", "attributes")),
        "knowledge": KNOWLEDGE,
    }
)


def save(mender: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted mender to a file; a file that is there already is replaced."""
    value = {
        "written_by": f"treemend {treemend.__version__}",
        "parameters": mender.get_params(deep=False),
        "seed": mender._workshop.settings.seed,
        "names": getattr(mender, "feature_names_in_", None),
        "set_aside": mender._set_aside,
        "reference": mender.reference_,
        "knowledge": mender._workshop.knowledge,
    }
    contents, arrays = storage.encoded(value, _VERSION_1)
    storage.write(path, KIND, FORMAT_VERSION, contents, arrays)


def load(kind: type["TreeMender"], path: str | os.PathLike[str]) -> "TreeMender":
    """Read a mender from a file, or refuse the file."""
    stored = storage.read(path, KIND, FORMAT_VERSION)
    try:
        return _READERS[stored.version](kind, stored)
    except (ValueError, RecursionError) as error:
        told = str(error)
        shown = told if os.fspath(path) in told else f"{os.fspath(path)} holds no usable mender: {told}"
        raise ModelFileError(shown) from None


def _read_version_0(kind: type["TreeMender"], stored: storage.Stored) -> "TreeMender":
    """Version 0 kept what had been given; what was learnt from it is learnt again."""
    storage.checked(stored.contents, stored.headers, _VERSION_0)
    value = _VERSION_0.decode(stored.contents, "", stored.arrays())
    defaults = kind().get_params(deep=False)
    mender, _ = _with_parameters(kind, {**defaults, **_dictionary(value["parameters"])}, 1)
    return _named(mender.fit(value["reference"]), value["names"])


def _read_version_1(kind: type["TreeMender"], stored: storage.Stored) -> "TreeMender":
    """Version 1 keeps what was learnt."""
    sizes = storage.checked(stored.contents, stored.headers, _VERSION_1)
    parameters = Plain().decode(stored.contents["parameters"], "parameters", {})
    mender, settings = _with_parameters(kind, _dictionary(parameters), sizes["attributes"])
    if sizes["rows"] < settings.n_neighbors + 2:
        raise ModelFileError(f"reference has {sizes['rows']} rows, fewer than n_neighbors + 2.")
    value = _VERSION_1.decode(stored.contents, "", stored.arrays())
    knowledge = value["knowledge"]
    if not np.isfinite(value["reference"]).all():
        raise ModelFileError("reference has values that are not finite.")
    if knowledge.calibrated[-1] >= sizes["rows"]:
        raise ModelFileError("knowledge has calibration rows that the reference does not have.")
    lacking = (settings.imputation == "reconstruct" and knowledge.reconstruction is None) or (
        settings.refine and knowledge.scales is None and sizes["attributes"] > 1
    )
    if lacking:
        raise ModelFileError("knowledge lacks what its parameters ask for.")
    rows = HeldRows(value["reference"])
    mender._workshop = open_workshop(rows, knowledge, replace(settings, seed=value["seed"]))
    mender._set_aside = value["set_aside"]
    mender.n_features_in_ = sizes["attributes"]
    return _named(mender, value["names"])


_READERS = {0: _read_version_0, 1: _read_version_1}


def _dictionary(parameters: Any) -> dict[str, Any]:
    if not isinstance(parameters, dict) or not all(isinstance(name, str) for name in parameters):
        raise ModelFileError("parameters must be a dictionary.")
    return parameters


def _with_parameters(kind: Any, parameters: dict[str, Any], n_features: int) -> tuple[Any, Settings]:
    known = set(kind().get_params(deep=False))
    if set(parameters) != known:
        differing = ", ".join(sorted(set(parameters) ^ known)[:5])
        raise ModelFileError(f"parameters must be those of {kind.__name__}; {differing} differ.")
    check_names("passthrough", parameters["passthrough"])
    return kind(**parameters), settle(parameters, n_features)


def _named(mender: "TreeMender", names: tuple[str, ...] | None) -> "TreeMender":
    if names is not None:
        mender.feature_names_in_ = np.array(names, dtype=object)
    return mender
