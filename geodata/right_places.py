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

from geodata.boundaries import Boundaries
from geodata.elsewhere import states
from geodata.errors import GeometryError, SourceFileError
from geodata.reading import code_numbers
from geodata.state_boxes import outside_state

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
        outside = here[_outside(code, lon[here], lat[here], names)]
        if outside.size:
            row, state = int(outside[0]), _called(code, names)
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
        beyond = np.any([_outside(str(code), *corner, names) for corner in corners], axis=0)
        if beyond.any():
            row = int(beyond.argmax())
            raise GeometryError(
                f"{level} polygons of {_called(str(code), names)}: {unit_id[here[owner[row]]]} is not in it (latitude "
                f"{south[row]:.5g} to {north[row]:.5g}, longitude {west[row]:.5g} to {east[row]:.5g}); {_CHECK}"
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
    without = {code for code, _, _ in _most(unit_id.str[:2].to_numpy(dtype=object), lacking.to_numpy())}
    for code, n_wrong, n in _most(given.str[:2].to_numpy(dtype=object), unknown.to_numpy()):
        if code in without:
            raise GeometryError(
                f"{level} polygons of {_called(code, names)}: {n_wrong:,} of {n:,} have codes of no {level} in the "
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
    for code, n_wrong, n in _most(state, ~inside):
        raise GeometryError(
            f"{level} polygons of {_called(code, names)}: {n_wrong:,} of {n:,} blocks have their internal point "
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
        unit, away = _away(unit[here], place[here], center, widths)
        state = np.array([f"{code:02d}" for code in unit // 10 ** (digits - 2)], dtype=object)
        for code, n_wrong, n in _most(state, away):
            raise SourceFileError(
                f"centers of population of {_called(code, names)}: {n_wrong:,} of {n:,} {level} have theirs away from "
                f"their blocks; {_CHECK}, and that codes belong to their centers"
            )


def _away(unit: Ints, place: Floats, center: Floats, widths: float) -> tuple[Ints, Bools]:
    """Units, and whether their centers are farther from the box around their blocks than so many of its widths."""
    # Degrees from the center, the short way around the globe.
    east = ((place[:, 0] - center[:, 0] + 180) % 360 - 180) * np.cos(np.radians(center[:, 1]))
    north = place[:, 1] - center[:, 1]
    box = pandas.DataFrame({"east": east, "north": north}).groupby(unit).agg(["min", "max"])
    low, high = (box.xs(end, axis=1, level=1).to_numpy() * _KM_PER_DEG for end in ("min", "max"))
    apart_km = np.hypot(*np.maximum(np.maximum(low, -high), 0).T)
    width_km = np.maximum(np.hypot(*(high - low).T), _LEAST_WIDTH_KM)
    return box.index.to_numpy(np.int64), apart_km > widths * width_km


def _most(state: Texts, wrong: Bools) -> Iterator[tuple[str, int, int]]:
    """The states of which more than half are wrong: code, how many are, and how many there are."""
    counts = pandas.DataFrame({"state": state, "wrong": wrong}).groupby("state")["wrong"].agg(["sum", "size"])
    for code, n_wrong, n in counts.itertuples():
        if 2 * n_wrong > n:
            yield str(code), int(n_wrong), int(n)


def _outside(code: str, lon_deg: Floats, lat_deg: Floats, names: pandas.Series) -> Bools:
    """Which places are outside of a state; none if another country's state has its code and a name of its own."""
    known, name = states().get(code), str(names.get(code, "")).strip().casefold()
    if known is None or name not in ("", known.name.casefold(), known.postal.casefold()):
        return np.zeros(lon_deg.size, dtype=bool)
    return outside_state(code, lon_deg, lat_deg)


def _called(code: str, names: pandas.Series) -> str:
    return str(names.get(code, "")).strip() or f"state {code}"
