"""What a certificate says of its inputs and of the software that read them."""

from __future__ import annotations

import hashlib
import hmac
import platform
import secrets
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["TEST_RUN_ID", "keyed_file_hash", "new_run_id", "software_versions"]

TEST_RUN_ID = "0" * 32
"""Of every run under the published test key, so that its certificate can be repeated."""

_CHUNK = 1 << 20


def new_run_id(*, is_test: bool) -> str:
    """Draw the public id of a run, by which its ledger line and its certificate find each other: 32 hex digits."""
    return TEST_RUN_ID if is_test else secrets.token_hex(16)


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
