"""What a certificate says of its inputs and of the software that read them."""

from __future__ import annotations

import hashlib
import hmac
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["keyed_file_hash", "software_versions"]

_CHUNK = 1 << 20


def keyed_file_hash(key: bytes, path: Path) -> str:
    """HMAC-SHA256 of a confidential file under the commitment key, in hexadecimal."""
    code = hmac.new(key, digestmod=hashlib.sha256)
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            code.update(chunk)
    return code.hexdigest()


def software_versions() -> dict[str, str]:
    """Versions of what computed the release."""
    versions = {"python": platform.python_version()}
    for name in ("commutemap", "numpy", "scipy", "numba"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions
