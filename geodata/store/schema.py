"""The tables of the stores: their names, columns and types, which all parts of the program rely on.

A *dataset* is confidential. Public are a *release* (synthetic jobs), a *table* (counts with suppressed cells),
*records* (one row a synthetic worker) and *published* counts (jobs as somebody else published them). Each is a
directory of Parquet tables beside a `manifest.json`. Positions (`*_index`) count rows of the named table from zero;
identifiers (`*_id`) are text.

Conventions
-----------
`blocks` is sorted by `tract_id`, then `block_id`; `tracts`, `pumas`, `superpumas`, `counties` and `states` by
their identifier. A home outside the imported area belongs to a state-level *elsewhere* unit: one row of
`blocks`, `tracts`, `pumas`, `superpumas`, `counties` and `states` whose every identifier is the two-digit
state code, with `elsewhere` true, no geometry, and the state's centre as its place. Every state that is not
imported has one, even without homes there: which units exist must not depend on confidential homes.

`jobs`, `points` and `records` are sorted by `destination_index`, and a Parquet row group of each ends where a
destination does, so that they can be read some destinations at a time (`Store.row_ptr`, `Store.slice`). Within a
destination the rows of `jobs` are written by segment, then origin, and may be read in any order; no two are for the
same segment and origin.

`workers`, which a dataset may have, is sorted like `jobs` and cut into row groups in the same way. `jobs` counts its
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas

SCHEMA_VERSION = 1
CRS = "EPSG:4326"

StoreKind = Literal["dataset", "release", "table", "records", "published"]
_Code = TypeVar("_Code", int, "npt.NDArray[np.int64]", "npt.NDArray[np.int8]", "pandas.Series")

AGE_BANDS = ("29 or younger", "30 to 54", "55 or older")
EARNINGS_BANDS = ("$1,250 a month or less", "$1,251 to $3,333 a month", "More than $3,333 a month")
INDUSTRY_GROUPS = ("Goods producing", "Trade, transportation and utilities", "All other services")
JOB_LABELS: dict[str, tuple[str, str, str]] = {
    "age": AGE_BANDS,
    "earnings": EARNINGS_BANDS,
    "industry": INDUSTRY_GROUPS,
}
"""The three attributes of every job, and the labels of their codes 1 to 3."""
N_SEGMENTS = 27
COMMUTE_EDGES_MI = (1, 4, 10, 25, 100, 500)
"""Ends of the distance bands of worker records, miles; the last band has no end."""


class FurtherColumns(NamedTuple):
    """Columns that a table may have beyond those that the schema names: how their names begin, and their dtype."""

    prefix: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a store.

    Attributes
    ----------
    name : str
        Also the file name, with `.parquet` appended.
    columns : dict of str to str
        Pandas dtype by column name; `further` columns may follow.
    geometry : bool
        Whether there is a `geometry` column (EPSG:4326; polygons, but lines in `roads` and `rails`), written as
        GeoParquet.
    further : FurtherColumns, optional
        Columns beyond the named ones that are allowed; by default none are.
    bounds : dict of str to tuple of int
        Least and greatest value of columns that only this table has; `BOUNDS` has those of the others.
    keys : tuple of str
        Columns by which the rows are sorted first; each combination of their values is one row group.
    """

    name: str
    columns: dict[str, str]
    geometry: bool = False
    further: FurtherColumns | None = None
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    keys: tuple[str, ...] = ()

    def allows(self, name: str) -> bool:
        """Return whether a column beyond the named ones may have this name."""
        return self.further is not None and name.startswith(self.further.prefix)


_UNIT = {
    "name": "str",
    "population": "int64",
    "lon_deg": "float64",
    "lat_deg": "float64",
    "elsewhere": "bool",
}

