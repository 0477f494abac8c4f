"""A map's legend as content, drawn as HTML on the page (`assets/legend.js`) and in ink on paper (`paper/legend.py`).

To give a map a legend, return a `Legend` from its function in `mapapp.show.content.map_legends`; nothing else is
needed.

==========  ==============================================  =================================================
kind        `items`                                         also
==========  ==============================================  =================================================
classes     colors side by side in one horizontal ramp      `ticks`: texts at the borders and the extremes
ramp        stops of a continuous color ramp                `ticks`
circles     nested circles, the largest first; `size`       –
swatches    a dot each; `more` is its count                 –
lines       strokes as wide as `size`                       –
none        nothing is drawn                                –
==========  ==============================================  =================================================
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Kind = Literal["classes", "ramp", "circles", "swatches", "lines", "none"]


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a legend.

    Attributes
    ----------
    text : str
        What it stands for, such as "40 to 79". On a ramp with ticks, only screen readers are told.
    color : str
        CSS color; empty for the color of the land.
    size : float
        Width of a line or diameter of a circle, CSS pixels.
    opacity : float
    more : str
        A quieter second text, such as a count.
    is_hatched : bool
        Whether the color is under hatching.
    """

    text: str
    color: str
    size: float = 0.0
    opacity: float = 1.0
    more: str = ""
    is_hatched: bool = False


@dataclass(frozen=True, slots=True)
class Legend:
    """The content of a legend.

    Attributes
    ----------
    kind : {"classes", "ramp", "circles", "swatches", "lines", "none"}
    title : str
        What is measured, such as "Jobs per square mile".
    items : tuple of Item
    ticks : tuple of (float, str)
        Texts below a ramp, and their place from 0 to 1.
    outlines : tuple of Item
        Borders of the chosen areas. Only paper draws them, because the page's panel names the areas.
    notes : tuple of str
        Sentences in small letters at the end.
    line : str
        One line below the title, such as whose workers are counted.
    extras : tuple of Item
        What is not on the scale, as boxes below it: no workers, not covered, not certain.
    """

    kind: Kind
    title: str = ""
    items: tuple[Item, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    outlines: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    line: str = ""
    extras: tuple[Item, ...] = ()

    def as_meta(self) -> dict[str, object] | None:
        """Return the legend as JSON for a figure's `layout.meta`; None if there is nothing to draw."""
        return None if self.kind == "none" else asdict(self)
