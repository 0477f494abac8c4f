"""A release on a server: its facts, its areas, and its answers, each computed once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mapapp.answers.analyses import Release
from mapapp.answers.attributes import Attributes
from mapapp.answers.measures import caution
from mapapp.answers.release_names import NamedRelease, menu_names, names_apart
from mapapp.answers.served_publication import ServedPublication, free_slug

__all__ = ["ServedRelease", "caution", "names_of", "open_releases"]


class ServedRelease(ServedPublication):
    """A verified release, opened for reading.

    Parameters
    ----------
    release : Path or Release
        Directory of the release (a dataset is refused with StoreError), or the open release itself.
    slug : str
        Name of the release in addresses.
    """

    def __init__(self, release: Path | Release, slug: str) -> None:
        self.analyses = release if isinstance(release, Release) else Release.open(release)
        super().__init__(
            self.analyses.store, self.analyses.areas, self.analyses.certificate, self.analyses.version, slug
        )

    @property
    def attributes(self) -> Attributes:
        """The attributes of its workers."""
        return self.analyses.attributes

    def covers(self, areas: tuple[str, ...]) -> bool:
        """Return whether the release may contain workplaces in any of the areas; True if unknown."""
        blocks = self.areas.blocks(areas)
        if blocks is None or not self.covered_states:
            return True
        states = self.store.table("blocks", ["state_id"])["state_id"]
        return bool(states.iloc[blocks].isin(self.covered_states).any())


def open_releases(paths: list[Path]) -> dict[str, ServedRelease]:
    """Open releases, in the given order, by name in addresses; a number is added to repeated names."""
    found: dict[str, ServedRelease] = {}
    for path in paths:
        slug = free_slug(path, found)
        found[slug] = ServedRelease(path, slug)
    return found


def names_of(releases: Sequence[ServedRelease]) -> dict[str, str]:
    """Return a distinct title for each release, by its name in addresses."""
    return dict(zip((release.slug for release in releases), names_apart(_known(releases)), strict=True))


def menu_names_of(releases: Sequence[ServedRelease]) -> dict[str, str]:
    """Return a distinct name for each release in a narrow menu, by its name in addresses."""
    return dict(zip((release.slug for release in releases), menu_names(_known(releases)), strict=True))


def _known(releases: Sequence[ServedRelease]) -> list[NamedRelease]:
    return [(release.title, release.analyses.promise, release.version) for release in releases]
