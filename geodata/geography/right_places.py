"""Whether blocks, polygons, and centers of an import are where their codes say.

Files whose latitudes and longitudes are swapped, lack a sign, or belong to other codes can all be read. Honest files
have single blocks that lie outside of their tracts, so what is compared between files is refused only where most
disagree, and state by state.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.geography.elsewhere import states
from geodata.sources.boundaries import Boundaries
from geodata.sources.reading import code_numbers

# Where the states are: boxes around each, half a degree wider than its land and waters.
#
# The boxes serve only to refuse places that cannot be in their state. They are rounded outward to half a degree.

_MARGIN_DEG = 0.5
_ROWS = """
01 -88.5 30 -84.5 35.5
02 172 51 -129.5 72
04 -115 31 -109 37.5
05 -95 33 -89.5 37
06 -125 32 -114 42.5
08 -109.5 36.5 -102 41.5
09 -74 40.5 -71.5 42.5
10 -76 38 -74.5 40
11 -77.5 38.5 -76.5 39
12 -88 24 -79.5 31.5
13 -86 30 -80.5 35.5
15 -179 18.5 -154.5 29
16 -117.5 41.5 -111 49.5
17 -92 36.5 -87 43
18 -88.5 37.5 -84.5 42
19 -97 40 -90 44
20 -102.5 36.5 -94.5 40.5
21 -90 36 -81.5 39.5
22 -94.5 28.5 -88.5 33.5
23 -71.5 42.5 -66.5 47.5
24 -79.5 37.5 -75 40
25 -74 41 -69.5 43
26 -90.5 41.5 -82 48.5
27 -97.5 43 -89 49.5
28 -92 30 -88 35.5
29 -96 35.5 -89 41
30 -116.5 44 -104 49.5
31 -104.5 39.5 -95 43.5
32 -120.5 35 -114 42.5
33 -73 42.5 -70.5 45.5
34 -76 38.5 -73.5 41.5
35 -109.5 31 -103 37.5
36 -80 40 -71.5 45.5
37 -84.5 33.5 -75 37
38 -104.5 45.5 -96.5 49.5
39 -85 38 -80.5 42.5
40 -103.5 33.5 -94 37.5
41 -125 41.5 -116 46.5
42 -81 39.5 -74.5 42.5
44 -72 41 -71 42.5
45 -83.5 32 -78.5 35.5
46 -104.5 42 -96 46
47 -90.5 34.5 -81.5 37
48 -107 25.5 -93.5 37
49 -114.5 36.5 -109 42.5
50 -73.5 42.5 -71 45.5
51 -84 36.5 -75 39.5
53 -125 45.5 -116.5 49.5
54 -83 37 -77.5 41
55 -93 42 -86 47.5
56 -111.5 40.5 -104 45.5
60 -172 -15.5 -168 -11
66 144 13 145.5 14
69 144.5 13.5 146.5 21
72 -68.5 17.5 -65 19
78 -65.5 17.5 -64.5 18.5
"""


def are_outside_state(state_id: str, lon_deg: Floats, lat_deg: Floats) -> npt.NDArray[np.bool_]:
    """Which places cannot be in a state, nor within half a degree of it.

    Parameters
    ----------
    state_id : str
        Two-digit FIPS code. Codes of no state, such as those of generated countries, have no box: every place fits.
    lon_deg, lat_deg : float64[N]
        EPSG:4326.

    Returns
    -------
    bool[N]
    """
    row = next((row for row in _ROWS.split("\n") if row.startswith(f"{state_id} ")), None)
    if row is None:
        return np.zeros(np.shape(lon_deg), dtype=bool)
    west, south, east, north = (float(cell) for cell in row.split()[1:])
    east += 360 * (east < west)  # Alaska lies on both sides of the 180th meridian
    lon = (np.asarray(lon_deg) - (west - _MARGIN_DEG)) % 360
    in_lon = lon <= east - west + 2 * _MARGIN_DEG
    lat = np.asarray(lat_deg)
    return ~(in_lon & (lat >= south - _MARGIN_DEG) & (lat <= north + _MARGIN_DEG))


Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Texts = npt.NDArray[np.object_]
Shapes = npt.NDArray[np.object_]

_BLOCK_DIGITS = 15
# How far a center may be from the box around its unit's blocks, by the width of that box. If the codes of a real file
# of tracts are shifted by one row, seven of ten are farther. Nothing but this check uses the centers of block groups.
_WITH_CENTERS = {11: ("tracts", 0.1), 12: ("block groups", 1.0)}
_KM_PER_DEG = 111.2
_LEAST_WIDTH_KM = 1.0  # of a unit with one block
_CHECK = "check for swapped latitudes and longitudes, a lost minus sign, and the reference system"


def check_blocks_in_states(blocks: pandas.DataFrame, names: pandas.Series) -> None:
    """SourceFileError if a block of a crosswalk cannot be in the state of its own code.

    Parameters
    ----------
    blocks : DataFrame
        `block_id`, `lon_deg` and `lat_deg`.
    names : Series
        Name of each state by its code, as the crosswalk has it.
    """
    lon, lat = (blocks[name].to_numpy(np.float64) for name in ("lon_deg", "lat_deg"))
    index, codes = pandas.factorize(blocks["block_id"].str[:2])
    for position, code in enumerate(codes):
        here = np.flatnonzero(index == position)
        outside = here[_are_outside(code, lon[here], lat[here], names)]
        if outside.size:
            row, state = int(outside[0]), _name_state(code, names)
            raise SourceFileError(
                f"crosswalk of {state}: {outside.size:,} of {here.size:,} blocks are not in the state, such as "
                f"{blocks['block_id'].iloc[row]} at latitude {lat[row]:.5g}, longitude {lon[row]:.5g}; {_CHECK}"
            )


def check_polygons_in_states(boundaries: Boundaries, level: str, names: pandas.Series) -> None:
    """GeometryError if a polygon of an imported state reaches beyond that state.

    Parameters
    ----------
    boundaries : Boundaries
    level : {"tract", "block"}
    names : Series
        Name of each imported state by its code.
    """
    unit_id = boundaries.polygon.index.to_numpy(dtype=object)
    state = boundaries.polygon.index.str[:2].to_numpy(dtype=object)
    for code in names.index:
        here = np.flatnonzero(state == code)
        parts, owner = shapely.get_parts(boundaries.polygon.to_numpy()[here], return_index=True)
        west, south, east, north = shapely.bounds(parts).reshape(-1, 4).T
        # With the middle, because both ends of a shape around the globe are in Alaska.
        corners = ((west, south), (east, north), ((west + east) / 2, (south + north) / 2))
        beyond = np.any([_are_outside(str(code), *corner, names) for corner in corners], axis=0)
        if beyond.any():
            row = int(beyond.argmax())
            raise GeometryError(
                f"{level} polygons of {_name_state(str(code), names)}: {unit_id[here[owner[row]]]} is not "
                f"in it (latitude {south[row]:.5g} to {north[row]:.5g}, "
                f"longitude {west[row]:.5g} to {east[row]:.5g}); {_CHECK}"
            )


def check_polygons_are_known(
    boundaries: Boundaries, level: str, unit_id: pandas.Series, names: pandas.Series
) -> None:
    """GeometryError if most polygons of a state have codes of no unit there, and most units have no polygon.

    Polygons of counties without units are left out: those of Connecticut's planning regions beside its counties, and
    of a state of which some counties are imported.

    Parameters
    ----------
    boundaries : Boundaries
    level : {"tract", "block"}
    unit_id : Series of str
        Every unit of the crosswalk.
    names : Series
        Name of each state by its code.
    """
    given = boundaries.polygon.index.to_series()
    given = given[given.str[:5].isin(unit_id.str[:5].unique())]
    unknown, lacking = ~given.isin(unit_id), ~unit_id.isin(given)
    without = {
        code for code, _, _ in _list_mostly_wrong(unit_id.str[:2].to_numpy(dtype=object), lacking.to_numpy())
    }
    for code, n_wrong, n in _list_mostly_wrong(given.str[:2].to_numpy(dtype=object), unknown.to_numpy()):
        if code in without:
            raise GeometryError(
                f"{level} polygons of {_name_state(code, names)}: {n_wrong:,} of {n:,} have codes of no {level} in the "
                f"crosswalk; give polygons of its {level}s"
            )


def check_points_in_polygons(state: Texts, inside: Bools, level: str, names: pandas.Series) -> None:
    """GeometryError if most internal points of a state's blocks lie outside of the polygons of their tracts or blocks.

    Parameters
    ----------
    state : object array[N]
        Code of the state of each block whose tract, or which itself, has a published polygon.
    inside : bool[N]
        Whether its internal point lies in that polygon.
    level : {"tract", "block"}
    names : Series
        Name of each state by its code.
    """
    for code, n_wrong, n in _list_mostly_wrong(state, ~inside):
        raise GeometryError(
            f"{level} polygons of {_name_state(code, names)}: {n_wrong:,} of {n:,} blocks have their internal point "
            f"outside of their {level}'s polygon; {_CHECK}, and that identifiers belong to their polygons"
        )


def check_centers(blocks: pandas.DataFrame, centers: pandas.DataFrame, names: pandas.Series) -> None:
    """SourceFileError if most centers of a state's tracts, or block groups, are away from their blocks.

    Parameters
    ----------
    blocks : DataFrame
        `block_id`, `lon_deg` and `lat_deg`.
    centers : DataFrame
        Of tracts and block groups, by identifier.
    names : Series
        Name of each state by its code.
    """
    number = code_numbers(blocks["block_id"])
    place = blocks[["lon_deg", "lat_deg"]].to_numpy(np.float64)
    for digits, (level, widths) in _WITH_CENTERS.items():
        of_level = centers[centers.index.str.len() == digits]
        unit = number // 10 ** (_BLOCK_DIGITS - digits)
        row = pandas.Index(code_numbers(of_level.index.to_series())).get_indexer(pandas.Index(unit))
        here = np.flatnonzero(row >= 0)
        center = of_level[["lon_deg", "lat_deg"]].to_numpy(np.float64)[row[here]]
        unit, away = _find_distant_units(unit[here], place[here], center, widths)
        state = np.array([f"{code:02d}" for code in unit // 10 ** (digits - 2)], dtype=object)
        for code, n_wrong, n in _list_mostly_wrong(state, away):
            raise SourceFileError(
                f"centers of population of {_name_state(code, names)}: {n_wrong:,} of {n:,} {level} have theirs "
                f"away from their blocks; {_CHECK}, and that codes belong to their centers"
            )


def _find_distant_units(unit: Ints, place: Floats, center: Floats, widths: float) -> tuple[Ints, Bools]:
    """Units, and whether their centers are farther from the box around their blocks than so many of its widths."""
    # Degrees from the center, the short way around the globe.
    east = ((place[:, 0] - center[:, 0] + 180) % 360 - 180) * np.cos(np.radians(center[:, 1]))
    north = place[:, 1] - center[:, 1]
    box = pandas.DataFrame({"east": east, "north": north}).groupby(unit).agg(["min", "max"])
    low, high = (box.xs(end, axis=1, level=1).to_numpy() * _KM_PER_DEG for end in ("min", "max"))
    apart_km = np.hypot(*np.maximum(np.maximum(low, -high), 0).T)
    width_km = np.maximum(np.hypot(*(high - low).T), _LEAST_WIDTH_KM)
    return box.index.to_numpy(np.int64), apart_km > widths * width_km


def _list_mostly_wrong(state: Texts, wrong: Bools) -> Iterator[tuple[str, int, int]]:
    """The states of which more than half are wrong: code, how many are, and how many there are."""
    counts = pandas.DataFrame({"state": state, "wrong": wrong}).groupby("state")["wrong"].agg(["sum", "size"])
    for code, n_wrong, n in counts.itertuples():
        if 2 * n_wrong > n:
            yield str(code), int(n_wrong), int(n)


def _are_outside(code: str, lon_deg: Floats, lat_deg: Floats, names: pandas.Series) -> Bools:
    """Which places are outside of a state; none if another country's state has its code and a name of its own."""
    known, name = states().get(code), str(names.get(code, "")).strip().casefold()
    if known is None or name not in ("", known.name.casefold(), known.postal.casefold()):
        return np.zeros(lon_deg.size, dtype=bool)
    return are_outside_state(code, lon_deg, lat_deg)


def _name_state(code: str, names: pandas.Series) -> str:
    return str(names.get(code, "")).strip() or f"state {code}"
