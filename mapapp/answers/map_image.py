"""The map of an answer as a picture, for notebooks and files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mapapp.base.errors import UsageError


@dataclass(frozen=True, slots=True)
class MapImage:
    """A map with its title, legend, scale, source and promise.

    Attributes
    ----------
    content : bytes
        A PNG or SVG file.
    form : {"png", "svg"}
    words : str
        Description of the map for people who cannot see it.
    """

    content: bytes = field(repr=False)
    form: Literal["png", "svg"]
    words: str

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file; an existing file is replaced.

        Raises
        ------
        UsageError
            If the suffix of the file name does not match the form.
        """
        file = Path(path)
        if file.suffix.lower() != f".{self.form}":
            raise UsageError(
                f"{file}: this picture is {self.form.upper()}; give a file name that ends in .{self.form}"
            )
        file.write_bytes(self.content)
        return file

    def _repr_png_(self) -> bytes | None:
        return self.content if self.form == "png" else None

    def _repr_svg_(self) -> str | None:
        return self.content.decode() if self.form == "svg" else None
