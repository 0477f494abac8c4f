"""The areas of a release: their names, their layers, and the blocks they contain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final
from weakref import WeakValueDictionary

from geodata.progress import Progress, silent
from geodata.store.store import Store
from mapapp.answers.areas.area import Area
from mapapp.answers.areas.cells import Cells
from mapapp.answers.areas.outlines import Outlines
from mapapp.answers.areas.search import AreaSearch, Findable, entry_of_area, findable_areas, landmarks_of
from mapapp.answers.areas.selection import Selected, Selection
from mapapp.answers.areas.unit_names import base_name, name_parts
from mapapp.answers.areas.units import ReleaseUnits
from mapapp.answers.areas.usual_layers import UsualLayers
from mapapp.answers.commutes.pick import Blocks
from mapapp.answers.commutes.prepared import Lease, geography_digest, prepare_cells
from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.base.result_cache import ResultCache
from mapapp.question.area_text import BLOCK, Step, area_text, parse_area
from mapapp.question.question import EVERYTHING

# The areas and landmarks of a release by name: the search box, commands, and sentences look here.
#
# All of them use one index and one order, so that a name means the same area wherever it is typed.


class AreaNames:
    """An index of areas by name; safe to use from several threads.

    Parameters
    ----------
    findable : sequence of Findable
        In the order in which equally good matches are listed.
    """

    def __init__(self, findable: Sequence[Findable]) -> None:
        self.areas = [entry.area for entry in findable]
        self._ranks = [entry.rank for entry in findable]
        self._index = AreaSearch([entry_of_area(area) for area in self.areas])

    def search(self, text: str, limit: int, *, near: bool = False) -> tuple[list[Area], bool]:
        """Return at most `limit` areas whose names have every word of a text, and whether they are a guess.

        If nothing matches and `near` is true, return what may be meant.
        """
        matches = self._index.find(text, limit, near=near)
        return self._list_areas(matches.rows), matches.is_guess

    def meant_by(self, text: str) -> list[Area]:
        """Return the areas that people most likely mean by a name, with or without a state: usually one."""
        rows = self._index.find_called(text)
        best = min((self._ranks[row] for row in rows), default=None)
        return self._list_areas(row for row in sorted(rows) if self._ranks[row] == best)

    def longest_at(self, words: Sequence[str], first: int) -> tuple[list[Area], int]:
        """Return the areas with the longest name that starts at a word, and how many words it takes up."""
        rows, count = self._index.longest_at(words, first)
        return self._list_areas(rows), count

    def named(self, words: Sequence[str]) -> list[Area]:
        """Return the areas that have a name with exactly these words."""
        return self._list_areas(self._index.named(words))

    def spelled_like(self, words: Sequence[str]) -> list[Area]:
        """Return the areas whose name some words almost spell."""
        return self._list_areas(self._index.spelled_like(words))

    def with_key(self, key: str) -> Area | None:
        """Return the area with a key; None without one."""
        return self._by_key.get(key)

    @cached_property
    def _by_key(self) -> dict[str, Area]:
        return {area.key: area for area in self.areas}

    def _list_areas(self, rows: Iterable[int]) -> list[Area]:
        return [self.areas[row] for row in rows]


_SHOWN: Final = 5
_BLOCK_DIGITS: Final = 15


class Areas(ReleaseUnits):
    """Every area of one release; safe to use from several threads.

    Parameters
    ----------
    store : Store
    cells : Cells, optional
        Without them, drawn areas cannot be selected.
    folder : Path, optional
        Folder for the outlines of layers, needed along with the cells.
    lease : Lease, optional
        Protects the folder from eviction.

    Attributes
    ----------
    shapes : ResultCache
        What follows from the geography alone, each computed once (`OpenedPublication.once`).
    """

    def __init__(
        self,
        store: Store,
        cells: Cells | None = None,
        folder: Path | None = None,
        lease: Lease | None = None,
    ) -> None:
        super().__init__(store, cells)
        self.shapes: ResultCache[object] = ResultCache()
        self._lease = lease
        self._selected: ResultCache[Selected] = ResultCache(max_entries=memory_limits.AREAS)
        self._outlines = Outlines(store, self, folder) if folder is not None else None
        self._selection = Selection(self, lambda: self.outlines)
        self.usual = UsualLayers(self, self.select)

    @property
    def outlines(self) -> Outlines:
        """The outlines of areas."""
        if self._outlines is None:
            raise AssertionError("these areas were made without a folder for outlines")
        return self._outlines

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._named

    def __getitem__(self, key: str) -> Area:
        """Return the area with a key such as `county:44007`, or with a name.

        Raises
        ------
        UsageError
            If there is no such area; the message has the nearest names.
        """
        area = self._named.get(key)
        if area is not None:
            return area
        if not isinstance(key, str) or _is_written(key):
            raise self._unknown_area(str(key), str(key).rpartition(":")[2])
        return self._unit_named(key)

    def search(self, text: str | int, limit: int = 12, *, near: bool = False) -> list[Area]:
        """Find areas and landmarks whose name or identifier has every word of `text`, best matches first.

        If nothing matches and `near` is true, find what may be meant; :meth:`search_or_guess` says whether it did.
        """
        return self.search_or_guess(text, limit, near=near)[0]

    def search_or_guess(
        self, text: str | int, limit: int = 12, *, near: bool = True
    ) -> tuple[list[Area], bool]:
        """Find areas as :meth:`search` does; also return whether they are a guess at what is meant."""
        return self.names.search(str(text), limit, near=near)

    @cached_property
    def names(self) -> AreaNames:
        """The index of everything that can be found by name; it is made on first use."""
        return AreaNames(findable_areas(self, self.usual.named, [*self.named(), *landmarks_of(self._store)]))

    def blocks(self, keys: Iterable[str]) -> Blocks | None:
        """Return positions of the blocks in an area: int32, ascending; None for everything, or without steps.

        A key is one step, written as in `mapapp.question.area_text`; a plain `level:identifier` adds that unit.
        """
        text = " ".join(keys)
        return self.select(text).blocks if text else None

    def select(self, area: str | Sequence[Step]) -> Selected:
        """Find the blocks of an area.

        Parameters
        ----------
        area : str or sequence of Step
            As `mapapp.question.area_text` writes it.

        Raises
        ------
        UsageError, GeometryError
            If it is not an area, or names a unit that this release does not have.
        """
        if isinstance(area, str) and (known := self._selected.get(area)) is not None:
            return known
        steps = parse_area(area) if isinstance(area, str) else tuple(area)
        text = area_text(steps)
        selected = self._selected.get_or_make(text, lambda: self._selection.of(steps))
        if isinstance(area, str) and area != text:
            self._selected.put(area, selected)  # so that it need not be parsed again
        return selected

    def forget(self) -> None:
        """Drop the cached selections; they are computed again on request."""
        self._selected.clear()
        self._selection.forget()

    def find(self, text: str) -> str:
        """Return an area as text; `text` is such a text already, or the name or the identifier of one unit.

        A full name comes first, then a shorter one, such as "Providence" for "Providence city, RI". Of several areas
        with one name, those whose jobs the release has come first; then the layer that people name (towns in states
        where towns govern, places elsewhere), then the other one of these two, counties, and all other layers.

        Raises
        ------
        UsageError
            If no unit has that name; the message lists the nearest names. Also if several units have it; the message
            lists some of them.
        """
        return text if _is_written(text) else self._unit_named(text).key

    def note_on_name(self, text: str) -> str:
        """Return one line that lists other units with the same name; empty without such units.

        Raises
        ------
        UsageError
            As raised by :meth:`find`.
        """
        if _is_written(text) or self._units_with_id(text):
            return ""
        chosen, wanted = self._unit_named(text), _fold_text(text)
        others = [area for area in self._whole_search(text) if _fold_text(base_name(area.names[0])) == wanted]
        rest = [area for area in others if area != chosen]
        if not rest:
            return ""
        more = f"; and {len(rest) - _SHOWN} more" if len(rest) > _SHOWN else ""
        listed = f"{_join_names(rest)}{more}"
        return f"area {text[:60]!r}: using {_join_names([chosen])}; other areas with that name: {listed}"

    def _units_with_id(self, text: str) -> list[Area]:
        """Return the units of all layers, and the block, that have an identifier; none for other texts."""
        unit_id = text.strip()
        if not any(map(str.isdigit, unit_id)):
            return []
        units = [
            self._named[f"{level}:{unit_id}"] for level in self.columns if f"{level}:{unit_id}" in self._named
        ]
        if (
            len(unit_id) == _BLOCK_DIGITS
            and unit_id.isdecimal()
            and self.units(BLOCK).row_of(unit_id) is not None
        ):
            units.append(Area(f"{BLOCK}:{unit_id}", BLOCK, unit_id, f"Block {unit_id}"))
        return units

    def _unit_named(self, text: str) -> Area:
        coded = self._units_with_id(text)
        if len(coded) == 1:
            return coded[0]
        if coded:
            raise UsageError(
                f"area {text[:60]!r}: {len(coded)} units have that identifier, {_join_names(coded)}; give one "
                f"of them, as in {coded[0].key}"
            )
        wanted, matches = _fold_text(text), self._whole_search(text)
        full = [area for area in matches if wanted in map(_fold_text, _long_names(area))]
        # "Providence city" is not the "Providence City" of another layer.
        exact = [area for area in full if text.strip() in _long_names(area)]
        same = exact or full or self.names.meant_by(text)
        if len(same) == 1 or (len(matches) == 1 and wanted):
            return (same or matches)[0]
        if text.strip().isdecimal():
            raise UsageError(
                f"area {text[:60]!r}: no unit of this release has that identifier; a state has 2 digits, a county 5, a "
                "tract 11, a block group 12, and a block 15"
            )
        if matches:
            many = same or matches
            raise UsageError(
                f"area {text[:60]!r}: {len(many):,} units have that name, such as {_join_names(many)}; give one of them"
            )
        raise self._unknown_area(text, text)

    def _unknown_area(self, text: str, words: str) -> UsageError:
        """Return the error about an area that is not here, with the names nearest to some words."""
        near = self.search(words, near=True) if words else []
        remedy = (
            f"the nearest {'names are' if len(near) > 1 else 'name is'} {_join_names(near)}"
            if near
            else "give level:identifier, such as county:44007"
        )
        return UsageError(f"area {text[:60]!r}: no area has that name; {remedy}")

    def _whole_search(self, text: str) -> list[Area]:
        return self.search(text, limit=len(self.names.areas))


def _is_written(text: str) -> bool:
    """Return whether a text is an area rather than a name."""
    return ":" in text or text.strip() == EVERYTHING


def _fold_text(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.lower().split())


def _join_names(areas: list[Area]) -> str:
    return "; ".join(f"{area.key} ({area.names[0]})" for area in areas[:_SHOWN])


def _long_names(area: Area) -> tuple[str, str]:
    """Return the full name of an area, with and without its state."""
    return area.names[0], name_parts(area.names[0])[0]


_OPENED: Final[WeakValueDictionary[tuple[str, ...], Areas]] = WeakValueDictionary()
_OPENING: Final = Lock()


def open_areas(store: Store, *, report: Progress = silent) -> Areas:
    """Return the areas of a verified publication: one for all years that share geography and covered states.

    Parameters
    ----------
    store : Store
    report : callable
        Called with (stage, done, total) while the cells are prepared.
    """
    covered = store.manifest.get("destination_states")
    states = tuple(map(str, covered)) if isinstance(covered, list) else ("",)
    key = (geography_digest(store), *states)
    with _OPENING:
        areas = _OPENED.get(key)
        if areas is None:
            prepared = prepare_cells(store, report=report)
            store = replace(
                store, path=store.path.absolute()
            )  # it may outlive the folder that a path is relative to
            areas = Areas(store, Cells(prepared.cells), prepared.folder, prepared.lease)
            _OPENED[key] = areas
        return areas
