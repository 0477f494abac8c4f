"""What every callback needs: the releases, and how an address is read against them."""

from __future__ import annotations

from dataclasses import dataclass

from mapapp.queries.release import ServedRelease
from mapapp.url_state import ViewState, from_query


@dataclass(frozen=True, slots=True)
class Views:
    """The releases an app serves, by their names in addresses, and where the app is mounted."""

    releases: dict[str, ServedRelease]
    prefix: str = "/"

    def parse(self, query: str | None) -> tuple[ViewState, tuple[str, ...]]:
        """State of an address, and notes on what of it was left out."""
        return from_query(query, releases=self.releases, is_area=self._is_area)

    def release(self, state: ViewState) -> ServedRelease:
        """The release a state is about."""
        return self.releases[state.release] if state.release else next(iter(self.releases.values()))

    def _is_area(self, release: str, area: str) -> bool:
        return area in self.release(ViewState(release=release)).areas