BLOCKS = Table(
    "blocks",
    {
        "block_id": "str",
        "tract_id": "str",
        "puma_id": "str",
        "superpuma_id": "str",
        "county_id": "str",
        "state_id": "str",
        "tract_index": "int32",
        "lon_deg": "float64",
        "lat_deg": "float64",
        "population": "int64",
        "elsewhere": "bool",
    },
    further=FurtherColumns("layer_", "str"),  # `layer_<code>` for each further layer of the crosswalk
)
TRACTS = Table(
    "tracts",
    {
        "tract_id": "str",
        "puma_id": "str",
        "superpuma_id": "str",
        "county_id": "str",
        "state_id": "str",
        "puma_index": "int32",
        "superpuma_index": "int32",
        **_UNIT,
        "derived": "bool",  # the polygon is the union of block cells, not a published boundary
    },
    geometry=True,
)
PUMAS = Table("pumas", {"puma_id": "str", "superpuma_id": "str", "state_id": "str", **_UNIT}, geometry=True)
SUPERPUMAS = Table("superpumas", {"superpuma_id": "str", "state_id": "str", **_UNIT}, geometry=True)
COUNTIES = Table("counties", {"county_id": "str", "state_id": "str", **_UNIT}, geometry=True)
STATES = Table("states", {"state_id": "str", **_UNIT}, geometry=True)
CELLS = Table("cells", {"block_index": "int32"}, geometry=True)  # every block that is not elsewhere, in order
LAYERS = Table("layers", {"layer": "str", "unit_id": "str", "name": "str"})  # names of the `layer_` units
JOBS = Table(
    "jobs",
    {
        "destination_index": "int32",  # row of `blocks`: the workplace
        "origin_index": "int32",  # row of `blocks`: the home
        "age": "int8",  # 1..3, AGE_BANDS
        "earnings": "int8",  # 1..3, EARNINGS_BANDS
        "industry": "int8",  # 1..3, INDUSTRY_GROUPS
        "count": "int32",
    },
)
WORKERS = Table(
    "workers",  # one row a worker; see `workers_table` for its further columns
    {name: dtype for name, dtype in JOBS.columns.items() if name != "count"},
)
PRIOR = Table(
    "prior",
    {
        "destination_tract_index": "int32",  # row of `tracts`
        "origin_tract_index": "int32",
        "weight": "float64",  # workers in the public flow table
    },
)
POINTS = Table(
    "points",  # one row a synthetic worker, sorted by destination_index
    {
        "destination_index": "int32",
        "origin_index": "int32",
        "segment": "int8",  # 0..26, see `segment_code`
        "home_lon_deg": "float32",  # NaN for elsewhere units: they have no polygon
        "home_lat_deg": "float32",
        "work_lon_deg": "float32",
        "work_lat_deg": "float32",
    },
)

RECORDS = Table(
    "records",  # one row a synthetic worker; row i is the worker of row i of `points`
    {
        "destination_index": "int32",
        "origin_index": "int32",
        "age": "int8",  # as in `jobs`; 1 where the dataset has no segments, so that the attribute was dropped
        "earnings": "int8",
        "industry": "int8",
        "distance_band": "int8",  # 0..6, between COMMUTE_EDGES_MI, as drawn: the home was placed to fit it
    },
    further=FurtherColumns("", "int16"),  # one for each further attribute: the position of its value, from 0
)

LABELS = Table(
    "labels",  # of a release drawn as a cascade: the drawn groups of support points, by unit, sorted by all but count
    {
        "destination_index": "int32",
        "segment": "int8",  # 0..26; 0 where the workers of a block were drawn together
        "cluster": "int32",
        "count": "int32",
    },
    bounds={"cluster": (0, 2**20 - 1)},
)
TABLE_CELLS = Table(
    "table_cells",  # one row a cell, total or remainder, in the order of decision
    {
        "table": "int16",  # position in the certificate's `tables`
        "kind": "str",  # one of CELL_KINDS
        "row_id": "str",  # unit of the table's row layer; empty for column totals and the grand total
        "row": "str",  # its name
        "column_id": "str",  # codes of the columns joined by ".", or the home unit of a flow; empty for row totals
        "column": "str",  # its label
        "people": "int64",  # public
        "value": "int64",  # -1 where suppressed
        "state": "str",  # one of CELL_STATES
        "low": "int64",  # safe interval of the value at the time of the decision;
        "high": "int64",  # low > high: no value is safe
    },
)
TABLE_PRIOR = Table(
    "table_prior",  # one row for each group of people with one prior rate: the finest cells of a table
    {
        "table": "int16",
        "row_id": "str",
        "column_id": "str",
        "people": "int64",
        "numerator": "int64",  # the rate as a fraction
        "denominator": "int64",
    },
)

