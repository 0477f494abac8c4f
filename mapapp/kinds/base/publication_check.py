"""Checking what a reader is shown of a release (facts, sizes, rows) against its certificate and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import msgspec
import numpy as np
import numpy.typing as npt
import pandas
import pyarrow.parquet
import shapely

from geodata.json_objects import JsonObject
from geodata.store.characteristic_counts import FACT
from geodata.store.characteristic_groups import ALL_WORKERS, ENDS, SEGMENTS
from geodata.store.schema import (
    CHARACTERISTIC_COUNTS,
    CHARACTERISTICS,
    IDENTIFIER,
    LAYER_LABELS,
    OPTIONAL_TABLES,
    TABLES,
)
from geodata.store.store import Store
from geodata.store.zones import is_of_zones
from mapapp.answers.claims import PublicationClaim, as_json
from mapapp.answers.publication import (
    BOUND_FIELD,
    BOUND_SCHEMA,
    CERTIFICATE,
    FIRST_BOUND_SCHEMA,
    PUBLIC_FACTS,
    listed_tables,
    public_facts,
)
from mapapp.answers.records.claims import RecordsCertificate
from mapapp.answers.tables.certificate import TableCertificate
from mapapp.kinds.base.certificate import LATER_FIELDS_CHECK, Certificate, CertificateCheck
from mapapp.kinds.base.certificate_comparison import is_written_alike


def check_files(release: Store) -> CertificateCheck:
    """Check that the release has its tables, their columns, the certificate and public facts, and nothing else."""
    base = [table for table in OPTIONAL_TABLES[release.kind] if release.has_table(table.name)]
    tables = (*TABLES[release.kind], *base)
    allowed = {f"{table.name}.parquet" for table in tables} | {CERTIFICATE}
    strange = sorted(set(release.manifest["files"]) ^ allowed)
    strange += sorted(set(release.manifest) - {"schema_version", "kind", "files", *PUBLIC_FACTS})
    for table in tables:
        columns = (
            set(release.columns(table.name))
            - set(table.columns)
            - ({"geometry"} if table.geometry else set())
        )
        strange += sorted(name for name in columns if not table.allows(name))
    detail = (
        f"unexpected or missing: {', '.join(strange)}"
        if strange
        else "which match the manifest, including every sha256"
    )
    return CertificateCheck(
        "files and columns", not strange, f"{len(release.manifest['files'])} files, {detail}"
    )


def check_sizes(release: Store) -> CertificateCheck:
    """Check that the manifest states the sizes and row counts of its files, and nothing else about them."""
    listed = release.manifest["files"]
    wrong = [
        name
        for name, stated in listed.items()
        if not is_written_alike(stated, _measure_file(release, name, stated))
    ]
    detail = (
        f"different from the manifest: {', '.join(wrong)}"
        if wrong
        else f"all {len(listed)} files match the manifest"
    )
    return CertificateCheck("sizes and rows", not wrong, detail)


def check_schema(
    stated: TableCertificate | RecordsCertificate, document: Certificate
) -> list[CertificateCheck]:
    """Check that a certificate of a table or of records has all that its schema has; name the run id that it lacks."""
    schema, missing = stated.schema_version, stated.missing
    said = f"schema {schema} without {', '.join(missing)}" if missing else f"schema {schema} with all fields"
    if BOUND_FIELD in missing or schema != (FIRST_BOUND_SCHEMA if missing else BOUND_SCHEMA):
        return [CertificateCheck("schema", False, said)]
    if not is_written_alike(as_json(stated), document):
        return [CertificateCheck("schema", False, "numbers are not written as the program writes them")]
    checks = [CertificateCheck("schema", True, f"all {len(document)} fields")]
    return [*checks, CertificateCheck(LATER_FIELDS_CHECK, True, said)] if missing else checks


def check_publication(release: Store, bound: PublicationClaim | msgspec.UnsetType) -> list[CertificateCheck]:
    """Check that the facts and files in the manifest are those that the certificate binds; no checks for schema 1."""
    if bound is msgspec.UNSET:
        return []
    return [
        _compare_manifest("facts shown to readers", bound.facts, public_facts(release.manifest)),
        _compare_manifest("tables", bound.files, listed_tables(release.manifest["files"])),
    ]


def check_facts(release: Store, workplaces: npt.NDArray[np.integer]) -> CertificateCheck:
    """Check that the states and layers in the manifest match the tables, and the blocks of all workplaces."""
    states = release.table("blocks", ["state_id"])["state_id"].to_numpy(dtype=str)
    used = set(states[np.unique(workplaces)].tolist())
    stated = release.manifest.get("destination_states", [])
    n_units = release.table("layers", ["layer"])["layer"].value_counts()
    labels = LAYER_LABELS | (_free_labels(release.manifest) if is_of_zones(release.manifest) else {})
    layers = [
        {"layer": code, "label": labels.get(code, code), "column": f"layer_{code}", "n_units": int(n)}
        for code, n in zip(n_units.index.astype(str), n_units, strict=True)
    ]
    wrong = []
    if not isinstance(stated, list) or not used <= {str(state) for state in stated}:
        wrong.append(f"destination_states: workplaces are in {', '.join(sorted(used))}")
    if not is_written_alike(_sort_by_code(release.manifest.get("layers", [])), _sort_by_code(layers)):
        wrong.append("layers: different from the table of layers")
    return CertificateCheck("states and layers", not wrong, "; ".join(wrong) or "match the tables")


def _free_labels(facts: Mapping[str, object]) -> dict[str, str]:
    """Labels of layers as whoever imported zones of any country called them: one line each."""
    listed = facts.get("layers")
    layers = [layer for layer in (listed if isinstance(listed, list) else ()) if isinstance(layer, dict)]
    labels = {str(layer.get("layer")): str(layer.get("label", "")) for layer in layers}
    return {code: label for code, label in labels.items() if label.strip() and label.isprintable()}


def _measure_file(release: Store, name: str, stated: Mapping[str, object]) -> dict[str, object]:
    """Return what the manifest should state for a file; its sha256 was compared when the release was opened."""
    file = Path(release.path / name)
    facts = {"sha256": stated["sha256"], "bytes": file.stat().st_size}
    return facts if name == CERTIFICATE else {**facts, "rows": pyarrow.parquet.read_metadata(file).num_rows}


def _compare_manifest(check: str, bound: JsonObject, measured: Mapping[str, object]) -> CertificateCheck:
    """Compare the certificate with the manifest, entry by entry."""
    names = sorted(bound.keys() | measured.keys())
    wrong = [
        n for n in names if n not in bound or n not in measured or not is_written_alike(bound[n], measured[n])
    ]
    detail = (
        f"different from the certificate: {', '.join(wrong)}"
        if wrong
        else f"all {len(names)} match the certificate"
    )
    return CertificateCheck(check, not wrong, detail)


def _sort_by_code(layers: object) -> object:
    """Layers in the order of their codes, where each has one."""
    try:
        return sorted(cast(list[JsonObject], layers), key=lambda layer: str(layer["layer"]))
    except (TypeError, KeyError, IndexError):
        return layers


# Checks of a publication's geography against itself: units, populations, places, and published characteristics.
#
# Nothing here shows that the geography is that of a real place. It shows that its tables do not contradict each other.

_LARGER: Final = {table: column for table, column in IDENTIFIER.items() if table not in ("blocks", "tracts")}
_COUNTS: Final = (CHARACTERISTICS, CHARACTERISTIC_COUNTS)
_MOST_OUTSIDE: Final = 0.01
"""Share of internal points that may lie outside their tract's polygon."""
_NEAR_DEG: Final = 0.001
"""A point at most this far from the polygon, about 100 m, counts as inside: published files disagree a little."""


