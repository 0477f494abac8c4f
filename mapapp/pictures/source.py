"""What stands below every picture: where its numbers come from, and what is promised of them."""

from __future__ import annotations

from typing import Final

from mapapp.pages import words
from mapapp.pictures.paper import LEADING, Sheet, wrapped
from mapapp.queries.release import ServedRelease

_POINTS: Final = 7.0


def source_words(release: ServedRelease) -> str:
    """Source, year, epsilon, delta and accountant in one line."""
    certificate = release.certificate
    grounds = f" · {words.grounds(certificate)}" if words.is_private(certificate) else ""
    return f"Synthetic workers · {words.source_words(release)} · {words.promise(certificate)}{grounds}"


def draw_foot(sheet: Sheet, release: ServedRelease, margin: float) -> float:
    """Write at the lower edge a warning where one is due, the source, and the release; returns the inches it takes."""
    warned = not words.may_be_released(release.certificate)
    texts = (source_words(release), f"Release {release.title} ({release.version}) · CommuteMap")
    inner = sheet.width - 2 * margin
    lines = [line for text in texts for line in wrapped(text, inner, _POINTS, lines=3)]
    lines = ["NOT FOR RELEASE", *lines] if warned else lines
    step = _POINTS * LEADING / 72
    height = len(lines) * step + 0.1
    y = sheet.height - height
    for place, line in enumerate(lines):
        y += step
        strong = warned and not place
        colour = sheet.ground.work if strong else sheet.colours.quiet
        sheet.write(margin, y, line, size=_POINTS, colour=colour, bold=strong)
    return height
