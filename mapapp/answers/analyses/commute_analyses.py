"""Analyses of commutes: where they lead, how far, and between which areas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas

from mapapp.answers import words
from mapapp.answers.analyses import counts as counted
from mapapp.answers.analyses.about import Note, far_notes
from mapapp.answers.analyses.measures import Miles
from mapapp.answers.analyses.picks_of_numbers import CellPicks, by_unit
from mapapp.answers.analyses.results import (
    Destinations,
    DistanceDirection,
    FlowMatrix,
    InflowOutflow,
    PairedAreas,
)
from mapapp.answers.areas.argument import Given
from mapapp.answers.areas.selection import Selected
from mapapp.answers.commutes.pick import Pick
from mapapp.answers.commutes.prepared import DIRECTIONS
from mapapp.answers.opened_release import ALL_WORKERS, OpenedRelease
from mapapp.question.distance_bands import EDGES_MI, band_labels, check_edges
from mapapp.question.fields import USUAL, Side
from mapapp.question.filters import Filters
from mapapp.question.question import EVERYTHING, OTHER_END

GROUPS: Final = {
    "inflow": "Work here, live elsewhere",
    "outflow": "Live here, work elsewhere",
    "stay": "Live and work here",
}


class CommuteAnalyses(OpenedRelease):
    """Destinations, distance and direction, inflow and outflow, paired areas, and the flow matrix."""

    def destinations(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        layer: str = USUAL,
        errors: bool = False,
    ) -> Destinations:
        """Count the other ends of an area's commutes: its workers' homes (side "work") or its residents' workplaces.

        Examples
        --------
        >>> homes = release.destinations("Tarnwick city", layer="county").to_frame()
        >>> int(homes["workers"].sum())
        831
        """
        chosen = self._select(area)
        units = self._layer(layer, OTHER_END[side], there=chosen)
        workers = units.of(*self.flows.by_block(Pick.at(side, chosen.blocks, filters), OTHER_END[side]))
        table = counted.unit_table(units, workers)
        answer = Destinations(
            about=self._about("destinations", chosen, filters, side, far_notes(table)),
            layer=units.level,
            workers=counted.number(int(workers.sum())),
            units=table,
        )
        return self._finish_answer(answer, errors)

    def distance_direction(
        self,
        area: Given = EVERYTHING,
        filters: Filters = ALL_WORKERS,
        *,
        side: Side = "work",
        edges_mi: Sequence[float] = EDGES_MI,
        errors: bool = False,
    ) -> DistanceDirection:
        """Count an area's commutes by distance and direction to their other ends.

        Raises
        ------
        UsageError
            Also if the edges do not increase from above 0, or there are more than 20.

        Examples
        --------
        >>> release.distance_direction("Tarnwick city", edges_mi=(5, 20)).bands["label"].tolist()
        ['Under 5 miles', '5 to 20 miles', '20 miles or more']
        """
        edges = check_edges(edges_mi)
        chosen = self._select(area)
        pick = Pick.at(side, chosen.blocks, filters)
        distances = self.flows.distances(pick, side, edges, own_block=False)
        n = int(distances.workers.sum())
        labels, directions = band_labels(edges), words.DIRECTION_NAMES.values()
        cells = pandas.DataFrame(
            {
                "band": np.repeat(np.arange(len(labels)), len(DIRECTIONS)),
                "band_label": np.repeat(labels, len(DIRECTIONS)),
                "direction": np.tile(DIRECTIONS, len(labels)),
                **counted.columns(distances.workers.ravel(), n),
            }
        )
        notes = (
            Note(
                "internal-points",
                "Distances and directions are measured between internal points of blocks; "
                "a home outside the imported area counts as the middle of its state.",
            ),
        )
        answer = DistanceDirection(
            about=self._about("distance-direction", chosen, filters, side, notes),
            workers=counted.number(n),
            median_mi=Miles(distances.median_mi),
            mean_under_100_mi=Miles(distances.mean_near_mi),
            edges_mi=edges,
            cells=cells,
            bands=counted.label_rows("band", range(len(labels)), labels, distances.workers.sum(axis=1)),
            directions=counted.label_rows("direction", DIRECTIONS, directions, distances.workers.sum(axis=0)),
        )
        return self._finish_answer(answer, errors)

    def inflow_outflow(
        self, area: Given, filters: Filters = ALL_WORKERS, *, errors: bool = False
    ) -> InflowOutflow:
        """Count the workers who enter an area to work, leave it to work, or live and work in it.

        Examples
        --------
        >>> answer = release.inflow_outflow("Tarnwick city")
        >>> answer.inflow + answer.stay == answer.employed
        True
        """
        chosen = self._select(area)
        works, lives, stay = self.flows.by_segment_at_ends(chosen.blocks, filters)
        counts = {"inflow": works - stay, "outflow": lives - stay, "stay": stay}
        n = {name: int(workers.sum()) for name, workers in counts.items()}
        living, employed = n["outflow"] + n["stay"], n["inflow"] + n["stay"]
        number = counted.number
        # A difference is as certain as its smaller part; if only one part is 0, it counts as 1.
        fewest = max(min(n["inflow"], n["outflow"]), min(n["inflow"] + n["outflow"], 1))
        net = replace(number(n["inflow"] - n["outflow"]), caution=number(fewest).caution)
        answer = InflowOutflow(
            about=self._about("inflow-outflow", chosen, filters, None, self._cover_notes()),
            inflow=number(n["inflow"]),
            outflow=number(n["outflow"]),
            stay=number(n["stay"]),
            employed=number(employed),
            living=number(living),
            net_inflow=net,
            stay_of_living=n["stay"] / living if living else None,
            stay_of_employed=n["stay"] / employed if employed else None,
            groups=counted.label_rows("group", GROUPS, GROUPS.values(), list(n.values())),
            segments=counted.bands_by_group(counts, self.attributes.shown),
        )
        return self._finish_answer(answer, errors)

    def paired(
        self,
        home_area: Given,
        work_area: Given | None = None,
        filters: Filters = ALL_WORKERS,
        *,
        edges_mi: Sequence[float] = EDGES_MI,
        errors: bool = False,
    ) -> PairedAreas:
        """Count the workers who live in one area and work in another; the areas may overlap.

        Without a second area, both ends are in the first.

        Examples
        --------
        >>> answer = release.paired("Petrelstead city", "Tarnwick city")
        >>> 0 <= answer.workers <= answer.employed
        True
        """
        edges = check_edges(edges_mi)
        home = self._select(home_area)
        work = home if work_area is None else self._select(work_area)
        pick = Pick(home=home.blocks, work=work.blocks, filters=filters)
        counts, bands, median_mi = self.flows.of_pair(pick, edges)
        n = int(counts.sum())
        living = int(self.flows.by_segment(Pick(home=home.blocks, filters=filters)).sum())
        employed = int(self.flows.by_segment(Pick(work=work.blocks, filters=filters)).sum())
        labels = band_labels(edges)
        answer = PairedAreas(
            about=self._about_pair("paired", home, work, filters),
            home_area=home.name,
            work_area=work.name,
            workers=counted.number(n),
            living=counted.number(living),
            employed=counted.number(employed),
            share_of_living=n / living if living else None,
            share_of_employed=n / employed if employed else None,
            median_mi=Miles(median_mi),
            bands=counted.bands(counts, self.attributes.shown),
            distances=counted.label_rows("band", range(len(labels)), labels, bands),
            edges_mi=edges,
        )
        return self._finish_answer(answer, errors)

    def flow_matrix(
        self,
        home_layer: str = USUAL,
        work_layer: str = USUAL,
        filters: Filters = ALL_WORKERS,
        *,
        home_area: Given = EVERYTHING,
        work_area: Given = EVERYTHING,
        errors: bool = False,
    ) -> FlowMatrix:
        """Count workers from every unit of one layer to every unit of another, within given areas or everywhere.

        Examples
        --------
        >>> int(release.flow_matrix("county", "county").workers)
        3000
        """
        home, work = self._select(home_area), self._select(work_area)
        homes = self._layer(home_layer, "home", here=home, there=work)
        works = self._layer(work_layer, "work", here=work, there=home)
        parts = list(self.flows.matrix(_pick(home, work, filters), homes.code, works.code))
        from_unit, to_unit, n = (
            np.concatenate([part[place] for part in parts]) if parts else np.empty(0, dtype=np.int64)
            for place in range(3)
        )
        total = int(n.sum())
        margins = [
            np.bincount(code, weights=n, minlength=len(units.rows)).astype(np.int64)
            for code, units in ((from_unit, homes), (to_unit, works))
        ]
        answer = FlowMatrix(
            about=self._about_pair("flow-matrix", home, work, filters),
            home_layer=homes.level,
            work_layer=works.level,
            workers=counted.number(total),
            cells=counted.pair_table(homes, works, (from_unit, to_unit, n), total),
            homes=counted.unit_table(homes, margins[0]),
            works=counted.unit_table(works, margins[1]),
        )
        return self._finish_answer(answer, errors)

    def flow_matrix_parts(
        self,
        home_layer: str = USUAL,
        work_layer: str = USUAL,
        filters: Filters = ALL_WORKERS,
        *,
        home_area: Given = EVERYTHING,
        work_area: Given = EVERYTHING,
        error_rows: int = 0,
    ) -> Iterator[pandas.DataFrame]:
        """Yield the `cells` of a flow matrix for export, in parts of about 100,000 rows, most workers first.

        The first `error_rows` rows have an expected error.
        """
        home, work = self._select(home_area), self._select(work_area)
        homes = self._layer(home_layer, "home", here=home, there=work)
        works = self._layer(work_layer, "work", here=work, there=home)
        pick = _pick(home, work, filters)
        total = int(self.flows.by_segment(pick).sum())
        pick_of = CellPicks(pick, by_unit(pick, "home", homes), by_unit(pick, "work", works))
        for part in self.flows.matrix(pick, homes.code, works.code):
            yield self.errors.of_pairs(counted.pair_table(homes, works, part, total), pick_of, error_rows)
            error_rows -= len(part[0])


def _pick(home: Selected, work: Selected, filters: Filters) -> Pick:
    return Pick(home=home.blocks, work=work.blocks, filters=filters)
