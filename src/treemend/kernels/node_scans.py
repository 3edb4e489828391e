"""From rows to settled radii: which kernels run, in which portions.

Enters: the packed reference, rows in scaled units or indices of reference rows. Leaves: K-th radii at every node, in
scaled units (section 4 of the method). Each estimate is computed for one row, except where all reference rows are asked
for: then each pair of them is computed once, if the lists of all fit into the memory that may be used. At ``alpha = 1``
an estimate is so cheap that lists scattered over memory cost more, unless nodes are few for the number of attributes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treemend.kernels.checks import work_of_a_row
from treemend.kernels.networks import EvenLayout, Network
from treemend.kernels.packing import LANES, PackedReference, estimate_rows, lane_aligned, scale_rows
from treemend.kernels.threads import for_chunks, thread_count

SPARE_CANDIDATES = 2
BLOCKS_IN_A_TILE = 8
BLOCKS_IN_A_EUCLIDEAN_TILE = 16
ATTRIBUTES_FOR_A_NODE = 12

Lists = tuple[NDArray[np.float32], NDArray[np.int32]]
Pair = tuple[int, int]


def distances_of_rows(
    packed: PackedReference,
    rows: NDArray[np.float64],
    skipped: NDArray[np.int64],
    ranks: list[int],
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Return the distances to the nearest reference rows of some ranks, ascending, rows x nodes x ranks."""
    distances = np.empty((len(rows), packed.n_nodes, len(ranks)))
    # A row that leaves out nobody has one candidate more than the others.
    n_candidates = packed.n_rows - bool((skipped >= 0).all())
    length = _length(n_candidates, ranks[-1])

    def task(part: slice) -> None:
        scaled = scale_rows(packed, rows[part])
        lists = _one_sided(packed, scaled, skipped[part], length)
        settled = np.empty((len(scaled), packed.n_nodes))
        for place, rank in enumerate(ranks):
            _settle(packed, scaled, skipped[part], lists, length, n_candidates, rank, settled)
            distances[part, :, place] = settled

    for_chunks(task, len(rows), work_of_a_row(packed), n_jobs)
    return distances


def radii_of_reference(
    packed: PackedReference, indices: NDArray[np.int64] | None, n_neighbors: int, n_jobs: int | None, memory: int
) -> NDArray[np.float64]:
    """Return the radii of reference rows, each left out of its own list; of all of them if no indices are given."""
    own = np.arange(packed.n_rows) if indices is None else indices
    length = _length(packed.n_rows - 1, n_neighbors)
    radii = np.empty((len(own), packed.n_nodes))
    mirrored = indices is None and worth_mirroring(packed) and bytes_for_mirroring(packed, length) <= memory
    all_lists = mirrored_lists(packed, length, n_jobs) if mirrored else None

    def task(part: slice) -> None:
        scaled = packed.reference_rows(own[part])
        if all_lists is None:
            lists = _one_sided(packed, scaled, own[part], length)
        else:
            lists = all_lists[0][part], all_lists[1][part]
        _settle(packed, scaled, own[part], lists, length, packed.n_rows - 1, n_neighbors, radii[part])

    for_chunks(task, len(own), work_of_a_row(packed), n_jobs)
    return radii


def worth_mirroring(packed: PackedReference) -> bool:
    """Tell whether comparing each pair of reference rows once is quicker than comparing it twice."""
    return packed.alpha < 1 or packed.n_attributes >= ATTRIBUTES_FOR_A_NODE * packed.n_nodes


def bytes_for_mirroring(packed: PackedReference, length: int) -> int:
    """Return what `mirrored_lists` needs: lists, bounds, and the rows once more."""
    n_blocks, width, _ = packed.estimate.shape
    bytes_of_a_row = packed.n_nodes * (8 * max(length, LANES) + 4) + 5 * width
    return int(n_blocks * LANES * bytes_of_a_row)


def mirrored_lists(packed: PackedReference, length: int, n_jobs: int | None) -> Lists:
    """Return the shortlists of all reference rows, each pair of rows computed once.

    Tiles of rows meet as in a tournament: the pairs of one round have no tile in common, so that threads never
    write to the same list.
    """
    from treemend.kernels.euclidean_pairs import euclidean_pairs
    from treemend.kernels.ranked_lists import fill_lists

    n_blocks = len(packed.estimate)
    everyone = np.arange(n_blocks * LANES)
    rows = np.array(packed.estimate.transpose(0, 2, 1), order="C").reshape(len(everyone), -1)
    # What pads rows and wires is at infinity in the blocks; one of the two must be finite.
    np.copyto(rows, 0, where=np.isinf(rows))
    lists = _empty_lists(packed, len(everyone), length)
    if packed.alpha == 1:
        largest = BLOCKS_IN_A_EUCLIDEAN_TILE
        bounds = _no_bounds(packed, n_blocks + 1)
        bounds[n_blocks] = -1

        def meet(home: Pair, guest: Pair) -> None:
            euclidean_pairs(packed.estimate, home, guest, rows, everyone, packed.nodes, bounds, *lists, length)
    else:
        largest = BLOCKS_IN_A_TILE
        bounds = _no_bounds(packed, n_blocks)

        def meet(home: Pair, guest: Pair) -> None:
            of_home = slice(home[0] * LANES, min(home[1] * LANES, packed.n_rows))
            fill_lists(
                packed.estimate,
                *guest,
                rows[of_home],
                everyone[of_home],
                of_home.start,
                packed.nodes,
                *sorters(packed),
                bounds,
                *lists,
                length,
                True,
            )

    # Half of the tiles play at a time; every thread shall have a game.
    size = min(largest, max(1, n_blocks // (2 * thread_count(n_jobs))))
    n_tiles = -(-n_blocks // size)
    tiles = [(tile * size, min((tile + 1) * size, n_blocks)) for tile in range(n_tiles)]
    work = work_of_a_row(packed) * size * LANES // n_tiles
    n_played, n_games = 0, n_tiles * (n_tiles + 1) // 2
    for games in tournament(n_tiles):

        def play(part: slice, games: list[Pair] = games) -> None:
            for home, guest in games[part]:
                meet(tiles[home], tiles[guest])

        for_chunks(play, len(games), work, n_jobs, of=(n_played, n_games))
        n_played += len(games)
    return lists


def tournament(n_tiles: int) -> list[list[Pair]]:
    """Return rounds of pairs such that all tiles meet once, also each itself, and no tile twice in a round.

    >>> tournament(3)
    [[(0, 0), (1, 1), (2, 2)], [(1, 2)], [(0, 2)], [(0, 1)]]
    """
    n_seats = n_tiles + n_tiles % 2
    rounds = [[(tile, tile) for tile in range(n_tiles)]]
    seats = list(range(n_seats))
    for _ in range(n_seats - 1):
        opposite = zip(seats[: n_seats // 2], reversed(seats[n_seats // 2 :]), strict=True)
        met = [(min(pair), max(pair)) for pair in opposite]
        rounds.append([pair for pair in met if pair[1] < n_tiles])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds


def _one_sided(packed: PackedReference, scaled: NDArray[np.float64], skipped: NDArray[np.int64], length: int) -> Lists:
    from treemend.kernels.euclidean import euclidean_shortlists
    from treemend.kernels.ranked_lists import fill_lists

    rows = estimate_rows(packed, scaled)
    values, indices = _empty_lists(packed, len(rows), length)
    if packed.alpha == 1:
        euclidean_shortlists(packed.estimate, rows, skipped, packed.nodes, values, indices, length)
    else:
        bounds = _no_bounds(packed, -(-len(rows) // LANES))
        everything = 0, len(packed.estimate)
        fill_lists(
            packed.estimate,
            *everything,
            rows,
            skipped,
            0,
            packed.nodes,
            *sorters(packed),
            bounds,
            values,
            indices,
            length,
            False,
        )
    return values, indices


def _settle(
    packed: PackedReference,
    scaled: NDArray[np.float64],
    skipped: NDArray[np.int64],
    lists: Lists,
    length: int,
    n_candidates: int,
    n_neighbors: int,
    radii: NDArray[np.float64],
) -> None:
    from treemend.kernels.exact import settle_radii

    settle_radii(
        packed.exact,
        scaled,
        skipped,
        packed.centre,
        packed.spread,
        packed.roundings,
        packed.nodes,
        packed.sorting_network,
        *lists,
        length,
        length == n_candidates,
        n_neighbors,
        radii,
    )


def _length(n_candidates: int, n_neighbors: int) -> int:
    return min(n_neighbors + SPARE_CANDIDATES, n_candidates)


def _empty_lists(packed: PackedReference, n_lists: int, length: int) -> Lists:
    shape = n_lists, packed.n_nodes, max(length, LANES)
    values, indices = lane_aligned(shape, np.dtype(np.float32)), lane_aligned(shape, np.dtype(np.int32))
    values[:] = np.inf
    indices[:] = -1
    return values, indices


def _no_bounds(packed: PackedReference, n_blocks: int) -> NDArray[np.float32]:
    return np.full((n_blocks, packed.n_nodes, LANES), np.inf, dtype=np.float32)


def sorters(packed: PackedReference) -> tuple[EvenLayout | None, Network | None]:
    """Return the layout of an even tree or else the network; what is not needed is not compiled."""
    return (packed.layout, None) if len(packed.layout.wire) else (None, packed.network)
