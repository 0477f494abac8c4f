"""The Census Bureau's lists of checksums and of versions, which lie beside the files of LODES.

`lodes_STATE.sha256sum` names each file without `.gz`, because its sha256 is of the decompressed text; a list that names
the compressed file is read as well.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from geodata.errors import SourceFileError

_HEX: Final = frozenset("0123456789abcdef")
_GZIP: Final = b"\x1f\x8b"
_CHUNK: Final = 1 << 20
_LIST: Final = re.compile(r"^(.*_)?lodes_(?P<postal>[a-z]{2})\.sha256sum$", re.IGNORECASE)
_VINTAGE: Final = re.compile(r"\b(20\d{6}(?:_\d{3,6})?)\b")
_FORMAT: Final = re.compile(r"\b([5-9]\.\d)\b")


def is_checksums(path: Path) -> bool:
    """Return whether a file has the name of a list of checksums."""
    return bool(_LIST.match(path.name))


def is_version(path: Path) -> bool:
    """Return whether a file has the name of a state's version file."""
    return path.name.lower() == "version.txt"


def parse_checksums(text: str) -> dict[str, str]:
    """Read what `sha256sum` writes: file name (without directories) to hexadecimal sha256."""
    digests = {}
    for line in text.splitlines():
        digest, _, name = line.strip().partition(" ")
        if len(digest) == 64 and set(digest.lower()) <= _HEX:
            digests[name.strip().lstrip("*").rpartition("/")[2]] = digest.lower()
    return digests


def listed_sha256(listed: Mapping[str, str], name: str) -> str | None:
    """Return the sha256 that a list states for a file, named with or without `.gz`; None if it does not name it."""
    return listed.get(name) or listed.get(name.removesuffix(".gz"))


def agrees(path: Path, expected: str) -> bool:
    """Return whether a sha256 is that of a file's bytes or, if the file is gzip, of the text in it.

    Raises
    ------
    SourceFileError
        The file cannot be read, or is damaged gzip.
    """
    try:
        with path.open("rb") as stream:
            is_gzip = stream.read(2) == _GZIP
            stream.seek(0)
            if hashlib.file_digest(stream, "sha256").hexdigest() == expected:
                return True
        if not is_gzip:
            return False
        digest = hashlib.sha256()
        with gzip.open(path, "rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except (EOFError, OSError, zlib.error) as error:
        raise SourceFileError(f"{path}: cannot be read ({error}); download it again") from error
    return digest.hexdigest() == expected


def version_of(text: str) -> tuple[str | None, str | None]:
    """Return the format version, such as "8.4", and the data vintage that a version file states."""
    formats, vintages = _FORMAT.search(text), _VINTAGE.search(text)
    return formats[1] if formats else None, vintages[1] if vintages else None
