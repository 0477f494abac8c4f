"""Tables that the analyst considers: planned from public inputs, expected for any promise, and counted on request.

Planning and expecting read workplaces, numbers of workers, and the prior. Only :func:`actual_table` reads homes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.suppression.sum_tree import DecidedTree
from engine.suppression.suppressed import share_delta
from geodata.store.manifest import MANIFEST
from geodata.store.store import Store
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.levels import LEVEL_LABELS
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.base.result_cache import ResultCache
from mapapp.kinds.tables.make.counts import count_people, count_values, read_ground
from mapapp.kinds.tables.make.decide import Rule, Sealed, decide_twice
from mapapp.kinds.tables.make.expected import ExpectedTable, expected_table
from mapapp.kinds.tables.make.nodes import Nodes, nodes_of
from mapapp.kinds.tables.make.prior import Planned, open_prior, plan_table
from mapapp.kinds.tables.make.spec import TableSpec

__all__ = [
    "DELTAS",
    "EPSILONS",
    "ActualTable",
    "CountedTable",
    "TablePlans",
    "actual_table",
    "expected_shift",
    "released_shares",
    "spec_of",
]

EPSILONS: Final = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9")
DELTAS: Final = ("0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03", "0.1", "0.3")
"""The promises of the map over epsilon and delta."""
_KEPT_PLANS: Final = 8

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def spec_of(given: Mapping[str, object]) -> TableSpec:
    """The table that the controls describe.

    Parameters
    ----------
    given : mapping
        `rows`, `columns` (names joined by commas), `counts` ("same-unit", "outside-state", "beyond" or "flows"), and
        `miles` of "beyond".

    Raises
    ------
    UsageError
        A value is missing or not allowed.
    """
    rows, counts = str(given["rows"]), str(given["counts"])
    if counts == "flows":
        return TableSpec.from_options({"rows": rows, "flows": rows})
    if counts == "beyond":
        counts = f"beyond={given['miles']}"
    return TableSpec.from_options({"rows": rows, "columns": given["columns"], "counts": counts})


class TablePlans:
    """Planned tables of a dataset; what was planned last is kept. Safe to use from several threads.

    Parameters
    ----------
    store : Store
        The dataset.
    areas : Areas
        Its units.

    Attributes
    ----------
    layers : list of str
        Layers that rows can be.
    usual_rows : str
        The one that people name: towns or places, or else counties.
    """

    def __init__(self, store: Store, areas: Areas) -> None:
        self.store = store
        self.layers = [level for level in LEVEL_LABELS if level in areas.columns]
        self.usual_rows = areas.usual.named
        self._areas = areas
        self._plans: ResultCache[Nodes] = ResultCache(max_entries=_KEPT_PLANS)
        self._shares: ResultCache[Floats] = ResultCache(max_entries=_KEPT_PLANS)

    def nodes(self, spec: TableSpec, prior: str) -> Nodes:
        """All decisions of a table in order, from public inputs alone.

        Raises
        ------
        UsageError, StoreError, SourceFileError
            The prior cannot be used, or the dataset has no such layer.
        """
        key = _key(spec, prior)
        return self._plans.get_or_make(key, lambda: self._make_nodes(spec, key[1]))

    def shares(self, spec: TableSpec, prior: str) -> Floats:
        """Expected share of people in released cells, as :func:`released_shares` has it; raises as :meth:`nodes`."""
        nodes = self.nodes(spec, prior)
        return self._shares.get_or_make(_key(spec, prior), lambda: released_shares(nodes))

    def _make_nodes(self, spec: TableSpec, path: Path) -> Nodes:
        prior = open_prior(path, self.store)
        ground = read_ground(self.store, spec, self._areas)
        plan = plan_table(spec, ground, count_people(self.store, spec, ground), prior)
        return nodes_of(plan, [spec], [ground], remainders=not spec.flows)


def _key(spec: TableSpec, prior: str) -> tuple[TableSpec, Path, int]:
    """What a plan depends on: the table, its prior, and when that was changed."""
    if not prior.strip():
        raise UsageError("the prior is missing: give the path of an earlier release or of a CSV file")
    path = Path(prior.strip()).expanduser()
    marked = path / MANIFEST if path.is_dir() else path
    if not marked.is_file():
        raise UsageError(f"{path}: not a release and not a file; give the path of a prior on this machine")
    return spec, path, marked.stat().st_mtime_ns


def released_shares(nodes: Nodes) -> Floats:
    """Expected share of people in released cells: a row for each of `DELTAS`, a column for each of `EPSILONS`."""
    return np.array(
        [
            [
                expected_table(nodes, Fraction(epsilon), Fraction(delta)).share_of_people
                for epsilon in EPSILONS
            ]
            for delta in DELTAS
        ]
    )


def expected_shift(plan: Planned) -> Floats:
    """Root mean square of a person's shift if the count of each cell were released, by the prior: float64[C].

    The shift is that of the rarer value, |1 - posterior / prior|. A count of b people at rate p has the variance
    b p (1 - p), and the posterior is the count divided by b.
    """
    rate = plan.rates.numerator / plan.rates.denominator
    rarer = np.minimum(rate, 1 - rate)
    return np.asarray(np.sqrt(rate * (1 - rate) / plan.people) / rarer, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActualTable:
    """A table counted from real homes: confidential.

    Attributes
    ----------
    epsilon : Fraction
    released : bool[C]
        Cells that would be published.
    outside : bool[C]
        Those of them that lie outside their safe interval; the table stops at the first.
    stop : int
        Position of that cell; the number of cells if there is none.
    shift : float64[C]
        The shift of the people of each released cell; NaN elsewhere, and for flows.
    """

    epsilon: Fraction
    released: Bools
    outside: Bools
    stop: int
    shift: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedTable:
    """What a tab's job counted: confidential.

    Attributes
    ----------
    asked : tuple
        The controls that describe the table and its promise.
    expected : ExpectedTable
    actual : ActualTable
    """

    asked: tuple[object, ...]
    expected: ExpectedTable
    actual: ActualTable


def actual_table(
    store: Store, nodes: Nodes, epsilon: Fraction, delta: Fraction, report: Report = silent
) -> ActualTable:
    """Count a table from real homes, and decide it as publishing would."""
    plan = nodes.plan
    counted = count_values(store, plan.spec, plan.ground, report)[plan.row, plan.column]
    report("deciding", 0, 0)
    decided, _ = decide_twice(nodes, Sealed(counted), Rule(epsilon, share_delta(delta, len(nodes))), report)
    released, outside = _cells(nodes, decided, counted)
    places = np.flatnonzero(outside)
    shift = np.full(counted.size, np.nan)
    if not plan.spec.flows:
        rate = plan.rates.numerator / plan.rates.denominator
        share = counted / plan.people
        both = np.maximum(np.abs(1 - share / rate), np.abs(1 - (1 - share) / (1 - rate)))
        shift[released] = both[released]
    return ActualTable(
        epsilon=epsilon,
        released=released,
        outside=outside,
        stop=int(places[0]) if places.size else counted.size,
        shift=shift,
    )


def _cells(nodes: Nodes, decided: DecidedTree, counted: Ints) -> tuple[Bools, Bools]:
    """Which cells are released, and which of these are outside their safe interval."""
    cells = nodes.cells
    released = decided.released[cells]
    inside = (counted >= decided.low[cells]) & (counted <= decided.high[cells])
    return released, released & ~inside