WATER = Table("water", {"name": "str", "kind": "str"}, geometry=True)  # kind: one of WATER_KINDS
ROADS = Table("roads", {"name": "str", "rank": "int8"}, geometry=True)  # rank: 1 primary, 2 secondary
RAILS = Table("rails", {"name": "str"}, geometry=True)
LANDMARKS = Table(
    "landmarks",
    {
        "name": "str",
        "kind": "str",  # one of LANDMARK_KINDS
        "county_id": "str",  # empty if no county of the store holds it
        "lon_deg": "float64",
        "lat_deg": "float64",
    },
)

CHARACTERISTIC_CODES = (
    "C000",
    *(f"CA{number:02d}" for number in (1, 2, 3)),
    *(f"CE{number:02d}" for number in (1, 2, 3)),
    *(f"CNS{number:02d}" for number in range(1, 21)),
    *(f"CR{number:02d}" for number in (1, 2, 3, 4, 5, 7)),
    *(f"CT{number:02d}" for number in (1, 2)),
    *(f"CD{number:02d}" for number in (1, 2, 3, 4)),
    *(f"CS{number:02d}" for number in (1, 2)),
    *(f"CFA{number:02d}" for number in range(1, 6)),
    *(f"CFS{number:02d}" for number in range(1, 6)),
)
"""Columns of counts of a LODES file of workplace characteristics; a file of residences lacks CFA and CFS."""
CHARACTERISTIC_COUNTS = Table(
    "characteristic_counts",  # published counts of LODES above 0; nothing here is counted for a release
    {
        "end": "int8",  # 0: of the jobs at the block (WAC); 1: of those that its residents hold (RAC)
        "segment": "int8",  # position in `characteristic_groups.SEGMENTS`: which workers the file is about
        "code": "int8",  # position in CHARACTERISTIC_CODES: which of their jobs
        "block_index": "int32",  # ascending
        "count": "int32",
    },
    bounds={"end": (0, 1), "segment": (0, 9), "code": (0, len(CHARACTERISTIC_CODES) - 1)},
    keys=("end", "segment", "code"),
)
CHARACTERISTICS = Table(
    "characteristics",  # the same of all workers, with zeros, as earlier versions wrote it
    {
        "block_index": "int32",
        "end": "str",  # "work": of the jobs at the block; "home": of those that its residents hold
        **dict.fromkeys(CHARACTERISTIC_CODES, "int32"),
    },
    bounds=dict.fromkeys(CHARACTERISTIC_CODES, (0, 2**31 - 1)),
)

GEOGRAPHY = (BLOCKS, TRACTS, PUMAS, SUPERPUMAS, COUNTIES, STATES, CELLS, LAYERS)
PUBLIC_TABLES = (*GEOGRAPHY, PRIOR)  # the same in a dataset and in its releases; `certify` needs them all
TABLES: dict[StoreKind, tuple[Table, ...]] = {
    "dataset": (*PUBLIC_TABLES, JOBS),
    "release": (*PUBLIC_TABLES, JOBS, POINTS),
    "table": (*GEOGRAPHY, TABLE_CELLS, TABLE_PRIOR),
    "records": (*PUBLIC_TABLES, JOBS, POINTS, RECORDS),
    "published": (*GEOGRAPHY, JOBS, POINTS),
}
BASE_TABLES = (WATER, ROADS, RAILS, LANDMARKS)
"""Tables of the base map, by which nothing is counted: the same in a dataset and in its publications."""
COPIED_TABLES = (*BASE_TABLES, CHARACTERISTICS, CHARACTERISTIC_COUNTS)
"""Public tables that a dataset may have, and its publications then have as well."""
OPTIONAL_TABLES: dict[StoreKind, tuple[Table, ...]] = {
    "dataset": (*COPIED_TABLES, WORKERS),
    "release": (*COPIED_TABLES, LABELS),
    "table": COPIED_TABLES,
    "records": COPIED_TABLES,
    "published": COPIED_TABLES,
}
"""Tables that a store of each kind may lack; `Store.table` then returns one without rows."""
CELL_KINDS = ("cell", "row_total", "column_total", "grand_total", "remainder")
CELL_STATES = ("released", "suppressed", "derived")
WATER_KINDS = ("ocean", "bay", "lake", "river")
LANDMARK_KINDS = (
    "place",  # a populated place: town, village, or neighborhood
    "university",
    "school",
    "hospital",
    "airport",
    "station",
    "park",
    "military",
    "island",
    "cape",
    "beach",
    "summit",
)

