"""Bayesian networks over coded records: counts of every family, noise on them, and records drawn from them.

A *family* is an attribute with its parents; a *configuration* is what the parents say together, as one number. The
number is a sum over the parents: each looks up what its value adds to it, so that buckets and strides are one table.

Symbols: m attributes, P parents in all, row a record's codes int32[m].
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import jit, lean_jit
from engine.kernels.arrays import Bools, Indices, Ints, Words
from engine.kernels.chacha import (
    STAGE_RECORD_NOISE,
    STAGE_RECORD_SPLIT,
    STAGE_RECORD_TOP_UP,
    below,
    has_run_out,
    open_stream,
)
from engine.kernels.noise import discrete_laplace
from engine.mechanisms.kernels.urn import find_weight

__all__ = [
    "RECORDS_AT_ONCE",
    "Families",
    "ModelTables",
    "add_noise",
    "configuration_of",
    "count_families",
    "count_joint",
    "draw_attributes",
    "draw_range",
    "fill_prefix",
    "split_amounts",
    "split_range",
    "top_up_range",
]

RECORDS_AT_ONCE = 1024
"""Records of one item of work; a stream of stage RECORD_SPLIT serves as many."""

Bytes = npt.NDArray[np.int8]

_LOW = 0xFFFFFFFF


class Families(NamedTuple):
    """Parents of each attribute: CSR offsets [m + 1], the parents [P], and what each of their values adds.

    `adds_at` [P + 1] is where a parent's values begin in `adds`, and `sizes` [m] how many values an attribute has.
    `table_at` [m + 1] is where an attribute's configurations begin among all K. `first` [K] is the first possible value
    of each, and `cell_ptr` [K + 1] are offsets of their cells, from that value on.
    """

    parent_ptr: Ints
    parent: Ints
    adds_at: Ints
    adds: Ints
    table_at: Ints
    first: Ints
    cell_ptr: Ints
    sizes: Ints


class ModelTables(NamedTuple):
    """Families, and the running sums of the weights of every configuration's cells."""

    families: Families
    sums: Ints


@lean_jit
def configuration_of(families: Families, attribute: int, row: Indices) -> int:
    """The configuration of an attribute's parents in a record, among those of all attributes."""
    number = int(families.table_at[attribute])
    for parent in range(families.parent_ptr[attribute], families.parent_ptr[attribute + 1]):
        number += families.adds[families.adds_at[parent] + row[families.parent[parent]]]
    return number


@lean_jit
def count_families(bounds: tuple[int, int], families: Families, codes: Indices, counts: Ints) -> int:
    """Add the records to the tables of attributes ``bounds``; those outside the cells are left out."""
    for attribute in range(bounds[0], bounds[1]):
        for record in range(codes.shape[0]):
            row = codes[record]
            number = configuration_of(families, attribute, row)
            cell = families.cell_ptr[number] + row[attribute] - families.first[number]
            if families.cell_ptr[number] <= cell < families.cell_ptr[number + 1]:
                counts[cell] += 1
    return -1


@lean_jit
def count_joint(codes: Indices, columns: Ints, steps: Ints, counts: Ints) -> None:
    """Add the records to the counts of three attributes' values together; a value is so many steps from the next."""
    first, second, third = columns[0], columns[1], columns[2]
    of_first, of_second, of_third = steps[0], steps[1], steps[2]
    for record in range(codes.shape[0]):
        row = codes[record]
        counts[row[first] * of_first + row[second] * of_second + row[third] * of_third] += 1


@jit
def add_noise(
    bounds: tuple[int, int],
    attribute: int,
    ptr: Ints,
    possible: Bools,
    key: Words,
    stream: Ints,
    digits: Ints,
    short: Ints,
    counts: Ints,
) -> int:
    """Add noise to the possible cells of configurations ``bounds`` and cut them at 0; the others become 0."""
    for configuration in range(bounds[0], bounds[1]):
        open_stream(STAGE_RECORD_NOISE, attribute, configuration, stream)
        for cell in range(ptr[configuration], ptr[configuration + 1]):
            if possible[cell]:
                counts[cell] = max(counts[cell] + discrete_laplace(key, stream, digits, short), 0)
            else:
                counts[cell] = 0
        if has_run_out(stream):
            return configuration
    return -1


@lean_jit
def draw_attributes(key: Words, stream: Ints, model: ModelTables, kept: int, row: Indices) -> None:
    """Draw the attributes from ``kept`` on of a record whose first ``kept`` are filled in, from an open stream."""
    families, sums = model.families, model.sums
    for attribute in range(kept, families.sizes.size):
        number = configuration_of(families, attribute, row)
        start, stop = families.cell_ptr[number], families.cell_ptr[number + 1]
        drawn = below(key, stream, sums[stop - 1])
        row[attribute] = find_weight(sums, start, stop, drawn) - start + families.first[number]


@lean_jit
def draw_range(
    bounds: tuple[int, int],
    stage: int,
    first: int,
    kept: int,
    model: ModelTables,
    key: Words,
    stream: Ints,
    codes: Indices,
) -> int:
    """Draw the records of blocks ``bounds``; record ``first`` + i, with its own stream, goes to row i."""
    stop = min(bounds[1] * RECORDS_AT_ONCE, codes.shape[0])
    for record in range(bounds[0] * RECORDS_AT_ONCE, stop):
        number = first + record
        open_stream(stage, number & _LOW, number >> 32, stream)
        draw_attributes(key, stream, model, kept, codes[record])
        if has_run_out(stream):
            return record
    return -1


@lean_jit
def split_range(
    bounds: tuple[int, int],
    first: int,
    sums: Ints,
    key: Words,
    stream: Ints,
    subset: Bytes,
) -> int:
    """Draw the subsets of records in blocks ``bounds``, counted from the block that record ``first`` is in.

    ``sums`` are running sums of the subsets' weights; record ``first`` + i goes to ``subset[i]``.
    """
    for block in range(bounds[0], bounds[1]):
        number = first // RECORDS_AT_ONCE + block
        open_stream(STAGE_RECORD_SPLIT, number & _LOW, number >> 32, stream)
        for place in range(RECORDS_AT_ONCE):
            drawn = below(key, stream, sums[sums.size - 1])
            record = number * RECORDS_AT_ONCE + place - first
            if 0 <= record < subset.size:
                subset[record] = find_weight(sums, 0, sums.size, drawn)
        if has_run_out(stream):
            return block
    return -1


@lean_jit
def _part_of(amount: int, part: int, whole: int) -> int:
    """Whole part of amount × part / whole, bit by bit, for part up to whole below 2^61 and amount below 2^62."""
    quotient, rest = 0, 0
    for bit in range(61, -1, -1):
        quotient, rest = quotient << 1, (rest << 1) + part * ((amount >> bit) & 1)
        while rest >= whole:
            quotient, rest = quotient + 1, rest - whole
    return quotient


@lean_jit
def fill_prefix(prefix: int, kept: int, sizes: Ints, row: Indices) -> None:
    """Write the codes of a prefix, whose number has the last attribute vary fastest."""
    for attribute in range(kept - 1, -1, -1):
        row[attribute] = prefix % sizes[attribute]
        prefix //= sizes[attribute]


@lean_jit
def split_amounts(
    bounds: tuple[int, int], attribute: int, model: ModelTables, row: Indices, amounts: Ints, parts: Ints
) -> int:
    """Split the amounts of the prefixes ``bounds`` before an attribute among its values, as the model does."""
    families, sums = model.families, model.sums
    size = families.sizes[attribute]
    for prefix in range(bounds[0], bounds[1]):
        fill_prefix(prefix, attribute, families.sizes, row)
        number = configuration_of(families, attribute, row)
        start, stop = families.cell_ptr[number], families.cell_ptr[number + 1]
        parts[prefix * size : (prefix + 1) * size] = 0
        before = 0
        for cell in range(start, stop):
            value = families.first[number] + cell - start
            parts[prefix * size + value] = _part_of(amounts[prefix], sums[cell] - before, sums[stop - 1])
            before = sums[cell]
    return -1


@lean_jit
def top_up_range(
    bounds: tuple[int, int],
    first: int,
    kept: int,
    missing: Ints,
    model: ModelTables,
    key: Words,
    stream: Ints,
    codes: Indices,
) -> int:
    """Draw the records of blocks ``bounds``: a prefix by running sums of what is missing, the rest by the model."""
    stop = min(bounds[1] * RECORDS_AT_ONCE, codes.shape[0])
    for record in range(bounds[0] * RECORDS_AT_ONCE, stop):
        number = first + record
        open_stream(STAGE_RECORD_TOP_UP, number & _LOW, number >> 32, stream)
        drawn = below(key, stream, missing[missing.size - 1])
        prefix = find_weight(missing, 0, missing.size, drawn)
        fill_prefix(prefix, kept, model.families.sizes, codes[record])
        draw_attributes(key, stream, model, kept, codes[record])
        if has_run_out(stream):
            return record
    return -1
