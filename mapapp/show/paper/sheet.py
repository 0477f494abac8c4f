"""A sheet to draw on in inches, saved as PNG or SVG with reproducible bytes.

Matplotlib draws without a display, a browser or the network. It ignores the user's settings and uses only its own
font, so a picture is the same on every machine. For the same reason, text becomes outlines in SVG. Text is never
markup: a name with a dollar sign is not mathematics.
"""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal, TypedDict, Unpack
from xml.sax.saxutils import escape

import matplotlib
import matplotlib.style
import numpy
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle
from matplotlib.textpath import text_to_path
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from mapapp.base.errors import UsageError
from mapapp.show.content.palette import ColorScheme

Form = Literal["png", "svg"]
PIXELS_PER_INCH: Final = 96  # at scale 1
POINTS_PER_PIXEL: Final = 72 / PIXELS_PER_INCH
MAX_SCALE: Final = 4
MAX_INCHES: Final = 40.0
LEADING: Final = 1.32
_LOCK: Final = RLock()  # matplotlib's settings are global to the process
_FONTS: Final = {"regular": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf"}
_SELECTORS: Final = frozenset(map(chr, range(0xFE00, 0xFE10)))  # variation selectors
_MISSING: Final = "\N{WHITE SQUARE}"
_SQUEEZE: Final = 3  # of 9: takes half the time of 6 for the same size


_STYLE: Final[dict[str, object]] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "commutemap",
    "svg.id": None,
    "text.hinting": "no_hinting",  # letters have the same width at every scale and when measured
    "path.simplify": True,
    "axes.unicode_minus": True,
}


class LineLook(TypedDict, total=False):
    """What a line or its marks can look like, as matplotlib names it."""

    marker: str
    markersize: float
    markerfacecolor: str
    markeredgecolor: str
    markeredgewidth: float
    alpha: float
    solid_capstyle: Literal["butt", "projecting", "round"]


@dataclass(frozen=True, slots=True)
class SheetColors:
    """The colors of a sheet.

    Attributes
    ----------
    paper, ink, quiet, rule : str
        Background, text, secondary text, and thin lines.
    """

    paper: str
    ink: str
    quiet: str
    rule: str
    bar: str
    warn: str


def sheet_colors(scheme: ColorScheme) -> SheetColors:
    """The colors of a sheet around a map with this color scheme."""
    if scheme.ink == "#1c2630":
        return SheetColors("#ffffff", scheme.ink, "#55616e", "#dce1e7", "#2a6db5", "#8a6100")
    return SheetColors("#18212a", scheme.ink, "#a9b5c1", "#2c3742", "#5a9be0", "#e0b64a")


class Sheet:
    """A page whose coordinates are inches from the left and top.

    Parameters
    ----------
    size_in : tuple of float
        Width and height, inches.
    scheme : ColorScheme
        Light or dark.
    """

    def __init__(self, size_in: tuple[float, float], scheme: ColorScheme) -> None:
        # Whole pixels, plus a little against rounding down, so that four times the scale gives four times the pixels.
        self.width, self.height = (
            (round(length_in * PIXELS_PER_INCH) + 1e-6) / PIXELS_PER_INCH for length_in in size_in
        )
        self.scheme = scheme
        self.colors = sheet_colors(scheme)
        self.figure = Figure(
            figsize=(self.width, self.height), dpi=PIXELS_PER_INCH, facecolor=self.colors.paper
        )

    def axes(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        *,
        projection: Literal["polar"] | None = None,
    ) -> Axes:
        """Add axes with their own units, without ticks, frame or background."""
        box = (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        axes: Axes = self.figure.add_axes(box, projection=projection)
        axes.set_axis_off()
        return axes

    def write(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        color: str | None = None,
        bold: bool = False,
        align: str = "left",
        vertical: str = "baseline",
        rotation: float = 0.0,
    ) -> None:
        """Write one line of text; `size` is in points."""
        self.figure.text(
            x / self.width,
            1 - y / self.height,
            printable(text, bold=bold),
            fontproperties=font(size, bold=bold),
            color=color or self.colors.ink,
            ha=align,
            va=vertical,
            rotation=rotation,
            rotation_mode="anchor",
            parse_math=False,
        )

    def block(
        self,
        x: float,
        y: float,
        text: str,
        *,
        width: float,
        size: float,
        lines: int = 3,
        color: str | None = None,
        bold: bool = False,
    ) -> float:
        """Write text in lines below `y`; returns where the next block begins."""
        step = size * LEADING / 72
        for line in wrap_text(text, width, size, bold=bold, lines=lines):
            self.write(x, y + 0.78 * step, line, size=size, color=color, bold=bold)
            y += step
        return y

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        color: str,
        edge: str = "none",
        line: float = 0.6,
    ) -> None:
        """Draw a filled rectangle from its upper left."""
        self.figure.add_artist(
            Rectangle(
                (x / self.width, 1 - (y + height) / self.height),
                width / self.width,
                height / self.height,
                transform=self.figure.transFigure,
                facecolor=color,
                edgecolor=edge,
                linewidth=line,
            )
        )

    def shape(self, corners: list[tuple[float, float]], color: str) -> None:
        """Draw a filled polygon."""
        places = [(x / self.width, 1 - y / self.height) for x, y in corners]
        self.figure.add_artist(
            Polygon(places, closed=True, transform=self.figure.transFigure, facecolor=color, edgecolor="none")
        )

    def line(
        self, x: list[float], y: list[float], color: str, width: float, **look: Unpack[LineLook]
    ) -> None:
        """Draw a line through places; `width` is in points."""
        places = [x_in / self.width for x_in in x], [1 - y_in / self.height for y_in in y]
        self.figure.add_artist(
            Line2D(*places, color=color, linewidth=width, transform=self.figure.transFigure, **look)
        )


