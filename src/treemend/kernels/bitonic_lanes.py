"""Pieces of a bitonic sorter that keep eight wires in registers.

Enters: an array of wires, ``LANES`` numbers each, and offsets of the wires to work on. Leaves: the wires,
with a few stages of comparators done between one load and one store (section 8 of the method).

Half of the lanes go through at a time, because eight wires of half the lanes fill the registers of common
machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
from llvmlite import ir
from numba import types

from treemend.kernels.flags import operation
from treemend.kernels.lanes import HALF, _ordered, _pointer, _spread
from treemend.kernels.networks import Comparator, odd_even_merge

__all__ = ["eight_next", "first_eight", "first_four", "first_two", "sort_eight"]

WIRE_BYTES = 4
LEAF_WIDTHS = (1, 2, 4, 8)


def butterfly(wires: list[int]) -> list[Comparator]:
    """Return the comparators that sort a bitonic list of wires, as many as a power of two."""
    half = len(wires) // 2
    if half == 0:
        return []
    return [*zip(wires[:half], wires[half:], strict=True), *butterfly(wires[:half]), *butterfly(wires[half:])]


def mirrored(count: int) -> list[Comparator]:
    """Return the first stages of merging two ascending lists, on ``count`` wires.

    The first half of the wires comes from the lower list, going up, the second half from the upper list,
    going down from its end. Comparing each wire with its mirror image leaves two bitonic lists, which go on
    by themselves.
    """
    half = count // 2
    low, high = list(range(half)), list(range(half, count))
    return [*zip(low, high, strict=True), *butterfly(low), *butterfly(high[::-1])]


def _run(builder: Any, values: list[Any], comparators: list[Comparator]) -> None:
    for low, high in comparators:
        values[low], values[high] = _ordered(builder, values[low], values[high])


def _places(context: Any, builder: Any, array_type: Any, array: Any, offsets: list[Any]) -> Iterator[list[Any]]:
    """Yield pointers to the wires at the given offsets, first for one half of the lanes, then for the other."""
    for first in (0, HALF):
        shift = ir.Constant(ir.IntType(64), first)
        yield [_pointer(context, builder, array_type, array, builder.add(offset, shift), HALF) for offset in offsets]


def _steps(builder: Any, offset: Any, stride: Any, count: int, sign: int = 1) -> list[Any]:
    offsets = [offset]
    for _ in range(count - 1):
        offsets.append((builder.add if sign > 0 else builder.sub)(offsets[-1], stride))
    return offsets


def _exchange_in_place(
    context: Any, builder: Any, array_type: Any, array: Any, offsets: list[Any], comparators: list[Comparator]
) -> None:
    for places in _places(context, builder, array_type, array, offsets):
        values = [builder.load(place, align=WIRE_BYTES) for place in places]
        _run(builder, values, comparators)
        for value, place in zip(values, places, strict=True):
            builder.store(value, place, align=WIRE_BYTES)


def _first_stages(count: int) -> Any:
    def first_stages(typing_context: Any, array: Any, low: Any, high: Any, stride: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            array_value, low_offset, high_offset, step = values
            offsets = [
                *_steps(builder, low_offset, step, count // 2),
                *_steps(builder, high_offset, step, count // 2, -1),
            ]
            _exchange_in_place(context, builder, array, array_value, offsets, mirrored(count))
            return context.get_dummy_value()

        return types.void(array, types.intp, types.intp, types.intp), emit

    return first_stages


@operation
def first_two(typing_context: Any, array: Any, low: Any, high: Any, stride: Any) -> Any:
    """Do the first stage of a merge on one wire at ``low`` and one at ``high``."""
    return _first_stages(2)(typing_context, array, low, high, stride)


@operation
def first_four(typing_context: Any, array: Any, low: Any, high: Any, stride: Any) -> Any:
    """Do the first two stages of a merge on two wires from ``low`` up and two from ``high`` down."""
    return _first_stages(4)(typing_context, array, low, high, stride)


@operation
def first_eight(typing_context: Any, array: Any, low: Any, high: Any, stride: Any) -> Any:
    """Do the first three stages of a merge on four wires from ``low`` up and four from ``high`` down."""
    return _first_stages(8)(typing_context, array, low, high, stride)


@operation
def eight_next(typing_context: Any, array: Any, offset: Any, stride: Any) -> Any:
    """Do the next three stages of a merge on eight wires from ``offset`` up, ``stride`` apart."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        offsets = _steps(builder, values[1], values[2], 8)
        _exchange_in_place(context, builder, array, values[0], offsets, butterfly(list(range(8))))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), emit


