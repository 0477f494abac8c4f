"""Distinct names for releases: two releases of one dataset usually have the same title and year."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

NamedRelease: TypeAlias = tuple[str, Mapping[str, object], str]
"""Title, promise, and first digits of the manifest's sha256 of a release."""

_DIGITS: Final = 8
_PRESETS: Final = {"recommended": "recommended preset", "onthemap-v3": "OnTheMap V3 preset"}


def preset_words(preset: object) -> str:
    """Return a preset of `synthesize` in plain words; empty if the preset is unknown."""
    return _PRESETS.get(preset, "") if isinstance(preset, str) else ""


def setting_words(promise: Mapping[str, object]) -> str:
    """Return preset and epsilon of a release in a few words, such as ``recommended preset, ε = 6.5``.

    A release that was made with options of its own is named by its mechanism, as ``ε = 4, exponential``.

    Parameters
    ----------
    promise : mapping
        As `mapapp.answers.analyses.about.About.promise`.
    """
    epsilon, mechanism = promise.get("epsilon_final"), promise.get("mechanism")
    stated = f"ε = {epsilon:.3g}" if isinstance(epsilon, (int, float)) else ""
    preset = preset_words(promise.get("preset"))
    kind = {"records": "worker records", "published": "as published"}.get(str(promise.get("kind")), preset)
    parts = (kind, stated) if kind else (stated, mechanism)
    return ", ".join(part for part in parts if isinstance(part, str) and part)


def names_apart(releases: Sequence[NamedRelease]) -> list[str]:
    """Name releases so that no two names are the same.

    Parameters
    ----------
    releases : sequence of tuple
        Title, promise, and first digits of the manifest's sha256 of each release.

    Returns
    -------
    list of str
        The title alone if no other release has it, else title and setting. If the settings are equal, too, the first
        digits of the checksum come before the setting.
    """
    pairs = zip(releases, _what_differs(releases), strict=True)
    return [f"{title} ({differs})" if differs else title for (title, _, _), differs in pairs]


def menu_names(releases: Sequence[NamedRelease]) -> list[str]:
    """Name releases for a narrow menu: if all have one title, by what differs alone.

    Parameters and results are otherwise those of :func:`names_apart`.
    """
    if len(releases) < 2 or len({title for title, _, _ in releases}) > 1:
        return names_apart(releases)
    named = _what_differs(releases)
    for words in ("recommended", "worker records"):
        named = [differs.replace(words, words.capitalize(), 1) for differs in named]
    return named


def _what_differs(releases: Sequence[NamedRelease]) -> list[str]:
    """Return what sets each release apart from others of its title; empty if it is the only one."""
    titles = [title for title, _, _ in releases]
    settings = [(title, setting_words(promise)) for title, promise, _ in releases]
    differs = []
    for (title, setting), (_, _, digest) in zip(settings, releases, strict=True):
        clear = setting and settings.count((title, setting)) == 1
        parts = [setting] if clear else [digest[:_DIGITS], setting]
        differs.append("" if titles.count(title) == 1 else ", ".join(part for part in parts if part))
    return differs
