"""A generated country as the files that an agency would import: worker records, their schema, and the public files.

An import knows the states of the United States only. So homes in the states overseas are written as homes in two of
them that the country does not have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.demo.characteristics_files import write_characteristics
from geodata.progress import Progress, silent
from geodata.store.atomic_writes import write_beside
from geodata.store.schema import JOB_LABELS
from geodata.store.store import Store, refuse_existing
from geodata.workers.schema import WorkerSchema

__all__ = [
    "CHARACTERISTICS_FOLDER",
    "FAR_BLOCKS",
    "PUBLIC_FOLDER",
    "SCHEMA_FILE",
    "WORKERS_FILE",
    "write_source_files",
]

WORKERS_FILE: Final = "workers.csv"
SCHEMA_FILE: Final = "workers.toml"
PUBLIC_FOLDER: Final = "public"
CHARACTERISTICS_FOLDER: Final = "characteristics"
FAR_BLOCKS: Final = ("360610001001000", "250250001001000")
"""Blocks in New York and Massachusetts, in place of the states overseas, in their order."""

_PLACES: Final = ("w_block", "h_block")
_WRITING: Final = "Writing worker records"


def write_source_files(dataset: Store, folder: Path, progress: Progress = silent) -> None:
    """Write the files from which an import makes the workers of a generated country again.

    Parameters
    ----------
    dataset : Store
        Made by `write_demo`, with worker records.
    folder : Path
        Where there is nothing yet. It gets `workers.csv`, `workers.toml`, a folder `public`, and a folder
        `characteristics` of WAC and RAC files, which an agency would have only if they were published.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    StoreError
        The place is taken or cannot be written; nothing is left there.
    """
    refuse_existing(folder)
    schema = WorkerSchema.from_facts(dataset.manifest)
    blocks = dataset.table("blocks")
    with write_beside(folder) as partial:
        public = partial.folder / PUBLIC_FOLDER
        public.mkdir()
        for name, table in _public_tables(dataset, blocks).items():
            table.to_csv(public / name, index=False, lineterminator="\n")
        described = partial.folder / CHARACTERISTICS_FOLDER
        described.mkdir()
        write_characteristics(dataset, described)
        with partial.write_file(SCHEMA_FILE) as file:
            file.write_text(_schema_text(schema, dataset.manifest), encoding="utf-8")
        with partial.write_file(WORKERS_FILE) as file, file.open("w", encoding="utf-8", newline="") as stream:
            done, total = 0, int(dataset.manifest["files"]["workers.parquet"]["rows"])
            for part in _rows(dataset, schema, _block_codes(blocks)):
                progress(_WRITING, done, total)
                part.to_csv(stream, index=False, header=not done, lineterminator="\n")
                done += len(part)
        partial.put_in_place()


def _block_codes(blocks: pandas.DataFrame) -> npt.NDArray[np.object_]:
    """Code of each block with 15 digits; that of a far block for the whole states."""
    codes = blocks["block_id"].to_numpy(dtype=object).copy()
    codes[np.flatnonzero(blocks["elsewhere"])] = FAR_BLOCKS
    return codes


def _rows(dataset: Store, schema: WorkerSchema, block: npt.NDArray[np.object_]) -> Iterator[pandas.DataFrame]:
    """The workers as texts, a row group at a time."""
    read = [name for name in JOB_LABELS if name not in schema.derived_from]
    codes = {attribute.name: np.array(attribute.codes, dtype=object) for attribute in schema.attributes}
    for part in dataset.batches("workers"):
        column = {name: part[name].to_numpy() for name in part.column_names}
        texts: dict[str, npt.NDArray[np.generic]] = {
            _PLACES[0]: block[column["destination_index"]],
            _PLACES[1]: block[column["origin_index"]],
        }
        texts |= {name: column[name] for name in read}
        texts |= {name: values[column[name]] for name, values in codes.items()}
        yield pandas.DataFrame(texts)


def _public_tables(dataset: Store, blocks: pandas.DataFrame) -> dict[str, pandas.DataFrame]:
    """Crosswalk, PUMAs of tracts and their names, and population by block, in the form of the published files."""
    here = blocks[~blocks["elsewhere"]]
    name = {
        unit: dataset.table(table, [f"{unit}_id", "name"]).set_index(f"{unit}_id")["name"]
        for unit, table in (("tract", "tracts"), ("county", "counties"), ("state", "states"))
    }
    pumas = dataset.table("pumas", ["puma_id", "name", "elsewhere"])
    pumas = pumas[~pumas["elsewhere"]]
    tract = here.drop_duplicates("tract_id")
    return {
        "country_xwalk.csv": pandas.DataFrame(
            {
                "tabblk2020": here["block_id"],
                **_unit(here, "st", "state", name),
                **_unit(here, "cty", "county", name),
                **_unit(here, "trct", "tract", name),
                **_layers(dataset, here),
                "blklatdd": here["lat_deg"],
                "blklondd": here["lon_deg"],
            }
        ),
        "2020_tract_to_2020_PUMA.csv": pandas.DataFrame(
            {
                "STATEFP": tract["tract_id"].str[:2],
                "COUNTYFP": tract["tract_id"].str[2:5],
                "TRACTCE": tract["tract_id"].str[5:],
                "PUMA5CE": tract["puma_id"].str[2:],
            }
        ),
        "2020_PUMA_names.csv": pandas.DataFrame(
            {
                "STATEFP": pumas["puma_id"].str[:2],
                "PUMA5CE": pumas["puma_id"].str[2:],
                "PUMA NAME": pumas["name"],
            }
        ),
        "block_population.csv": pandas.DataFrame({"geoid20": here["block_id"], "pop20": here["population"]}),
    }


def _unit(
    here: pandas.DataFrame, column: str, unit: str, name: Mapping[str, pandas.Series]
) -> dict[str, pandas.Series]:
    codes = here[f"{unit}_id"]
    return {column: codes, f"{column}name": codes.map(name[unit])}


def _layers(dataset: Store, here: pandas.DataFrame) -> dict[str, pandas.Series]:
    """Codes and names of the units of other layers; nines where a block is in none."""
    units = dataset.table("layers", ["layer", "unit_id", "name"])
    columns: dict[str, pandas.Series] = {}
    for column in (str(name) for name in here if str(name).startswith("layer_")):
        layer = column.removeprefix("layer_")
        name = units[units["layer"] == layer].set_index("unit_id")["name"]
        columns[layer] = here[column].where(here[column] != "", "9999999")
        columns[f"{layer}name"] = here[column].map(name).fillna("")
    return columns


def _schema_text(schema: WorkerSchema, facts: Mapping[str, object]) -> str:
    """The schema file; a JSON text is a TOML text."""
    lines = [
        "# Worker records of a made-up country. Homes in its two states overseas are written as homes in New York and",
        "# Massachusetts, because an import knows the states of the United States only.",
        f"year = {facts['year']}",
        f"job_type = {json.dumps(facts['job_type'])}",
        "",
        "[workplace]",
        f'column = "{_PLACES[0]}"',
        f"states = {json.dumps(facts['destination_states'])}",
        "",
        "[home]",
        f'column = "{_PLACES[1]}"',
    ]
    for name in JOB_LABELS:
        if name not in schema.derived_from:
            lines += ["", f"[{name}]", f'column = "{name}"', 'values = ["1", "2", "3"]']
    for attribute in schema.attributes:
        lines += [
            "",
            f"[attributes.{attribute.name}]",
            f"title = {_text(attribute.title)}",
            f'column = "{attribute.name}"',
        ]
        lines += ["values = ["]
        lines += [
            f"  {{ code = {_text(code)}, label = {_text(label)} }},"
            for code, label in zip(attribute.codes, attribute.labels, strict=True)
        ]
        lines += ["]", f"parents = {json.dumps(list(attribute.parents))}"]
        if attribute.derives:
            groups = ", ".join(f"{name} = {list(codes)}" for name, codes in attribute.derives.items())
            lines += [f"derives = {{ {groups} }}"]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
