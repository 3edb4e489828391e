r"""The false-alarm rate of the whole search as a model of node labels (docs/method.md, section 2.7).

The root is anomalous with probability ``tau``. Given its parent's label :math:`i`, a child has label :math:`j` with
probability :math:`q_i(j) = (1 - \theta) p(j) + \theta [i = j]`, and siblings are independent. With :math:`F(k; u)` the
probability that nothing is declared below a node of depth :math:`k` and label :math:`u`, and a leaf declared exactly if
it is anomalous, :math:`F(L; 1) = 0` and :math:`F(L; -1) = 1`, the rate follows from one pass up the tree.

The model says what to expect before there is data. The threshold of a fitted `treemend.TCS` comes from the reference
rows themselves, see `treemend.tcs.search.alarm_rates`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from treemend.exceptions import InputError, ParameterError
from treemend.params import check_count
from treemend.tcs.tree import AttributeTree

__all__ = ["corruption_false_alarm_rate", "fit_theta", "tau_for_rate"]

_TINIEST_TAU = 1e-12


def corruption_false_alarm_rate(
    tau: ArrayLike, theta: float | Sequence[float], depth: int
) -> NDArray[np.float64] | float:
    """Return the probability that the search declares something in a clean row.

    Parameters
    ----------
    tau : float or array of float in [0, 1]
        False-alarm rate of a single node test.
    theta : float or sequence of float in [0, 1]
        Dependency of a child's label on its parent's: one for the whole tree, or one for each depth of the parent,
        root first.
    depth : int, at least 1
        Depth of the leaves.

    Returns
    -------
    float or ndarray
        The rate C_tau, of the shape of ``tau``.

    Examples
    --------
    >>> round(corruption_false_alarm_rate(0.004, theta=0.8, depth=6), 4)
    0.0972
    >>> corruption_false_alarm_rate([0.01, 0.1], theta=0.5, depth=4).round(3)
    array([0.124, 0.724])
    """
    tau_array = np.asarray(tau, dtype=np.float64)
    _check_unit("tau", tau_array)
    thetas = _one_theta_a_depth(theta, depth)

    below_anomalous, below_normal = np.zeros_like(tau_array), np.ones_like(tau_array)
    for level in range(depth - 1, -1, -1):
        inherit, chance = thetas[level], (1 - thetas[level]) * tau_array
        to_anomalous, to_normal = chance + inherit, (1 - inherit) * (1 - tau_array)
        none_below_anomalous = to_normal**2 + 2 * to_normal * to_anomalous * below_anomalous * below_normal
        if level == 0:
            # At the root three anomalous labels declare nothing: the search goes on into both children.
            none_below_anomalous += (to_anomalous * below_anomalous) ** 2
        below_normal = (chance * below_anomalous + (1 - chance) * below_normal) ** 2
        below_anomalous = none_below_anomalous
    rate = 1 - tau_array * below_anomalous - (1 - tau_array) * below_normal
    return float(rate) if rate.ndim == 0 else rate


def tau_for_rate(rate: float, theta: float | Sequence[float], depth: int) -> float:
    """Return the node rate ``tau`` at which the whole search reaches ``rate``: the inverse of the model.

    Parameters
    ----------
    rate : float in [0, 1]
        Wanted rate of the whole search.
    theta, depth
        As in `corruption_false_alarm_rate`.

    Returns
    -------
    float
        The smallest such ``tau``.

    Examples
    --------
    >>> round(tau_for_rate(0.0972, theta=0.8, depth=6), 4)
    0.004
    """
    _check_unit("rate", np.asarray(rate, dtype=np.float64))
    _one_theta_a_depth(theta, depth)
    if rate in (0.0, 1.0):
        return float(rate)

    def excess(tau: float) -> float:
        return float(corruption_false_alarm_rate(tau, theta, depth)) - rate

    # The rate is not monotone: its peaks may reach what the values of tau beside them do not.
    grid = np.concatenate([np.geomspace(_TINIEST_TAU, 1e-2, 200), np.linspace(1e-2, 1, 400)[1:]])
    rates = np.asarray(corruption_false_alarm_rate(grid, theta, depth))
    tops = 1 + np.flatnonzero((rates[1:-1] >= rates[:-2]) & (rates[1:-1] >= rates[2:]))
    for ends in [(grid[top - 1], grid[top + 1]) for top in tops]:
        peak = minimize_scalar(lambda tau: -excess(tau), bounds=ends, method="bounded", options={"xatol": 1e-12})
        grid = np.union1d(grid, peak.x)
    rates = np.asarray(corruption_false_alarm_rate(grid, theta, depth))
    first = int(np.argmax(rates >= rate * (1 - 1e-14)))
    if first == 0 or rates[first] <= rate:
        return float(grid[first])
    return float(brentq(excess, grid[first - 1], grid[first], xtol=1e-15))


def fit_theta(
    anomalous: ArrayLike, tree: AttributeTree, *, tau: float | None = None, by_depth: bool = False
) -> float | NDArray[np.float64]:
    """Fit the dependency by maximum likelihood to the labels of clean rows.

    Parameters
    ----------
    anomalous : array of bool, rows x nodes
        Labels, as ``tcs.score_nodes(rows) <= tau``.
    tree : AttributeTree
        The tree the labels belong to, ``tcs.tree_``.
    tau : float, optional
        Rate of a single test. By default the share of anomalous labels.
    by_depth : bool, default=False
        One theta for each depth of the parent instead of one for all.

    Returns
    -------
    float or ndarray
        The fitted theta, between 0 and 1; ``nan`` where no label differs, so that nothing can be said.

    Examples
    --------
    >>> import numpy as np
    >>> from treemend.tcs import build_tree
    >>> tree = build_tree(4, depth=2)
    >>> labels = np.repeat([[True], [False]], tree.n_nodes, axis=1)
    >>> round(fit_theta(labels, tree), 3)
    1.0
    """
    labels = np.asarray(anomalous)
    if labels.dtype != bool or labels.ndim != 2 or labels.shape[1] != tree.n_nodes:
        raise InputError(
            f"anomalous must be a boolean array of rows x {tree.n_nodes} nodes, got {labels.dtype} of shape "
            f"{labels.shape}. Compare scores with tau: tcs.score_nodes(rows) <= tau."
        )
    rate = float(labels.mean()) if tau is None else tau
    _check_unit("tau", np.asarray(rate))
    children = np.flatnonzero(tree.parent >= 0)
    if not by_depth:
        return _likeliest_theta(labels, tree, children, rate)
    parent_depth = tree.depth[tree.parent[children]]
    return np.array([_likeliest_theta(labels, tree, children[parent_depth == k], rate) for k in range(tree.height)])


def _likeliest_theta(labels: NDArray[np.bool_], tree: AttributeTree, children: NDArray[np.intp], tau: float) -> float:
    """Maximise the likelihood of the four kinds of parent-child label pairs."""
    pairs = 2 * labels[:, tree.parent[children]] + labels[:, children]
    neither, only_child, only_parent, both = np.bincount(pairs.ravel(), minlength=4)
    if tau in (0.0, 1.0) or both + only_parent == 0 or only_child + neither == 0:
        return float("nan")

    def negative_log_likelihood(theta: float) -> float:
        chance = (1 - theta) * tau
        with np.errstate(divide="ignore"):
            logs = np.log([chance + theta, (1 - theta) * (1 - tau), chance, 1 - chance])
        counts = np.array([both, only_parent, only_child, neither])
        return -float(np.sum(counts[counts > 0] * logs[counts > 0]))

    options = {"xatol": 1e-8}
    return float(minimize_scalar(negative_log_likelihood, bounds=(0.0, 1.0), method="bounded", options=options).x)


def _check_unit(name: str, value: NDArray[np.float64]) -> None:
    if not np.all((value >= 0) & (value <= 1)):
        raise ParameterError(f"{name} must lie between 0 and 1, got {value}.")


def _one_theta_a_depth(theta: float | Sequence[float], depth: int) -> NDArray[np.float64]:
    check_count("depth", depth, least=1)
    thetas = np.atleast_1d(np.asarray(theta, dtype=np.float64))
    _check_unit("theta", thetas)
    if thetas.shape not in ((1,), (depth,)):
        expected = f"one number or one for each of the {depth} depths of a parent"
        raise ParameterError(f"theta must be {expected}, got {thetas.size}.")
    return np.broadcast_to(thetas, (depth,))