IDENTIFIER = {
    "blocks": "block_id",
    "tracts": "tract_id",
    "pumas": "puma_id",
    "superpumas": "superpuma_id",
    "counties": "county_id",
    "states": "state_id",
}
"""The column that identifies the units of a table; tables of smaller units have a column of the same name."""

INDEX_OF = {
    "tract_index": "tracts",
    "puma_index": "pumas",
    "superpuma_index": "superpumas",
    "block_index": "blocks",
    "destination_index": "blocks",
    "origin_index": "blocks",
    "destination_tract_index": "tracts",
    "origin_tract_index": "tracts",
}
"""Columns that hold positions, and the table whose rows they count."""

BOUNDS = {
    "age": (1, 3),
    "earnings": (1, 3),
    "industry": (1, 3),
    "segment": (0, N_SEGMENTS - 1),
    "distance_band": (0, len(COMMUTE_EDGES_MI)),
    "count": (1, 2**31 - 1),
    "population": (0, 2**53),
    "weight": (0.0, 2.0**53),
    "rank": (1, 2),
    "table": (0, 2**15 - 1),
    "people": (0, 2**53),
    "value": (-1, 2**53),
    "low": (-1, 2**53),
    "high": (-1, 2**53),
    "numerator": (0, 2**31 - 1),
    "denominator": (1, 2**31 - 1),
    **dict.fromkeys(("lon_deg", "home_lon_deg", "work_lon_deg"), (-180.0, 180.0)),
    **dict.fromkeys(("lat_deg", "home_lat_deg", "work_lat_deg"), (-90.0, 90.0)),
}
"""Least and greatest value of other columns that hold numbers."""
MAY_BE_NAN = ("home_lon_deg", "home_lat_deg")
"""Columns in which NaN, or a missing value, means that there is no place."""

LAYER_LABELS = {
    "bgrp": "Block group",
    "cbsa": "Metropolitan or micropolitan area",
    "zcta": "ZIP code area",
    "stplc": "Place (city or town)",
    "ctycsub": "County subdivision",
    "stcd": "Congressional district",
    "stsldl": "State legislative district, lower chamber",
    "stsldu": "State legislative district, upper chamber",
    "stschool": "School district, unified or elementary",
    "stsecon": "School district, secondary",
    "trib": "American Indian, Alaska Native or Native Hawaiian area",
    "tsub": "Tribal subdivision",
    "stanrc": "Alaska Native regional corporation",
    "necta": "New England city and town area",
    "mil": "Military installation",
    "stwib": "Workforce board area",
}


def workers_table(domains: Mapping[str, int]) -> Table:
    """Return the table `workers` of a dataset whose workers have further attributes.

    Parameters
    ----------
    domains : mapping of str to int
        Number of values of each attribute, by name. Its column holds positions of values, from 0 on.
    """
    return replace(
        WORKERS,
        columns={**WORKERS.columns, **dict.fromkeys(domains, "int16")},
        bounds={name: (0, size - 1) for name, size in domains.items()},
    )


def segment_code(age: _Code, earnings: _Code, industry: _Code) -> _Code:
    """Position 0..26 of a joint segment; each argument is 1..3. Works element-wise on arrays too."""
    return (age - 1) * 9 + (earnings - 1) * 3 + (industry - 1)