def check_geography(store: Store) -> list[CertificateCheck]:
    """Check that the tables of a publication's geography agree with each other."""
    units = ["tract_id", *_LARGER.values()]
    blocks = store.table("blocks", [*units, "tract_index", "population", "lon_deg", "lat_deg"])
    tracts = store.table("tracts", [*units, "population", "geometry"])
    checks = [_check_populations(store, blocks, tracts, units), _check_points(blocks, tracts)]
    if any(store.has_table(table.name) for table in _COUNTS) or store.manifest.get(FACT):
        checks.append(_check_characteristics(store))
    return checks


def _check_populations(
    store: Store, blocks: pandas.DataFrame, tracts: pandas.DataFrame, units: list[str]
) -> CertificateCheck:
    """Check that blocks are in the units of their tract, and that people add up from blocks to states."""
    at = blocks["tract_index"].to_numpy()
    wrong = [name for name in units if (blocks[name].to_numpy() != tracts[name].to_numpy()[at]).any()]
    people = np.zeros(len(tracts), dtype=np.int64)
    np.add.at(people, at, blocks["population"].to_numpy())
    if not np.array_equal(people, tracts["population"]):
        wrong.append("tracts: other people than in their blocks")
    for table, column in _LARGER.items():
        stated = store.table(table, [column, "population"]).set_index(column)["population"]
        summed = tracts.groupby(column)["population"].sum().reindex(stated.index, fill_value=0)
        if not np.array_equal(summed, stated):
            wrong.append(f"{table}: other people than in their tracts")
    detail = f"do not agree: {'; '.join(wrong)}" if wrong else "people add up from blocks to states"
    return CertificateCheck("populations", not wrong, detail)


