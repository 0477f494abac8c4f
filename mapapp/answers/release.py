"""A release that is open for questions, with its analyses and whatever is computed once from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mapapp.answers.analyses.commute_analyses import CommuteAnalyses
from mapapp.answers.analyses.worker_analyses import WorkerAnalyses
from mapapp.answers.opened_publication import free_slug
from mapapp.answers.release_names import NamedRelease, menu_names, names_apart


class Release(WorkerAnalyses, CommuteAnalyses):
    """A verified release and its analyses; safe to use from several threads at once.

    Parameters
    ----------
    store : Store
        The release's store; :meth:`open` opens it.
    slug : str
        Name of the release in addresses; by default its version.
    report : callable
        Called with (stage, done, total) while the release is prepared, once per machine.
    """


def open_releases(paths: list[Path]) -> dict[str, Release]:
    """Open releases, in the given order, by name in addresses; a number is added to repeated names."""
    releases: dict[str, Release] = {}
    for path in paths:
        slug = free_slug(path, releases)
        releases[slug] = Release.open(path, slug)
    return releases


def names_of(releases: Sequence[Release]) -> dict[str, str]:
    """Return a distinct title for each release, by its name in addresses."""
    return dict(zip((release.slug for release in releases), names_apart(_name_parts(releases)), strict=True))


def menu_names_of(releases: Sequence[Release]) -> dict[str, str]:
    """Return a distinct name for each release in a narrow menu, by its name in addresses."""
    return dict(zip((release.slug for release in releases), menu_names(_name_parts(releases)), strict=True))


def _name_parts(releases: Sequence[Release]) -> list[NamedRelease]:
    return [(release.title, release.promise, release.version) for release in releases]
