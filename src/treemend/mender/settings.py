"""Settings: the user's parameters, checked and made definite.

Enters: an estimator's parameters as they were given. Leaves: a `Settings`, in which nothing is "auto" any more, or a
`ParameterError` that names the parameter, what it must be and what it was.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.utils import check_random_state

from treemend.exceptions import ParameterError
from treemend.imputation import DONORS, IMPUTATIONS
from treemend.memory import memory_budget
from treemend.mender.parameters import check_choice, check_count, check_flag, check_share
from treemend.reference import Means
from treemend.tree import default_depth

__all__ = ["Settings", "settle"]

_DEFAULT_RATE = 0.05
_MOST_CALIBRATION_ROWS = 10_000


@dataclass(frozen=True)
class Settings:
    """Parameters, made definite; see `treemend.TreeMender` for what they mean.

    Exactly one of ``tau`` and ``false_alarm_rate`` is a number.
    """

    depth: int
    n_neighbors: int
    alpha: float
    tau: float | None
    false_alarm_rate: float | None
    donors: str
    imputation: str
    refine: bool
    stop_at_root: bool
    scale: str | None
    calibration_rows: int
    seed: int
    means: Means


def settle(given: Mapping[str, Any], n_features: int) -> Settings:
    """Check parameters and make them definite.

    Parameters
    ----------
    given : mapping
        As from ``TreeMender.get_params``.
    n_features : int
        Number of attributes of the reference.
    """
    check_count("depth", given["depth"], least=1, also=("auto",))
    check_count("n_neighbors", given["n_neighbors"], least=1)
    check_share("alpha", given["alpha"], zero=False)
    check_choice("donors", given["donors"], DONORS)
    check_choice("imputation", given["imputation"], IMPUTATIONS)
    check_flag("refine", given["refine"])
    check_flag("clean_reference", given["clean_reference"])
    check_choice("scale", given["scale"], ("minmax", None))
    check_choice("root_rule", given["root_rule"], ("continue", "stop"))
    if given["n_jobs"] != -1:
        check_count("n_jobs", given["n_jobs"], least=1, also=(None, -1))
    if given["donors"] == "sibling" and given["imputation"] == "reconstruct":
        raise ParameterError(
            "imputation='reconstruct' rebuilds a row from all of its clean attributes and so needs donors='clean'; got "
            "donors='sibling'. With donors='sibling', choose 'map', 'nearest', 'mean' or 'draw'."
        )
    if given["donors"] == "sibling" and given["refine"]:
        raise ParameterError(
            "donors='sibling' needs whole nodes of the tree, and refine=True finds stretches that are none. Choose "
            "donors='clean', or refine=False."
        )
    if given["clean_reference"] and not given["refine"]:
        raise ParameterError("clean_reference=True judges reference rows by their context and so needs refine=True.")
    memory_budget(given["memory_limit"])
    if given["progress"] is not None:
        check_flag("progress", given["progress"])
    tau, rate = _one_rate(given["tau"], given["false_alarm_rate"])
    depth = default_depth(n_features) if given["depth"] == "auto" else int(given["depth"])
    return Settings(
        depth=depth,
        n_neighbors=int(given["n_neighbors"]),
        alpha=float(given["alpha"]),
        tau=tau,
        false_alarm_rate=rate,
        donors=given["donors"],
        imputation=given["imputation"],
        refine=given["refine"],
        stop_at_root=given["root_rule"] == "stop",
        scale=given["scale"],
        calibration_rows=_calibration_rows(given["calibration_rows"], int(given["n_neighbors"])),
        seed=_seed(given["random_state"]),
        means=Means(given["n_jobs"], given["memory_limit"]),
    )


def _calibration_rows(given: Any, n_neighbors: int) -> int:
    check_count("calibration_rows", given, least=n_neighbors + 2, also=("auto", "all"))
    if given == "auto":
        return _MOST_CALIBRATION_ROWS
    return sys.maxsize if given == "all" else int(given)


def _one_rate(tau: Any, rate: Any) -> tuple[float | None, float | None]:
    if tau is not None and rate is not None:
        raise ParameterError(
            f"Give tau or false_alarm_rate, not both: got tau={tau!r} and false_alarm_rate={rate!r}. tau is the rate "
            "of one node's test, false_alarm_rate that of a whole row."
        )
    if tau is not None:
        check_share("tau", tau, zero=True)
        return float(tau), None
    if rate is not None:
        check_share("false_alarm_rate", rate, zero=True)
    return None, _DEFAULT_RATE if rate is None else float(rate)


def _seed(random_state: Any) -> int:
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ParameterError(
            f"random_state must be an integer, None or a numpy.random.RandomState, got {random_state!r}."
        ) from None