@operation
def sort_eight(
    typing_context: Any,
    blocks: Any,
    block_offset: Any,
    rows: Any,
    row_offset: Any,
    wires: Any,
    wire: Any,
    masks: Any,
    n_wires: Any,
    leaf_width: Any,
    first_nodes: Any,
    sums: Any,
) -> Any:
    """Sort eight wires' squared differences, with the sums of the nodes of up to eight wires on the way.

    Wires ``wire`` to ``wire + 7`` get the squared differences between reference rows (``blocks`` from
    ``block_offset`` on) and a row (``rows`` from ``row_offset`` on). A node of width 1, 2, 4 or 8, if not
    below ``leaf_width``, sums those of its sorted wires whose mask, at ``masks[level * n_wires + wire]``,
    has all bits set. Its sum goes to the row of ``sums`` that ``first_nodes[level]`` and its place in the
    level say.
    """

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        (block_array, block_at, row_array, row_at, wire_array, wire_at, mask_array, wire_count, narrowest) = values[:9]
        number = ir.IntType(64)

        def constant(value: int) -> Any:
            return ir.Constant(number, value)

        def element(array_type: Any, array: Any, offset: Any) -> Any:
            data = context.make_array(array_type)(context, builder, array).data
            return builder.load(builder.gep(data, [offset]))

        def store_sums(level: int, width: int, squares: list[Any], first_lane: int) -> None:
            first_node = builder.add(
                element(first_nodes, values[9], constant(level)), builder.udiv(wire_at, constant(width))
            )
            mask_at = builder.add(builder.mul(constant(level), wire_count), wire_at)
            for group in range(8 // width):
                total = None
                for place in range(group * width, (group + 1) * width):
                    mask = element(masks, mask_array, builder.add(mask_at, constant(place)))
                    bits = builder.bitcast(squares[place], ir.VectorType(ir.IntType(32), HALF))
                    counted = builder.bitcast(builder.and_(bits, _spread(builder, mask, HALF)), squares[place].type)
                    total = counted if total is None else builder.fadd(total, counted)
                node = builder.add(first_node, constant(group))
                offset = builder.add(builder.mul(node, constant(2 * HALF)), constant(first_lane))
                builder.store(total, _pointer(context, builder, sums, values[10], offset, HALF), align=WIRE_BYTES)

        for first_lane in (0, HALF):
            squares = []
            for place in range(8):
                at = builder.add(block_at, constant(place * 2 * HALF + first_lane))
                reference = builder.load(_pointer(context, builder, blocks, block_array, at, HALF), align=WIRE_BYTES)
                row_value = element(rows, row_array, builder.add(row_at, constant(place)))
                difference = builder.fsub(reference, _spread(builder, row_value, HALF))
                squares.append(builder.fmul(difference, difference))
            for level, width in enumerate(LEAF_WIDTHS):
                comparators: list[Comparator] = []
                for first in range(0, 8, width):
                    middle = first + width // 2
                    odd_even_merge(range(first, middle), range(middle, first + width), comparators)
                _run(builder, squares, comparators)
                with builder.if_then(builder.icmp_signed(">=", constant(width), narrowest)):
                    store_sums(level, width, squares, first_lane)
            for place, value in enumerate(squares):
                at = builder.add(
                    builder.mul(builder.add(wire_at, constant(place)), constant(2 * HALF)),
                    constant(first_lane),
                )
                builder.store(value, _pointer(context, builder, wires, wire_array, at, HALF), align=WIRE_BYTES)
        return context.get_dummy_value()

    signature = types.void(
        blocks,
        types.intp,
        rows,
        types.intp,
        wires,
        types.intp,
        masks,
        types.intp,
        types.intp,
        first_nodes,
        sums,
    )
    return signature, emit


if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    from treemend.kernels.bitonic_interpreted import *  # noqa: F403