@contextmanager
def drawing() -> Iterator[None]:
    """Apply our matplotlib settings; all drawing must happen in this context."""
    with _LOCK, matplotlib.style.context(["default", _STYLE]):
        yield


def encode_sheet(sheet: Sheet, form: Form, scale: int, title: str, words: str) -> bytes:
    """Return the sheet as a file with reproducible bytes.

    Parameters
    ----------
    form : {"png", "svg"}
    scale : int
        1 to 4 times 96 pixels per inch; in SVG, for the parts that are pixels.
    title, words : str
        Title and description for screen readers, stored in the file.
    """
    if form == "png":
        return _png(sheet, scale, {"Title": title, "Description": words})
    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    sheet.figure.savefig(buffer, format="svg", dpi=PIXELS_PER_INCH * max(scale, 2), metadata=nothing)
    return _plain_svg(buffer.getvalue().decode("utf-8"), title, words).encode("utf-8")


def check(form: str, scale: int, size_in: tuple[float, float]) -> None:
    """Refuse an invalid picture request.

    Raises
    ------
    UsageError
        If form, scale or size is invalid.
    """
    if form not in ("png", "svg"):
        raise UsageError(f"picture format {form[:20]!r}; choose png or svg")
    if isinstance(scale, bool) or not isinstance(scale, int) or not 1 <= scale <= MAX_SCALE:
        raise UsageError(f"picture scale {scale!r}; choose 1 to {MAX_SCALE}")
    is_pair = isinstance(size_in, (tuple, list)) and len(size_in) == 2
    if not is_pair or not all(1.0 <= length <= MAX_INCHES for length in size_in):
        raise UsageError(f"picture size {size_in} inches; choose 1 to {MAX_INCHES:g} for each side")


def font(size: float, *, bold: bool = False) -> FontProperties:
    """The font that comes with matplotlib."""
    return FontProperties(fname=str(_font_file(bold)), size=size)


def printable(text: str, *, bold: bool = False) -> str:
    """Text on one line that the font can write; missing characters become squares."""
    known = get_font(str(_font_file(bold)))
    flat = " ".join(unicodedata.normalize("NFC", text).split())
    letters = []
    for letter in flat:
        if unicodedata.category(letter) in ("Cf", "Cc") or letter in _SELECTORS:
            continue  # joiners and similar characters have no shape
        letters.append(letter if known.get_char_index(ord(letter)) else _MISSING)
    return "".join(letters)


@lru_cache(maxsize=4096)  # names and notes repeat in every picture of a release
def width_in(text: str, size: float, *, bold: bool = False) -> float:
    """Width of a line of text, inches."""
    if not text:
        return 0.0
    extents = text_to_path.get_text_width_height_descent(
        printable(text, bold=bold), font(size, bold=bold), False
    )
    return float(extents[0]) / 72


def fit_text(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Text cut with an ellipsis if it is wider than `width` inches."""
    text = printable(text, bold=bold)
    if width_in(text, size, bold=bold) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if width_in(f"{text[:middle].rstrip()}…", size, bold=bold) <= width:
            low = middle
        else:
            high = middle - 1
    return f"{text[:low].rstrip()}…"


def wrap_text(text: str, width: float, size: float, *, bold: bool = False, lines: int = 3) -> list[str]:
    """Text in at most `lines` lines of `width` inches; the rest is cut."""
    wrapped_lines: list[str] = []
    words = printable(text, bold=bold).split()
    while words and len(wrapped_lines) < lines:
        n_words = 1
        while n_words < len(words) and width_in(" ".join(words[: n_words + 1]), size, bold=bold) <= width:
            n_words += 1
        if len(wrapped_lines) == lines - 1:
            n_words = len(words)
        wrapped_lines.append(fit_text(" ".join(words[:n_words]), width, size, bold=bold))
        words = words[n_words:]
    return wrapped_lines


def _font_file(bold: bool) -> Path:
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FONTS["bold" if bold else "regular"]


def _png(sheet: Sheet, scale: int, about: dict[str, str]) -> bytes:
    """The sheet as an opaque PNG."""
    sheet.figure.set_dpi(PIXELS_PER_INCH * scale)
    canvas: Any = FigureCanvasAgg(sheet.figure)
    canvas.draw()
    notes = PngInfo()
    for name, text in about.items():
        notes.add_itxt(name, printable(text))
    buffer = io.BytesIO()
    dpi = (PIXELS_PER_INCH * scale,) * 2
    with Image.fromarray(numpy.asarray(canvas.buffer_rgba())) as image:
        image.convert("RGB").save(buffer, "PNG", pnginfo=notes, dpi=dpi, compress_level=_SQUEEZE)
    return buffer.getvalue()


def _plain_svg(text: str, title: str, words: str) -> str:
    """An SVG for embedding in a page: no document type, unique ids, and a description."""
    text = text[text.index("<svg ") :]
    mark = hashlib.sha256(text.encode()).hexdigest()[:8]
    text = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>c{mark}-", text)
    # A precision of 0.01 point is enough and halves the size.
    text = re.sub(r'\sd="[^"]*"', lambda match: re.sub(r"(\.\d\d)\d+", r"\1", match[0]), text)
    head, _, rest = text.partition(">")
    about = f"<title>{escape(printable(title))}</title>\n <desc>{escape(printable(words))}</desc>"
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head} role="img">\n {about}{rest}'
