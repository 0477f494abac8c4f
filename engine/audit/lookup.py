"""Attackers who look the victim up: the most frequent value among the records that share the victim's key.

Keys go from fine to coarse, such as (workplace block, segment) and then the workplace tract; where no record has the
victim's key, the next coarser one is used. The same rule on the real data is the ceiling (everything memorised), and on
the real data without the victim it shows what the others alone teach.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray
from engine.audit.coded_tables import Predictions
from engine.audit.decomposition import Tree
from engine.audit.kernels.boxes import largest_counts
from engine.errors import ParameterError

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class _Groups(NamedTuple):
    """Records by key: each key, its records, and its two most frequent values; a second count of 0 has no value."""

    key: Ints
    n_records: Ints
    first: Ints
    first_count: Ints
    second: Ints
    second_count: Ints


def lookup(
    keys_release: Sequence[Ints], values_release: Ints, keys_victims: Sequence[Ints], prior: FloatArray
) -> Predictions:
    """The most frequent value among the records with the victim's key, from the finest key that any record has.

    Parameters
    ----------
    keys_release : sequence of int64[M]
        Keys of the records, from fine to coarse. Records and victims with equal keys share them.
    values_release : int64[M]
        Sensitive value of each record, 0 to V - 1.
    keys_victims : sequence of int64[N]
        As many as for the records.
    prior : float64[V]
        Settles ties: the value of greater prior, then the lower one. A victim without a record at any key gets the
        value of greatest prior.

    Returns
    -------
    Predictions
        The belief is the share of the value among the records with that key, or its prior.

    Raises
    ------
    ParameterError
        The arrays do not agree, or a value is not in the prior.

    Notes
    -----
    With the real workers as records and as victims, this is the attacker who has memorized everything.
    """
    _require_levels(keys_release, values_release, prior)
    if len(keys_victims) != len(keys_release):
        raise ParameterError(
            f"{len(keys_victims)} keys of victims and {len(keys_release)} of records: give as many of each"
        )
    predictions = _predict_by_prior(keys_victims[0].size, prior)
    left = np.arange(keys_victims[0].size)
    for records, victims in zip(keys_release, keys_victims, strict=True):
        groups = _group(records, values_release, prior)
        place, is_known = _find(groups.key, victims[left])
        here, at = left[is_known], place[is_known]
        predictions.value[here] = groups.first[at]
        predictions.belief[here] = groups.first_count[at] / groups.n_records[at]
        left = left[~is_known]
    return predictions


def lookup_without_victim(keys: Sequence[Ints], values: Ints, prior: FloatArray) -> Predictions:
    """The same rule for every record, from all other records: each victim is left out, at every key.

    Parameters
    ----------
    keys : sequence of int64[N]
        Keys of the records, from fine to coarse. A key that no other record shares is passed over.
    values : int64[N]
        Sensitive value of each record, 0 to V - 1.
    prior : float64[V]
        As for :func:`lookup`.

    Returns
    -------
    Predictions

    Raises
    ------
    ParameterError
        As :func:`lookup`.
    """
    _require_levels(keys, values, prior)
    predictions = _predict_by_prior(values.size, prior)
    left = np.arange(values.size)
    for records in keys:
        groups = _group(records, values, prior)
        place = np.searchsorted(groups.key, records[left])
        has_others = groups.n_records[place] > 1
        here, at = left[has_others], place[has_others]
        value, count = _drop_victim(groups, at, values[here], prior)
        predictions.value[here] = value
        predictions.belief[here] = count / (groups.n_records[at] - 1)
        left = left[~has_others]
    return predictions


def majority(truth: Ints, n_values: int) -> Predictions:
    """The most frequent value of all workers, for every worker; the lower one of two that are as frequent.

    Parameters
    ----------
    truth : int64[N]
        Real values.
    n_values : int
    """
    counts = np.bincount(truth, minlength=n_values)
    share = counts / max(truth.size, 1)
    return _predict_by_prior(truth.size, share)


def public_prior(ptr: Ints, share: FloatArray, group: Ints) -> Predictions:
    """The value of greatest public prior in each victim's group, such as the destination tract.

    Parameters
    ----------
    ptr : int64[G + 1]
        CSR offsets of the values of each group; every group has values.
    share : float64[K]
        Prior share of each value in its group.
    group : int64[N]
        Group of each victim.

    Returns
    -------
    Predictions
        Values are numbers within the group, from 0.

    Raises
    ------
    ParameterError
        The arrays do not agree, or a group has no value.
    """
    if ptr[-1] != share.size or np.any(np.diff(ptr) < 1):
        raise ParameterError(f"offsets end at {ptr[-1]} for {share.size} shares: give every group a value")
    best = np.array([start + int(share[start:stop].argmax()) for start, stop in pairwise(ptr.tolist())])
    return Predictions(value=(best - ptr[:-1])[group], belief=share[best][group])


def _require_levels(keys: Sequence[Ints], values: Ints, prior: FloatArray) -> None:
    if not keys or any(key.size != values.size for key in keys):
        raise ParameterError(
            f"keys of {', '.join(str(key.size) for key in keys) or 'no'} records for {values.size} values: "
            "give one key each, at one level at least"
        )
    if not prior.size or (values.size and not 0 <= values.min() <= values.max() < prior.size):
        raise ParameterError(f"values outside 0 to {prior.size - 1}: give a prior for every value")


def _predict_by_prior(n: int, prior: FloatArray) -> Predictions:
    best = int(prior.argmax())
    return Predictions(value=np.full(n, best, dtype=np.int64), belief=np.full(n, float(prior[best])))


def _find(sorted_keys: Ints, keys: Ints) -> tuple[Ints, Bools]:
    """Place of each key, and whether it is there."""
    place = np.searchsorted(sorted_keys, keys)
    is_known = place < sorted_keys.size
    is_known[is_known] = sorted_keys[place[is_known]] == keys[is_known]
    return place, is_known


def _group(keys: Ints, values: Ints, prior: FloatArray) -> _Groups:
    """Count records by key and value, and rank the values of each key by count, prior and code."""
    order = np.lexsort((values, keys))
    key, value = keys[order], values[order]
    start = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (value[1:] != value[:-1]))[: key.size])
    key, value = key[start], value[start]
    count = np.diff(np.append(start, order.size))
    rank = np.lexsort((value, -prior[value], -count, key))
    key, value, count = key[rank], value[rank], count[rank]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
    n_values = np.diff(np.append(first, key.size))
    second = np.minimum(first + 1, max(key.size - 1, 0))
    return _Groups(
        key=key[first],
        n_records=np.add.reduceat(count, first) if first.size else count,
        first=value[first],
        first_count=count[first],
        second=value[second],
        second_count=np.where(n_values > 1, count[second], 0),
    )


def _drop_victim(groups: _Groups, at: Ints, own: Ints, prior: FloatArray) -> tuple[Ints, Ints]:
    """The most frequent value, and its count, of each group after one record with the value `own` has left."""
    first, second = groups.first[at], groups.second[at]
    first_count, second_count = groups.first_count[at] - (first == own), groups.second_count[at]
    is_ahead = (prior[second] > prior[first]) | ((prior[second] == prior[first]) & (second < first))
    overtakes = (second_count > first_count) | ((second_count == first_count) & is_ahead & (second_count > 0))
    return np.where(overtakes, second, first), np.where(overtakes, second_count, first_count)


# The attacker who looks a victim up in a tree: the most frequent sensitive value of the victim's leaf.


def lookup_in_leaf(tree: Tree) -> Predictions:
    """Predict for each person the value with the largest count in the leaf.

    Ties go to the value with more people in all leaves, then to the lower code. Negative noisy counts are 0; a leaf
    without a count above 0 gives the value with the most people in all leaves, and its share as the belief.

    Parameters
    ----------
    tree : Tree
        Its people are the victims.
    """
    boxes = tree.decomposition
    people = np.bincount(boxes.entry_value, np.maximum(boxes.entry_count, 0.0), boxes.n_values)
    total = people.sum()
    prior = people / total if total > 0 else np.full(boxes.n_values, 1 / boxes.n_values)
    value = np.full(boxes.n_boxes, prior.argmax())
    belief = np.full(boxes.n_boxes, prior.max())
    largest_counts(boxes.entries, prior, value, belief)
    return Predictions(value[tree.leaf_of], belief[tree.leaf_of])
