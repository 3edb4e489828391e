"""Naive twins of the refinement's kernels: plain NumPy in float64, each number from its definition, slow.

Where a kernel works with precisions and prefixes, the twin takes the covariance of the part in question and inverts it.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_t

from treemend.refinement.mixture import TAIL
from treemend.refinement.scan import SHIFT

NOISE, FOREIGN, SHIFTED = range(3)


def log_densities(mixture, x, part, covariance=None):
    """Weighted log density of the attributes of a part under each component."""
    covariance = mixture.covariance if covariance is None else covariance
    if len(part) == 0:
        return mixture.log_weight.copy()
    return np.array(
        [
            weight + multivariate_t.logpdf(x[part], centre[part], block[np.ix_(part, part)], df=TAIL)
            for weight, centre, block in zip(mixture.log_weight, mixture.centre, covariance, strict=True)
        ]
    )


def explained(mixture, explanation, x, stretch, inside):
    """By component the log density of what is left to the mixture, and that of what is not."""
    d = len(x)
    if explanation == SHIFTED:
        moved = np.isin(np.arange(d), inside).astype(float)
        shifted = mixture.covariance + SHIFT**2 * np.outer(moved, moved)
        return log_densities(mixture, x, np.arange(d), shifted), 0.0
    rest = log_densities(mixture, x, np.setdiff1d(np.arange(d), inside))
    if explanation == NOISE:
        return rest, stretch[inside].sum()
    return rest, np.logaddexp.reduce(log_densities(mixture, x, np.asarray(inside)))


def window_evidence(mixture, explanation, x, stretch, inside):
    by_component, beside = explained(mixture, explanation, x, stretch, inside)
    whole = np.logaddexp.reduce(log_densities(mixture, x, np.arange(len(x))))
    return np.logaddexp.reduce(by_component) + beside - whole, int(np.argmax(by_component))


def coordinates_of(cells, per_cell):
    return (np.asarray(cells)[:, None] * per_cell + np.arange(per_cell)).ravel()


def all_evidence(mixture, windows, per_cell, described, stretch):
    """Evidence and loudest component of every row, explanation and window."""
    insides = [coordinates_of(windows.cells(v), per_cell) for v in range(len(windows.size))]
    found = [
        [[window_evidence(mixture, e, x, s, inside) for inside in insides] for e in range(3)]
        for x, s in zip(described, stretch, strict=True)
    ]
    values = np.array(found, dtype=float).reshape(len(described), 3, len(insides), 2)
    return values[..., 0], values[..., 1].astype(int)


def single(mixture, k):
    """One component as a mixture of its own."""
    return type(mixture)(
        mixture.centre[[k]], mixture.covariance[[k]], mixture.precision[[k]], np.zeros(1), mixture.log_det[[k]]
    )


def best_of(mixture, explanation, x, stretch, candidates, per_cell):
    """The first candidate set of cells with the most evidence."""
    values = [window_evidence(mixture, explanation, x, stretch, coordinates_of(c, per_cell))[0] for c in candidates]
    return int(np.argmax(values))


def refine_interval(mixture, explanation, x, stretch, interval, per_cell, reach):
    n_cells = len(x) // per_cell
    start, stop = interval
    for _ in range(2):
        stops = [s for s in range(max(start + 1, stop - reach), min(n_cells, stop + reach) + 1) if s - start < n_cells]
        new_stop = stops[best_of(mixture, explanation, x, stretch, [range(start, s) for s in stops], per_cell)]
        starts = [
            s for s in range(min(new_stop - 1, start + reach), max(0, start - reach) - 1, -1) if new_stop - s < n_cells
        ]
        new_start = starts[best_of(mixture, explanation, x, stretch, [range(s, new_stop) for s in starts], per_cell)]
        if (new_start, new_stop) == (start, stop):
            break
        start, stop = new_start, new_stop
    return start, stop


def box_cells(box, width):
    top, bottom, left, right = box
    return [y * width + x for y in range(top, bottom) for x in range(left, right)]


def refine_box(mixture, explanation, x, stretch, box, per_cell, height, width):
    """Each side in turn goes in or out by one line if that adds evidence; sides are at least 2 long."""
    box = list(box)
    for _ in range(2):
        before = list(box)
        for side in range(4):
            outwards = 1 if side % 2 else -1
            candidates = [list(box)]
            for step in (-1, 1):
                moved = list(box)
                moved[side] += step * outwards
                top, bottom, left, right = moved
                inside = top >= 0 and bottom <= height and left >= 0 and right <= width
                length = bottom - top if side < 2 else right - left
                if inside and length >= 2 and (bottom - top) * (right - left) < height * width:
                    candidates.append(moved)
            cells = [box_cells(c, width) for c in candidates]
            box = candidates[best_of(mixture, explanation, x, stretch, cells, per_cell)]
        if box == before:
            break
    return tuple(box)


def regions(row, grid, smallest):
    """The three largest sets of connected attributes with equal values, largest first."""
    height, width, channels = grid or (1, len(row), 1)
    pixels = row.reshape(height * width, channels)
    unseen, found = set(range(height * width)), []
    while unseen:
        seed = min(unseen)
        region, border = set(), [seed]
        unseen.discard(seed)
        while border:
            pixel = border.pop()
            region.add(pixel)
            y, x = divmod(pixel, width)
            for ny, nx in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                to = ny * width + nx
                on_grid = 0 <= ny < height and 0 <= nx < width
                if on_grid and to in unseen and np.array_equal(pixels[to], pixels[seed]):
                    unseen.discard(to)
                    border.append(to)
        found.append(coordinates_of(sorted(region), channels))
    found = [region for region in found if len(region) >= smallest * channels]
    return sorted(found, key=len, reverse=True)[:3]


def frozen(row, reference, grid, left_out, smallest, n_donors):
    best, mask = 0.0, np.zeros(len(row), dtype=bool)
    for region in regions(row, grid, smallest):
        outside = np.setdiff1d(np.arange(len(row)), region)
        if len(outside) == 0:
            continue
        distances = ((reference[:, outside] - row[outside]) ** 2).sum(axis=1)
        order = [i for i in np.lexsort((np.arange(len(reference)), distances)) if i != left_out]
        same = (reference[order[:n_donors]][:, region] == row[region]).sum(axis=0)
        odds = (same + 0.5) / (n_donors + 1)
        if -np.log(odds).sum() > best:
            best, mask = -np.log(odds).sum(), np.zeros(len(row), dtype=bool)
            mask[region[odds < 0.5] if (odds < 0.5).any() else region] = True
    return best, mask
