"""Home blocks placed again with the published test key, to recognize a release that was made with it.

Which support point a worker was drawn in follows from the published home. The block within it is then drawn by public
population, from words of the key's stream that belong to the worker's workplace, segment, and place among the workers
there. The places are not published. So a home agrees if any of the places gives its block under the test key. Under
another key this has a chance that is known exactly, and homes are independent given their support points.

Source: docs/theory/method.md, section 11.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.coarsening import LEVEL_REMAINDER, Coarsening
from engine.parameters import SynthesisParameters
from engine.placement import place_blocks
from engine.streams import SecretKey
from engine.synthesis import Synthesizers, SyntheticPoints
from mapapp.publishing.certificate.chance import most_by_chance
from mapapp.publishing.geography import Geography, Ints
from mapapp.publishing.inputs import Inputs
from mapapp.publishing.support import Support

__all__ = ["HomesOfKey"]

_MOST_WORKERS: Final = (1, 2, 4, 8)
"""Most workers of the synthesizers of each class: the fewer there are, the less agrees by chance."""
_ALARM: Final = 1e-9
"""False alarm rate of all classes together."""


class HomesOfKey:
    """Counts home blocks that the test key would have drawn, among workplaces and segments of up to 8 workers.

    Parameters
    ----------
    geography : Geography
    parameters : SynthesisParameters
        What the release says that it is made of.
    """

    def __init__(self, geography: Geography, parameters: SynthesisParameters) -> None:
        self._geography = geography
        self._mode = parameters.placement
        self._key = SecretKey.for_tests()
        n_classes = len(_MOST_WORKERS)
        self.n_compared = np.zeros(n_classes, dtype=np.int64)
        self.n_same = np.zeros(n_classes, dtype=np.int64)
        self.n_by_chance = np.zeros(n_classes)

    def add(self, homes: Inputs, support: Support) -> None:
        """Look at the homes of a batch."""
        coarsening = support.coarsening_of_homes
        point, _ = coarsening.find_homes(
            homes.tract, homes.worker_ptr, homes.worker_origin, self._geography.tract_of_block
        )
        for rank in range(1 if self._mode == "representative" else _MOST_WORKERS[-1]):
            self._add_rank(rank, homes, point, coarsening)

    def _add_rank(
        self, rank: int, homes: Inputs, point: npt.NDArray[np.int32], coarsening: Coarsening
    ) -> None:
        """Look at one worker of each synthesizer that has as many: the one of this rank among its homes."""
        chosen = np.flatnonzero((homes.count > rank) & (homes.count <= _MOST_WORKERS[-1]))
        worker = homes.worker_ptr[chosen] + rank
        at = coarsening.support_ptr[homes.tract[chosen]] + point[worker]
        is_placed = (point[worker] >= 0) & (coarsening.support_level[at] != LEVEL_REMAINDER)
        is_placed &= coarsening.support_population[at] > 0
        chosen, worker, at = chosen[is_placed], worker[is_placed], at[is_placed]
        if self._mode == "representative":  # workers of a tract and a point share one block
            _, first = np.unique(at, return_index=True)
            chosen, worker, at = chosen[first], worker[first], at[first]
        people = coarsening.support_population[at]
        found = self._agreeing(homes, chosen, (worker, point[worker]), coarsening, people)
        of_class = np.searchsorted(_MOST_WORKERS, homes.count[chosen])
        self.n_compared += np.bincount(of_class, minlength=len(_MOST_WORKERS))
        self.n_same += np.bincount(of_class[found.same], minlength=len(_MOST_WORKERS))
        self.n_by_chance += np.bincount(of_class, found.chance, len(_MOST_WORKERS))

    def _agreeing(
        self,
        homes: Inputs,
        chosen: Ints,
        worker: tuple[Ints, npt.NDArray[np.int32]],
        coarsening: Coarsening,
        people: Ints,
    ) -> _Agreement:
        """Whether the home of one worker (row, point) of each chosen synthesizer is as the test key draws it."""
        n_places, ptr = homes.count[chosen], np.append(0, np.cumsum(homes.count[chosen]))
        points = SyntheticPoints(synthetic_ptr=ptr, synthetic_point=np.repeat(worker[1], n_places))
        cells = Synthesizers(
            tract=homes.tract[chosen],
            destination=homes.destination[chosen],
            segment=homes.segment[chosen],
            worker_ptr=ptr,
            worker_point=points.synthetic_point,
            min_prior_weight=np.ones(chosen.size, dtype=np.int64),
        )
        block = place_blocks(
            self._key, cells, points, coarsening, self._geography.blocks, mode=self._mode
        ).astype(np.int64)
        owner = np.repeat(np.arange(chosen.size), n_places)
        same = np.zeros(chosen.size, dtype=np.bool_)
        same[owner[block == homes.worker_origin[worker[0]][owner]]] = True
        n_blocks = self._geography.n_blocks
        owner, block = np.divmod(np.unique(owner * n_blocks + block), n_blocks)
        residents = self._geography.blocks.block_population[block]
        chance = np.bincount(owner, residents / people[owner], chosen.size).astype(np.float64)
        return _Agreement(same, chance)

    @property
    def are_too_many(self) -> bool:
        """Whether more homes agree than would under another key, but once in a billion releases."""
        alarm = _ALARM / len(_MOST_WORKERS)
        rows = zip(self.n_compared.tolist(), self.n_by_chance.tolist(), self.n_same.tolist(), strict=True)
        return any(same > most_by_chance(n, mean, alarm) for n, mean, same in rows)


class _Agreement(NamedTuple):
    """Of some homes: whether they agree, and the chance of it under another key."""

    same: npt.NDArray[np.bool_]
    chance: npt.NDArray[np.float64]
