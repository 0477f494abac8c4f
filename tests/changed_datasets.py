"""Datasets that differ from another one in a single table, such as in the confidential homes alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from geodata.store.schema import TABLES
from geodata.store.store import open_store, write_store


def with_other_table(
    source: Path, path: Path, name: str, change: Callable[[Any], Any], *, keep_facts: bool = False
) -> Path:
    """Write the same dataset with one table changed; of its facts only the key, unless all are kept."""
    store = open_store(source, "dataset")
    with write_store(path, "dataset") as writer:
        for table in TABLES["dataset"]:
            if table.name == name:
                writer.table(name, change(store.table(name)))
            else:
                writer.copy_table(store, table.name)
        kept = set(store.manifest) - {"schema_version", "kind", "files"} if keep_facts else {"commitment_key"}
        writer.facts(**{fact: store.manifest[fact] for fact in sorted(kept)})
    return path


def with_other_homes(source: Path, path: Path, *, keep_facts: bool = False) -> Path:
    """Write the same dataset with everybody living in the block of the workplace: only confidential numbers differ."""

    def all_at_home(jobs: Any) -> Any:
        keys = ["destination_index", "age", "earnings", "industry"]
        merged = jobs.groupby(keys, as_index=False)["count"].sum()
        return merged.assign(origin_index=merged["destination_index"])[list(jobs.columns)]

    return with_other_table(source, path, "jobs", all_at_home, keep_facts=keep_facts)
