"""A store's description of itself, `manifest.json`, checked before anything in it is used."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.store.regular_files import FileState, parse_object, read_state

MANIFEST: Final = "manifest.json"

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MOST_ROWS: Final = 1 << 62


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_ROWS


def _is_year(value: object) -> bool:
    # Any number: the certificate says whether it is the published one, in the same spelling.
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 9999
    )


def _is_text_or_none(value: object) -> bool:
    return value is None or _is_text(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _is_text_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_vintage(value: object) -> bool:
    return isinstance(value, dict) and all(
        _is_text_or_none(census) or _is_count(census) for census in value.values()
    )


def _is_count_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_sha256(value: object) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


_FACTS: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "title": (_is_text_or_none, "a line of text"),
    "year": (_is_year, "a year"),
    "job_type": (_is_text_or_none, "a line of text"),
    "vintage": (_is_vintage, "an object of texts or years"),
    "destination_states": (_is_texts, "a list of texts"),
    "residents_only": (_is_texts, "a list of texts"),
    "segments": (_is_text, "a word"),
    "counts_are_public": (_is_text_or_none, "a line of text"),
    "segments_by": (_is_texts, "a list of texts"),
    "workplaces_by": (_is_text, "a word"),
    "assigned_segments": (_is_count_by_name, "an object of whole numbers"),
    "layers": (_is_objects, "a list of objects"),
    "sources": (_is_objects, "a list of objects"),
    "n_jobs": (_is_count, "a whole number from 0 on"),
    "elsewhere": (_is_count_by_name, "an object of whole numbers"),
    "outflow": (_is_count_by_name, "an object of whole numbers"),
    "notes": (_is_texts, "a list of texts"),
    "commitment_key": (_is_sha256, "64 hexadecimal digits"),
    "budget": (_is_text_by_name, "an object of texts"),
    "characteristics": (_is_objects, "a list of objects"),
    "worker_attributes": (_is_objects, "a list of objects"),
    "persons": (lambda value: value is True, "true"),
    "edit_rules": (_is_texts, "a list of texts"),
    "worker_never": (_is_objects, "a list of objects"),
    "last_release": (_is_object, "an object"),
    "zones": (_is_object, "an object"),
}
"""Facts that a manifest may state: the check of each, and the same in words."""


def read_manifest(path: Path) -> JsonObject:
    """Read a store's manifest; StoreError if it is missing or malformed."""
    return read_manifest_state(path)[0]


def read_manifest_state(path: Path) -> tuple[JsonObject, FileState]:
    """Read a store's manifest, and return the state of the file as well.

    Raises
    ------
    StoreError
        The manifest, or a field of it, is missing, or a field has the wrong type.
    """
    if not path.exists():
        raise StoreError(f"{path}: no such directory; check the path")
    file = path / MANIFEST
    if not path.is_dir() or not _is_there(file):
        raise StoreError(
            f"{path}: no {MANIFEST} in it, so it is neither a dataset nor a publication; check the path"
        )
    state = read_state(file)
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != state.sha256:
        raise StoreError(f"{file}: was changed while it was read; run again")
    manifest = parse_object(content, file, finite=True)
    _check_entries(file, manifest)
    for name, (is_good, wanted) in _FACTS.items():
        if name in manifest and not is_good(manifest[name]):
            raise StoreError(
                f"{file}: {name!r} is {_short(manifest[name])}, but must be {wanted}; make the store again"
            )
    return manifest, state


def _check_entries(file: Path, manifest: JsonObject) -> None:
    if not isinstance(manifest.get("files"), dict):
        raise StoreError(f"{file}: not a CommuteMap manifest (no `files`); make the store again")
    for name, facts in manifest["files"].items():
        if not name or name in (".", "..", MANIFEST) or Path(name).name != name or not name.isprintable():
            raise StoreError(
                f"{file}: {name!r} cannot be the name of a file in a store; make the store again"
            )
        rows = facts.get("rows", 0) if isinstance(facts, dict) else None
        good = isinstance(facts, dict) and _is_sha256(facts.get("sha256")) and _is_count(facts.get("bytes"))
        if not good or not _is_count(rows) or name.endswith(".parquet") is not ("rows" in facts):
            raise StoreError(
                f"{file}: the entry of {name!r} is {_short(facts)}; it must have sha256, bytes and, for a table, rows; "
                "make the store again"
            )


def _is_there(file: Path) -> bool:
    return file.is_symlink() or file.exists()


def _short(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except RecursionError:
        text = "…"
    return text if len(text) <= 60 else f"{text[:60]}…"
