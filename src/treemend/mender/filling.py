"""Interim."""
from dataclasses import dataclass
from typing import Literal
import numpy as np
Imputation = Literal["mean", "mode", "draw"]

@dataclass(frozen=True)
class Filled:
    values: np.ndarray
    spread: np.ndarray
    draws: np.ndarray

def fill(density, columns, values, gaps, imputation="mean", n_draws=0, seed=0):
    rows = columns.to_rows(np.where(gaps, np.nan, values))[0]
    out = rows.copy(); sd = np.zeros_like(rows)
    for i, row in enumerate(rows):
        m = np.isnan(row); o = ~m
        means, lev, var = [], [], []
        for k in range(len(density.centre)):
            S = density.covariance[k]; c = density.centre[k]
            if o.any():
                A = np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)])
                dev = row[o] - c[o]
                means.append(c[m] + dev @ A); var.append(np.diag(S[np.ix_(m, m)] - S[np.ix_(m, o)] @ A))
                q = dev @ np.linalg.solve(S[np.ix_(o, o)], dev)
                lev.append(density.log_weight[k] - .5*np.linalg.slogdet(S[np.ix_(o, o)])[1] - .5*(6+o.sum())*np.log1p(q/6))
            else:
                means.append(c[m]); var.append(np.diag(S)[m]); lev.append(density.log_weight[k])
        w = np.exp(np.array(lev) - max(lev)); w /= w.sum()
        mu = w @ np.array(means); out[i, m] = mu
        sd[i, m] = np.sqrt(np.maximum(w @ (np.array(var) + (np.array(means) - mu)**2), 0))
    spread = np.empty_like(sd); spread[:, columns.order] = sd * columns.slope(out)
    vals = columns.to_values(out)
    rng = np.random.default_rng(seed)
    return Filled(vals, spread, np.array([vals + spread * rng.normal(size=vals.shape) for _ in range(n_draws)]).reshape(n_draws, *vals.shape))
