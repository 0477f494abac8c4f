"""What exact numbers of workers by workplace and segment say about single workers, whatever is done to homes.

Where all workers that a number counts together share a band of age or earnings, that band follows with certainty for
each of them. This reads no home. It is confidential where the numbers are, until somebody declares them public.

Source: docs/worker-records.md, "Numbers of jobs".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from geodata.store.public_counts import COUNTS_ARE_PUBLIC
from geodata.store.schema import N_SEGMENTS
from geodata.store.shown_margins import shown_segments
from geodata.store.store import Store
from mapapp.kinds.base.geography import Geography, Ints, Workplaces
from mapapp.kinds.base.inputs import read_counts

__all__ = ["CountExposure", "count_exposure", "exposure_of_counts"]

SMALL: Final = (3, 10)
"""Workplaces with fewer workers than each of these are counted."""
_AXES: Final = {"age": 1, "earnings": 2, "industry": 3}
_PERSONAL: Final = ("age", "earnings")
"""What is not about the workplace itself, as industry often is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountExposure:
    """How much follows from exact numbers of workers.

    Attributes
    ----------
    is_public : bool
        Whether the numbers are public; else all of this is confidential.
    n_workers, n_workplaces : int
    n_below : dict of int to int
        Workplaces with fewer workers than each of :data:`SMALL`.
    alone, given_others : dict of str to int
        Workers whose age or earnings band follows from the workplace alone, and from the workplace and the other
        bands that are shown, by name; only for bands that are shown.
    others : dict of str to tuple of str
        The other bands that are shown, by name.
    """

    is_public: bool
    n_workers: int
    n_workplaces: int
    n_below: dict[int, int]
    alone: dict[str, int]
    given_others: dict[str, int]
    others: dict[str, tuple[str, ...]]

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        return {
            "confidential": not self.is_public,
            "workplaces": self.n_workplaces,
            "workplaces_below": {str(size): number for size, number in self.n_below.items()},
            "bands_that_follow": {
                name: {"from_workplace": self.alone[name], "with_other_bands": self.given_others[name]}
                for name in self.alone
            },
        }

    def sentences(self) -> list[str]:
        """Sentences for an analyst, without the mark that they are confidential."""
        below = ", ".join(f"{number:,} have fewer than {size}" for size, number in self.n_below.items())
        return [f"Of {self.n_workplaces:,} workplaces, {below} workers.", *map(self._sentence, self.alone)]

    def _sentence(self, name: str) -> str:
        """For how many workers a band follows."""
        follows = f"The {name} band follows with certainty for {self._share(self.alone[name])} from the workplace alone"
        others = self.others[name]
        if not others:
            return f"{follows}."
        verb = "is" if len(others) == 1 else "are"
        return f"{follows}, and for {self._share(self.given_others[name])} if {' and '.join(others)} {verb} known, too."

    def lines(self) -> list[str]:
        """The same as lines of a dry run, marked unless the numbers are public."""
        mark = "" if self.is_public else "CONFIDENTIAL: "
        first, *others = self.sentences()
        return [f"  exact counts     {mark}{first}", *(f"                   {text}" for text in others)]

    def _share(self, number: int) -> str:
        return f"{number:,} workers ({number / self.n_workers:.1%})"


def exposure_of_counts(
    counts: Iterable[tuple[Ints, Ints, Ints]], *, shown: Sequence[str], is_public: bool
) -> CountExposure:
    """Count small workplaces, and workers whose bands follow from the numbers.

    Parameters
    ----------
    counts : iterable of (block, segment, number)
        Numbers of workers by workplace and segment, int64; each workplace in one part only, and each segment once.
    shown : sequence of str
        Which of age, earnings, and industry the segments tell apart.
    is_public : bool
    """
    names = [name for name in _PERSONAL if name in shown]
    n_below, alone, given_others = dict.fromkeys(SMALL, 0), dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    n_workers = n_workplaces = 0
    for block, segment, number in counts:
        distinct, place = np.unique(block, return_inverse=True)
        flat = np.bincount(place * N_SEGMENTS + segment, number, distinct.size * N_SEGMENTS).astype(np.int64)
        cube = flat.reshape(-1, 3, 3, 3)  # sums are exact below 2**53
        size = cube.sum(axis=(1, 2, 3))
        n_workers += int(size.sum())
        n_workplaces += distinct.size
        for limit in SMALL:
            n_below[limit] += int((size < limit).sum())
        for name in names:
            others = tuple(axis for other, axis in _AXES.items() if other != name)
            alone[name] += _in_one_band(cube.sum(axis=others), axis=1)
            given_others[name] += _in_one_band(cube, axis=_AXES[name])
    return CountExposure(
        is_public=is_public,
        n_workers=n_workers,
        n_workplaces=n_workplaces,
        n_below=n_below,
        alone=alone,
        given_others=given_others,
        others={name: tuple(other for other in shown if other != name) for name in names},
    )


def _in_one_band(counts: Ints, *, axis: int) -> int:
    """Workers in groups all of whose workers are in one band of an axis."""
    whole = counts.sum(axis=axis)
    return int(whole[counts.max(axis=axis) == whole].sum())


def count_exposure(store: Store, geography: Geography, workplaces: Workplaces) -> CountExposure:
    """Count what follows from the numbers of workers of a dataset; no home is read."""
    batches = (read_counts(store, geography, workplaces, batch) for batch in range(workplaces.n_batches))
    return exposure_of_counts(
        ((batch.destination, batch.segment, batch.count) for batch in batches),
        shown=shown_segments(store.manifest),
        is_public=store.manifest.get(COUNTS_ARE_PUBLIC, "") is not None,
    )