def _check_points(blocks: pandas.DataFrame, tracts: pandas.DataFrame) -> CertificateCheck:
    """Check that nearly all internal points lie in or near the polygon of their tract, where it has one."""
    polygon = tracts["geometry"].to_numpy()
    shapely.prepare(polygon)
    of_block = polygon[blocks["tract_index"].to_numpy()]
    lon, lat = blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy()
    compared = ~shapely.is_missing(of_block)
    outside = np.flatnonzero(compared & ~shapely.intersects_xy(of_block, lon, lat))
    near = shapely.dwithin(of_block[outside], shapely.points(lon[outside], lat[outside]), _NEAR_DEG)
    n_compared, n_outside = int(np.count_nonzero(compared)), int(np.count_nonzero(~near))
    detail = (
        f"{n_outside:,} of {n_compared:,} are more than {_NEAR_DEG:g} degrees outside their tract's polygon"
    )
    return CertificateCheck("internal points", n_outside <= _MOST_OUTSIDE * n_compared, detail)


def _check_characteristics(store: Store) -> CertificateCheck:
    """Check that the manifest lists the files of each end and segment of the published counts, if there are any."""
    if not any(store.has_table(table.name) for table in _COUNTS):
        return CertificateCheck("characteristics", False, "listed, but there is no table of them")
    files = [file for file in store.manifest.get(FACT) or [] if isinstance(file, dict)]
    listed = {(file.get("end"), file.get("segment", ALL_WORKERS)) for file in files}
    good = bool(files) and _list_counts(store) <= listed
    detail = f"{len(files)} files listed" if good else "the manifest does not list the files they are from"
    return CertificateCheck("characteristics", good, detail)


def _list_counts(store: Store) -> set[tuple[str, str]]:
    """End and segment of every count."""
    pairs = set()
    if store.has_table(CHARACTERISTICS.name):
        pairs |= {(end, ALL_WORKERS) for end in store.table(CHARACTERISTICS.name, ["end"])["end"].unique()}
    if store.has_table(CHARACTERISTIC_COUNTS.name):
        keys = store.group_keys(CHARACTERISTIC_COUNTS.name)
        pairs |= {(ENDS[end], SEGMENTS[segment]) for end, segment, _ in keys.tolist()}
    return pairs
