"""Recognising files by what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from geodata.errors import SourceFileError
from geodata.sources.recognize import roles_of, sources_in
from tests.geodata import samples


@pytest.mark.parametrize("lodes", [7, 8])
def test_a_folder_is_recognised(lodes: samples.Flavour, tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path, lodes=lodes)
    (folder / "readme.md").write_text("# Where these came from\n")
    (folder / "LODESTechDoc.pdf").write_bytes(b"%PDF-1.4\n\xff\xfe")
    (folder / ".hidden.csv").write_text(samples.od_main())
    sources, unknown = sources_in(folder)
    assert {role: len(paths) for role, paths in sources.roles().items()} == {
        "od": 3, "crosswalks": 2, "tracts": 1, "blocks": 0, "tract_puma": 1, "puma_names": 1, "population": 2,
        "prior_flows": 1, "base_map": 0, "characteristics": 0, "checksums": 0, "versions": 0, "workers": 0,
        "worker_schema": 0,
    }  # fmt: skip
    assert {path.name for path in unknown} == {"readme.md", "LODESTechDoc.pdf"}


def test_names_and_folders_do_not_matter(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path / "files")
    for number, path in enumerate(sorted(folder.iterdir())):
        deeper = folder / f"{number % 3}"
        deeper.mkdir(exist_ok=True)
        suffix = ".zip" if path.suffix == ".zip" else ".data"
        path.rename(deeper / f"{number}{suffix}")
    sources, unknown = sources_in(folder)
    assert [len(paths) for paths in sources.roles().values()] == [3, 2, 1, 0, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0]
    assert not unknown


@pytest.mark.parametrize("kind", ["zip", "gpkg", "geojson"])
def test_polygons_are_recognised(kind: str, tmp_path: Path) -> None:
    path = samples.write_tracts(tmp_path, kind)
    assert roles_of(path) == ("tracts",)
    blocks = samples.tract_frame()
    blocks["GEOID"] = [samples.block_id(tract, 0) for tract in samples.RI_TRACTS]
    blocks.to_file(tmp_path / "blocks.gpkg", driver="GPKG", engine="pyogrio")
    assert roles_of(tmp_path / "blocks.gpkg") == ("blocks",)


def test_counties_and_other_tables_are_left_aside_with_a_reason(tmp_path: Path) -> None:
    samples.write_sources(tmp_path)
    counties = samples.tract_frame().iloc[:1].assign(GEOID="44001")
    samples.write_zip(tmp_path / "tl_2010_44_county10.zip", counties)
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    _, unknown = sources_in(tmp_path)
    assert {path.name: why for path, why in unknown.items()} == {
        "tl_2010_44_county10.zip": "its identifiers are neither those of tracts nor of blocks; not used",
        "table.csv": "not one of the known tables; not used",
    }
    with pytest.raises(SourceFileError, match="not one of the known tables"):
        roles_of(tmp_path / "table.csv")


def test_names_with_identifiers_of_the_data_portal(tmp_path: Path) -> None:
    """Cartographic files of 2010 write 1400000US44001010100 in GEO_ID."""
    frame = samples.tract_frame().rename(columns={"GEOID": "GEO_ID"})
    frame["GEO_ID"] = "1400000US" + frame["GEO_ID"]
    samples.write_zip(tmp_path / "gz_2010_44_140_00_500k.zip", frame)
    assert roles_of(tmp_path / "gz_2010_44_140_00_500k.zip") == ("tracts",)
