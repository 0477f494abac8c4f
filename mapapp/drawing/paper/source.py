"""The footer of every picture: source, privacy promise, and release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mapapp.answers import words
from mapapp.answers.release import Release
from mapapp.drawing.paper.paper import LEADING, Sheet, wrapped

_POINTS: Final = 7.0
_STEP_IN: Final = _POINTS * LEADING / 72
_WARNING: Final = "NOT FOR RELEASE"


def source_words(release: Release) -> str:
    """Source, year, epsilon, delta and accountant in one line."""
    certificate = release.certificate
    promise = f"{words.promise(certificate)} · {words.grounds(certificate)}"
    return f"Synthetic workers · {words.source_words(release)} · {promise}"


@dataclass(frozen=True, slots=True)
class Foot:
    """The lines at the lower edge of a picture.

    Attributes
    ----------
    texts : tuple of str
        Source and publication.
    is_for_release : bool
        Otherwise a warning comes before them.
    """

    texts: tuple[str, ...]
    is_for_release: bool


def foot_of(release: Release) -> Foot:
    """The footer of pictures of a release."""
    texts = (source_words(release), f"Release {release.title} ({release.version}) · CommuteMap")
    return Foot(texts, words.may_be_released(release.certificate))


def foot_height_in(foot: Foot, width: float) -> float:
    """Height in inches of the footer on a sheet with `width` inches between its margins."""
    return len(_lines(foot, width)) * _STEP_IN + 0.1


def draw_foot(sheet: Sheet, foot: Foot, margin: float) -> None:
    """Write the source and the publication at the lower edge, and before them the warning if there is one."""
    inner = sheet.width - 2 * margin
    y = sheet.height - foot_height_in(foot, inner)
    for line in _lines(foot, inner):
        y += _STEP_IN
        strong = line == _WARNING
        color = sheet.scheme.work if strong else sheet.colors.quiet
        sheet.write(margin, y, line, size=_POINTS, color=color, bold=strong)


def _lines(foot: Foot, width: float) -> list[str]:
    warning = [] if foot.is_for_release else [_WARNING]
    return [*warning, *(line for text in foot.texts for line in wrapped(text, width, _POINTS, lines=3))]
