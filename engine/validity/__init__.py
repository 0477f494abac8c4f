"""How far synthetic commutes are from the real ones: the measures of P10, arrays in, arrays out.

`grid` defines the 29 cells, `closed_form` computes the expected draws of a setting, `divergence` compares two
distributions, `support` describes the domain, and `flows` adds up errors of counts. Results computed from workers are
confidential.

Source: P10 "Analytical Validity Measures"; docs/theory/method.md, section 10.
"""

from engine.validity.closed_form import (
    CellShares,
    MeasuredWorkers,
    PriorClasses,
    cell_shares,
    expected_means,
    prior_cells,
)
from engine.validity.divergence import (
    SMALL_WORKPLACE,
    imse,
    kl_divergence,
    kl_of_counts,
    squared_error,
    total_variation,
    weighted_mean,
)
from engine.validity.flows import (
    FLOW_SIZES,
    N_TOP,
    FlowErrors,
    PairCounts,
    TopAreas,
    flow_errors,
    pair_counts,
    top_areas,
)
from engine.validity.grid import (
    BAND_EDGES_MI,
    CELL_RANGE,
    N_CELLS,
    QUADRANTS,
    RANGES,
    cell_counts,
    grid_cells,
    point_cells,
    range_mass,
)
from engine.validity.support import DOMAIN_RANGES, LEVELS, count_points, positive_shares

__all__ = [
    "BAND_EDGES_MI",
    "CELL_RANGE",
    "DOMAIN_RANGES",
    "FLOW_SIZES",
    "LEVELS",
    "N_CELLS",
    "N_TOP",
    "QUADRANTS",
    "RANGES",
    "SMALL_WORKPLACE",
    "CellShares",
    "FlowErrors",
    "MeasuredWorkers",
    "PairCounts",
    "PriorClasses",
    "TopAreas",
    "cell_counts",
    "cell_shares",
    "count_points",
    "expected_means",
    "flow_errors",
    "grid_cells",
    "imse",
    "kl_divergence",
    "kl_of_counts",
    "pair_counts",
    "point_cells",
    "positive_shares",
    "prior_cells",
    "range_mass",
    "squared_error",
    "top_areas",
    "total_variation",
    "weighted_mean",
]
