"""Files that can be read but lie elsewhere than their codes say are refused; honest oddities are not."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import geopandas
import numpy as np
import pandas
import pytest
import shapely

from geodata.errors import GeodataError
from geodata.geography.elsewhere import states
from geodata.geography.right_places import are_outside_state, check_blocks_in_states
from geodata.importing.importing import import_dataset
from geodata.sources.population import read_population
from geodata.sources.recognize import sources_in
from tests.geodata import samples

CROSSWALK, TRACTS, CENTERS = "ri_xwalk.csv.gz", "tl_2010_44_tract10.zip", "CenPop2010_Mean_TR.txt"
GROUPS = "CenPop2010_Mean_BG.txt"
Change = Callable[[geopandas.GeoDataFrame], geopandas.GeoDataFrame]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return samples.write_sources(tmp_path / "files")


def refused(folder: Path, *words: str) -> None:
    with pytest.raises(GeodataError) as caught:
        import_dataset(sources_in(folder)[0])
    message = str(caught.value)
    assert "\n" not in message
    assert ";" in message, "no remedy"
    for word in words:
        assert word in message, message


def rewrite(path: Path, change: Callable[[dict[str, str]], object], *, only: str = "") -> None:
    """Change each row of a table of text whose first cell begins with `only`."""
    text = samples.read_text(path)
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    for row in rows:
        if next(iter(row.values())).startswith(only):
            change(row)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    samples.write_text(path, out.getvalue())


def swap(row: dict[str, str], one: str, other: str) -> None:
    row[one], row[other] = row[other], row[one]


def unsigned(row: dict[str, str], name: str) -> None:
    row[name] = row[name].lstrip("+-")


@pytest.mark.parametrize(
    "change",
    [
        lambda row: swap(row, "blklatdd", "blklondd"),
        lambda row: unsigned(row, "blklondd"),
        lambda row: row.update(blklatdd="-" + row["blklatdd"]),
    ],
    ids=["swapped", "west-is-east", "south"],
)
@pytest.mark.parametrize("only", ["", "440010101001000"], ids=["all", "one"])
def test_blocks_outside_of_their_state(
    folder: Path, change: Callable[[dict[str, str]], object], only: str
) -> None:
    rewrite(folder / CROSSWALK, change, only=only)
    refused(folder, "crosswalk of Rhode Island", "blocks are not in the state", "minus sign")


@pytest.mark.parametrize(
    "change",
    [
        lambda row: swap(row, "LATITUDE", "LONGITUDE"),
        lambda row: unsigned(row, "LONGITUDE"),
        lambda row: row.update(LATITUDE="42.5"),
        lambda row: row.update(LATITUDE=f"{float(row['LATITUDE']) + 0.2:.6f}"),
    ],
    ids=["swapped", "unsigned", "one-place", "north"],
)
def test_centers_far_from_their_blocks(folder: Path, change: Callable[[dict[str, str]], object]) -> None:
    rewrite(folder / CENTERS, change)
    refused(folder, "centers of population of", "away from their blocks")


def test_centers_of_the_next_tract(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(samples.read_text(folder / CENTERS).removeprefix("\ufeff"))))
    places = iter([(row["LATITUDE"], row["LONGITUDE"]) for row in [*rows[1:], rows[0]]])
    rewrite(
        folder / CENTERS, lambda row: row.update(zip(("LATITUDE", "LONGITUDE"), next(places), strict=True))
    )
    refused(folder, "centers of population of", "codes belong to their centers")


def test_centers_of_block_groups(folder: Path) -> None:
    (folder / CENTERS).unlink()
    import_dataset(sources_in(folder)[0])
    rewrite(folder / GROUPS, lambda row: unsigned(row, "LONGITUDE"))
    refused(folder, "centers of population of Connecticut: 4 of 4 block groups")


def test_one_center_may_lie_outside(folder: Path) -> None:
    rewrite(folder / CENTERS, lambda row: row.update(LATITUDE="42.9") if row["TRACTCE"] == "010100" else None)
    import_dataset(sources_in(folder)[0])


def change_tracts(folder: Path, change: Change) -> None:
    path = folder / TRACTS
    frame = geopandas.read_file(path, engine="pyogrio")
    path.unlink()
    change(frame).to_file(folder / "tracts.gpkg", driver="GPKG", engine="pyogrio")


def shifted(frame: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    column = next(name for name in frame if str(name).startswith("GEOID"))
    frame[column] = np.roll(frame[column].to_numpy(), 1)
    return frame


def renamed(frame: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    column = next(name for name in frame if str(name).startswith("GEOID"))
    frame[column] = [f"{int(unit) + 7:011d}" for unit in frame[column]]
    return frame


def moved(across: float, up: float) -> Change:
    return lambda frame: frame.set_geometry(frame.translate(across, up))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shifted, "their internal point outside of their tract's polygon"),
        (renamed, "have codes of no tract in the crosswalk"),
        (moved(0.2, 0.1), "their internal point outside of their tract's polygon"),
        (moved(143, 0), "is not in it"),
        (
            lambda frame: frame.set_geometry(shapely.transform(frame.geometry, lambda xy: xy[:, ::-1])),
            "is not in it",
        ),
        (lambda frame: frame.set_crs("EPSG:3857", allow_override=True), "is not in it"),
        (lambda frame: frame.to_crs("EPSG:32619").set_crs("EPSG:32610", allow_override=True), "is not in it"),
        (
            lambda frame: frame.set_geometry([shapely.box(-179, -89, 179, 89), *frame.geometry[1:]]),
            "is not in it",
        ),
    ],
    ids=["shifted", "renamed", "near", "east", "swapped", "mercator", "zone", "world"],
)
def test_tract_polygons_that_are_not_where_their_codes_say(folder: Path, change: Change, words: str) -> None:
    change_tracts(folder, change)
    refused(folder, "tract polygons of Rhode Island", words)


def write_blocks(folder: Path, change: Change = lambda frame: frame) -> None:
    """A small square for each block of Rhode Island."""
    blocks = [(tract, number) for tract in samples.RI_TRACTS for number in range(6)]
    places = [samples.block_place(*block) for block in blocks]
    squares = [shapely.box(lon - 0.001, lat - 0.001, lon + 0.001, lat + 0.001) for lon, lat in places]
    units = [samples.block_id(*block) for block in blocks]
    frame = geopandas.GeoDataFrame({"GEOID10": units}, geometry=squares, crs="EPSG:4269")
    path = folder / "blocks.gpkg"
    path.unlink(missing_ok=True)
    change(frame).to_file(path, driver="GPKG", engine="pyogrio")


def test_block_polygons_that_are_not_where_their_codes_say(folder: Path) -> None:
    write_blocks(folder)
    import_dataset(sources_in(folder)[0])
    write_blocks(folder, shifted)
    refused(folder, "block polygons of Rhode Island: 18 of 18 blocks")
    write_blocks(
        folder, lambda frame: frame.assign(GEOID10=[f"{unit[:11]}9{unit[12:]}" for unit in frame["GEOID10"]])
    )
    refused(folder, "block polygons of Rhode Island: 18 of 18 have codes of no block")


def test_tract_polygons_are_checked_beside_block_polygons(folder: Path) -> None:
    write_blocks(folder)
    change_tracts(folder, shifted)
    refused(folder, "tract polygons of Rhode Island", "their internal point outside of their tract's polygon")


@pytest.mark.parametrize("county", ["001", "099"], ids=["this-county", "another-county"])
def test_polygons_of_a_whole_state_beside_blocks_of_a_part(folder: Path, county: str) -> None:
    def with_others(frame: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
        column = next(name for name in frame if str(name).startswith("GEOID"))
        squares = [shapely.box(west, 41.7, west + 0.01, 41.8) for west in np.arange(-71.6, -71.3, 0.02)]
        others = {column: [f"44{county}{number:06d}" for number in range(len(squares))]}
        more = geopandas.GeoDataFrame(others, geometry=squares, crs=frame.crs)
        return geopandas.GeoDataFrame(pandas.concat([frame, more]), crs=frame.crs)

    change_tracts(folder, with_others)
    import_dataset(sources_in(folder)[0])


def test_polygons_of_planning_regions_beside_counties_are_not_used(folder: Path) -> None:
    units = list(samples.CT_REGION_TRACTS.values())
    squares = [shapely.box(-71.53, south, -71.50, south + 0.03) for south in (41.60, 41.63)]
    frame = geopandas.GeoDataFrame({"GEOID10": units}, geometry=squares, crs="EPSG:4269")
    frame.to_file(folder / "regions.gpkg", driver="GPKG", engine="pyogrio")
    notes = import_dataset(sources_in(folder)[0]).facts["notes"]
    assert "2 tracts without a published polygon have the union of their block cells" in str(notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: row.update(POPULATION="0"), "populations of tracts: 0 people in all"),
        (lambda row: row.update(POPULATION="2147483647"), "more"),
        (lambda row: row.update(POPULATION=row["POPULATION"] + "0"), "factor of 10 or more"),
    ],
    ids=["none", "too-many", "ten-times"],
)
def test_people_who_cannot_be(folder: Path, change: Callable[[dict[str, str]], object], words: str) -> None:
    rewrite(folder / CENTERS, change)
    refused(
        folder, "populations of tracts", words if words != "more" else "give files with 1 to 2,147,483,647"
    )


def test_people_who_differ_in_one_state(folder: Path) -> None:
    rewrite(folder / CENTERS, lambda row: row.update(POPULATION=row["POPULATION"] + "0"), only="09")
    refused(folder, "populations of tracts and block groups of state 09 differ by a factor of 10 or more")


def test_people_of_other_states(folder: Path) -> None:
    for name in (CENTERS, GROUPS):
        rewrite(folder / name, lambda row: row.update(STATEFP="25"))
    refused(folder, "population files: none has a block of the crosswalks")


def test_two_levels_of_one_census_agree(folder: Path) -> None:
    found = read_population([folder / CENTERS, folder / GROUPS]).counts
    assert found[11].sum() == found[12].sum()


def test_every_state_has_a_box_with_its_center() -> None:
    for code, state in states().items():
        place = np.array([state.lon_deg]), np.array([state.lat_deg])
        assert not are_outside_state(code, *place)[0], state.name
        assert are_outside_state(code, place[1], place[0])[0], state.name
        assert are_outside_state(code, -place[0], place[1])[0], state.name


def test_alaska_crosses_the_180th_meridian_and_codes_of_no_state_are_not_checked() -> None:
    lon, lat = np.array([172.5, 179.9, -179.9, -130.1, 165.0, -120.0, 0.0]), np.full(7, 55.0)
    assert are_outside_state("02", lon, lat).tolist() == [False] * 4 + [True] * 3
    assert not are_outside_state("86", lon, lat).any()


@pytest.mark.parametrize(
    ("code", "lon_deg", "lat_deg"),
    [
        ("02", 172.44, 52.93),  # Attu Island
        ("02", -156.48, 71.39),  # Point Barrow
        ("12", -82.87, 24.63),  # Dry Tortugas
        ("15", -178.33, 28.39),  # Kure Atoll
        ("15", -155.68, 18.91),  # Ka Lae
        ("25", -69.96, 41.26),  # Nantucket
        ("26", -88.49, 48.10),  # Isle Royale
        ("27", -95.15, 49.37),  # Northwest Angle
        ("60", -171.08, -11.06),  # Swains Island
        ("66", 144.66, 13.24),  # Guam, the south
        ("69", 144.89, 20.55),  # Farallon de Pajaros
        ("72", -67.94, 18.08),  # Mona Island
        ("74", -177.37, 28.21),  # Midway, of the minor outlying islands
        ("78", -64.57, 17.76),  # Saint Croix
    ],
)
def test_far_places_of_states(code: str, lon_deg: float, lat_deg: float) -> None:
    assert not are_outside_state(code, np.array([lon_deg]), np.array([lat_deg])).any()


def test_another_country_may_use_the_codes_of_states_under_names_of_its_own() -> None:
    block = pandas.DataFrame({"block_id": ["010010001001000"], "lon_deg": [-96.6], "lat_deg": [37.4]})
    check_blocks_in_states(block, pandas.Series({"01": "Ardenia"}))
    for name in ("Alabama", "ALABAMA", "AL", ""):
        with pytest.raises(GeodataError, match="1 of 1 blocks are not in the state"):
            check_blocks_in_states(block, pandas.Series({"01": name}))
