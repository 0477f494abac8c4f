"""A sentence that compares how far groups of workers commute, from a cross table with the distance of commutes.

Each group's share of workers who commute at least some distance is compared. The distance is the edge of bands at which
the share of all workers is closest to a half, so it does not depend on how the groups differ.

The expected error of a share follows to first order (the delta method) from those of its counts, as if the errors of
different cells were independent: with F far and N near workers of a group, whose errors are f and n, it is
sqrt((N f)² + (F n)²) / (F + N)².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas

from geodata.schema import COMMUTE_EDGES_MI
from mapapp.answers.attributes import Attribute, in_sentence
from mapapp.answers.finding_words import LEAST_WORKERS, capital
from mapapp.answers.records.certificate import NO_EDGE

if TYPE_CHECKING:
    from mapapp.answers.cross_table import CrossTable

DISTANCE: Final = "distance_band"
"""The attribute of worker records that says how far home and work are apart."""
_KEYS: Final = ("first", "second")
_COARSE: Final = 0.01
"""With at least this expected error, shares are shown in whole percent."""
_WEAK: Final = (
    "The model has no direct link between {title} and distance, so the real difference may be outside this ±."
)


@dataclass(frozen=True, slots=True)
class FarShare:
    """Which share of a group commutes at least some distance.

    Attributes
    ----------
    name : str
        The group.
    share, error : float
        Between 0 and 1; the error is NaN if it is not known.
    """

    name: str
    share: float
    error: float


def compared_distances(answer: CrossTable) -> str:
    """Return a sentence on which group commutes far most often; empty unless the table is of distance by one more."""
    at = next((place for place, each in enumerate(answer.attributes) if each.name == DISTANCE), None)
    if at is None or len(answer.attributes) != 2:
        return ""
    groups, edge = answer.attributes[1 - at], _middle_edge(answer.cells, _KEYS[at])
    shares = far_shares(answer.cells, groups, (_KEYS[1 - at], _KEYS[at]), edge)
    if len(shares) < 2:
        return ""
    far = f"{COMMUTE_EDGES_MI[edge - 1]:g} mile{'s' * (COMMUTE_EDGES_MI[edge - 1] != 1)} or more"
    return _sentence(shares, far, groups, is_linked=not answer.about.has_note(NO_EDGE))


def far_shares(
    cells: pandas.DataFrame, groups: Attribute, keys: tuple[str, str], edge: int
) -> list[FarShare]:
    """Return the share of each group that commutes at least to an edge, largest first.

    Parameters
    ----------
    cells : DataFrame
        Of a cross table.
    groups : Attribute
    keys : tuple of (str, str)
        Columns of the codes of groups and of distances.
    edge : int
        First band that is far, from 1.
    """
    found = []
    for code, label in zip(groups.codes, groups.labels, strict=True):
        mine = cells[cells[keys[0]] == code]
        is_far = mine[keys[1]].astype(int) >= edge
        far, near = mine[is_far], mine[~is_far]
        n_far, n_near = int(far["workers"].sum()), int(near["workers"].sum())
        if n_far + n_near < LEAST_WORKERS:
            continue
        errors = [math.hypot(*part["expected_error"].tolist()) for part in (far, near)]
        error = math.hypot(n_near * errors[0], n_far * errors[1]) / (n_far + n_near) ** 2
        found.append(FarShare(label, n_far / (n_far + n_near), error))
    return sorted(found, key=lambda each: -each.share)


def _middle_edge(cells: pandas.DataFrame, key: str) -> int:
    """Return the first far band: where the share of all workers beyond is closest to a half."""
    bands, workers = cells[key].astype(int), cells["workers"]
    whole = max(int(workers.sum()), 1)
    return min(
        range(1, len(COMMUTE_EDGES_MI) + 1),
        key=lambda edge: abs(int(workers[bands >= edge].sum()) / whole - 0.5),
    )


def _sentence(shares: Sequence[FarShare], far: str, groups: Attribute, *, is_linked: bool) -> str:
    most, least = shares[0], shares[-1]
    difference, error = most.share - least.share, math.hypot(most.error, least.error)
    digits = 0 if error >= _COARSE or math.isnan(error) else 1
    one, other = (f"“{each.name}” ({100 * each.share:.{digits}f}%)" for each in (most, least))
    extremes = f"the {in_sentence(groups.title)} groups with the largest and the smallest share"
    if math.isnan(error):
        both = f"{one} and {other}"
        subject = f"{both} are {extremes}" if len(shares) > 2 else f"{both} are the shares"
        return f"{subject} that commutes {far}; no ± is known here, so chance alone may have made the difference."
    points = f"{100 * difference:.{digits}f}"
    off = f"{points} percentage point{'s' * (points != '1')}, ±{max(100 * error, 0.1):.{digits}f}"
    if difference <= 2 * error:
        pair = f"{capital(extremes)} that commutes {far}, {one} and {other}," if len(shares) > 2 else ""
        pair = pair or f"By the share that commutes {far}, {one} and {other}"
        found = f"{pair} are too close to tell apart: they differ by {off}."
    elif len(shares) > 2:
        found = (
            f"{one} is the {in_sentence(groups.title)} group with the largest share that commutes {far}, and {other} "
            f"the one with the smallest: they differ by {off}."
        )
    else:
        found = (
            f"A larger share of the group {one} than of {other} commutes {far}: the shares differ by {off}."
        )
    return found if is_linked else f"{found} {_WEAK.format(title=in_sentence(groups.title))}"
