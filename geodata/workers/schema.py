"""Attributes of worker records: their names, public values, and place in the public structure.

Every worker record has a workplace, a home, and the three attributes of a job: age, earnings, and industry. An
agency's records may have further attributes. Their values are listed in public before anybody counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from geodata.errors import GeodataError, StoreError
from geodata.json_objects import JsonMapping, JsonObject
from geodata.store.schema import BOUNDS, INDEX_OF, JOB_LABELS
from geodata.workers.persons import JOB_NUMBER, MOST_JOBS

STANDARD_PARENTS: Final[dict[str, tuple[str, ...]]] = {
    "work_puma": (),
    "home_puma": ("work_puma",),
    "industry": ("work_puma", "home_puma"),
    "earnings": ("work_puma", "home_puma", "industry"),
    "age": ("work_puma", "home_puma", "industry", "earnings"),
    "work_tract": ("work_puma", "industry"),
    "distance_band": ("work_puma", "home_puma"),
}
"""The attributes that every dataset of workers has, and the parents of each in the public structure."""
USUAL_PARENTS: Final = ("industry", "earnings")
"""Parents of a further attribute that names none."""

MOST_VALUES: Final = 2**15
PERSONS: Final = "persons"
"""Fact of a manifest: True if the records say which jobs are one person's."""
_ATTRIBUTE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TAKEN: Final = frozenset(
    {
        *STANDARD_PARENTS,
        *BOUNDS,
        *INDEX_OF,
        *("home_tract", "home_block", "work_block", "workers", "geometry"),
        JOB_NUMBER,
    }
)
"""Names of columns that records and points have anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One further attribute of workers.

    Attributes
    ----------
    name : str
        Name of its column: lower-case letters, digits, and underscores.
    title : str
        As people read it.
    codes : tuple of str
        Code of each value as a source file writes it; a record stores its position, from 0 on.
    labels : tuple of str
        Each value in words.
    parents : tuple of str
        Attributes on which it depends in the public structure, the strongest first: names of `STANDARD_PARENTS` or of
        other further attributes.
    derives : dict of str to tuple of int
        Attributes of the job that follow from this one: for each, the code 1 to 3 of every value in order. A derived
        attribute is never drawn.

    Raises
    ------
    GeodataError
        On construction: the name cannot be a column, values are missing, too many, or repeated, or `derives` does not
        fit them.
    """

    name: str
    title: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    parents: tuple[str, ...] = USUAL_PARENTS
    derives: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not 2 <= len(self.codes) <= MOST_VALUES:
            raise GeodataError(
                f"attribute {self.name!r} has {len(self.codes):,} values; list 2 to {MOST_VALUES:,}"
            )
        if len(self.labels) != len(self.codes):
            raise GeodataError(
                f"attribute {self.name!r} has {len(self.codes):,} codes and {len(self.labels):,} labels; "
                "give every value one label"
            )
        for what, texts in (("code", self.codes), ("label", self.labels)):
            _require_texts_once(self.name, what, texts)
        twice = _first_twice(self.parents)
        if twice is not None:
            raise GeodataError(f"attribute {self.name!r} names the parent {twice!r} twice; remove one")
        for derived, groups in self.derives.items():
            _check_derived(self, derived, groups)

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.codes)

    def as_fact(self) -> JsonObject:
        """The attribute as manifests and certificates list it."""
        return {
            "name": self.name,
            "title": self.title,
            "values": [
                {"code": code, "label": label} for code, label in zip(self.codes, self.labels, strict=True)
            ],
            "parents": list(self.parents),
            "derives": {name: list(groups) for name, groups in self.derives.items()} or None,
        }

    @classmethod
    def from_fact(cls, fact: JsonMapping) -> Attribute:
        """Read an attribute from a manifest or a certificate.

        Raises
        ------
        GeodataError
            A field is missing or has another type, or the attribute is not possible.
        """
        try:
            values = [(str(value["code"]), str(value["label"])) for value in fact["values"]]
            return cls(
                name=str(fact["name"]),
                title=str(fact["title"]),
                codes=tuple(code for code, _ in values),
                labels=tuple(label for _, label in values),
                parents=tuple(map(str, fact["parents"])),
                derives={
                    str(name): tuple(map(int, groups)) for name, groups in (fact["derives"] or {}).items()
                },
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise GeodataError(f"an attribute of workers lacks {error}; make the store again") from error


Never: TypeAlias = Mapping[str, tuple[str, ...]]
"""A combination that no worker has, by definition of the variables: codes of two or more attributes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSchema:
    """The further attributes of a dataset's workers.

    Attributes
    ----------
    attributes : tuple of Attribute
        In the order of the columns of `workers`; none for a dataset made from counts of jobs.
    never : tuple of mapping of str to tuple of str
        Combinations that never occur: no worker has, in all attributes of one of them, one of the listed codes. Age,
        earnings, and industry have codes 1 to 3.
    has_persons : bool
        Whether the records say which jobs are one person's.

    Raises
    ------
    GeodataError
        On construction: a name occurs twice, a parent does not exist, two attributes derive the same, the
        parents go in a circle, or a combination names an attribute or a code that does not exist.
    """

    attributes: tuple[Attribute, ...] = ()
    never: tuple[Never, ...] = ()
    has_persons: bool = False

    def __post_init__(self) -> None:
        names = [attribute.name for attribute in self.attributes]
        twice = _first_twice(names)
        if twice is not None:
            raise GeodataError(f"attribute {twice!r} occurs twice; rename one")
        for attribute in self.attributes:
            for parent in attribute.parents:
                if parent not in STANDARD_PARENTS and parent not in names:
                    raise GeodataError(
                        f"attribute {attribute.name!r} names the parent {parent!r}, which does not exist; "
                        f"allowed are {', '.join([*STANDARD_PARENTS, *names])}"
                    )
        deriving = [name for attribute in self.attributes for name in attribute.derives]
        twice = _first_twice(deriving)
        if twice is not None:
            raise GeodataError(f"two attributes derive {twice!r}; let one derive it")
        _refuse_circle(self.structure())
        for number, combination in enumerate(self.never, 1):
            self._check_never(number, combination)

    def codes_of(self, name: str) -> tuple[str, ...] | None:
        """Codes of a further attribute, or of age, earnings, or industry; None if there is no such attribute."""
        if name in JOB_LABELS:
            return ("1", "2", "3")
        return next((attribute.codes for attribute in self.attributes if attribute.name == name), None)

    def _check_never(self, number: int, combination: Never) -> None:
        where = f"never, combination {number}"
        if len(combination) < 2:
            raise GeodataError(
                f"{where}: it names fewer than two attributes; leave out a value that never occurs"
            )
        for name, listed in combination.items():
            codes = self.codes_of(name)
            if codes is None:
                known = ", ".join([*JOB_LABELS, *self.domains])
                raise GeodataError(f"{where} names {name!r}, which does not exist; allowed are {known}")
            wrong = next((code for code in listed if code not in codes), None)
            if wrong is not None or not listed:
                raise GeodataError(
                    f"{where}: {wrong or 'nothing'!r} is no code of {name}; list codes of the schema, such as "
                    f"{codes[0]!r}"
                )

    @property
    def domains(self) -> dict[str, int]:
        """Number of values of each attribute, by name."""
        return {attribute.name: attribute.size for attribute in self.attributes}

    @property
    def stored(self) -> dict[str, int]:
        """Number of values of each column that `workers` has beside those of jobs, by name."""
        return self.domains | ({JOB_NUMBER: MOST_JOBS} if self.has_persons else {})

    @property
    def derived_from(self) -> dict[str, Attribute]:
        """The attributes of the job that are derived, and the attribute that derives each."""
        return {name: attribute for attribute in self.attributes for name in attribute.derives}

    def structure(self) -> dict[str, tuple[str, ...]]:
        """Parents of every attribute, standard and further; what is derived has its source as its only parent."""
        further = {attribute.name: attribute.parents for attribute in self.attributes}
        derived = {name: (attribute.name,) for name, attribute in self.derived_from.items()}
        return STANDARD_PARENTS | derived | further

    def as_facts(self) -> JsonObject:
        """The facts `worker_attributes` and, where they say anything, `worker_never` and `persons` of a manifest."""
        facts: JsonObject = {"worker_attributes": [attribute.as_fact() for attribute in self.attributes]}
        facts |= {"worker_never": never_facts(self.never)} if self.never else {}
        return facts | ({PERSONS: True} if self.has_persons else {})

    @classmethod
    def from_facts(cls, facts: JsonMapping) -> WorkerSchema:
        """Read the attributes of a dataset's workers from its manifest; none if it states none.

        Raises
        ------
        StoreError
            The manifest lists attributes that are not possible.
        """
        try:
            listed = facts.get("worker_attributes") or ()
            never = facts.get("worker_never") or ()
            return cls(
                attributes=tuple(map(Attribute.from_fact, listed)),
                never=tuple(map(_never_of, never)),
                has_persons=facts.get(PERSONS) is True,
            )
        except GeodataError as error:
            raise StoreError(f"the manifest's 'worker_attributes': {error}") from error


def never_facts(never: Iterable[Never]) -> list[JsonObject]:
    """Combinations that never occur, as manifests and certificates list them."""
    return [{name: list(codes) for name, codes in combination.items()} for combination in never]


def never_in_words(combination: Never) -> str:
    """A combination that never occurs, such as 'age 1 and education E1 or E2'."""
    return " and ".join(f"{name} {' or '.join(codes)}" for name, codes in combination.items())


def _never_of(fact: JsonMapping) -> Never:
    if not all(isinstance(codes, list) for codes in fact.values()):
        raise GeodataError("'worker_never' must list codes by attribute; make the store again")
    return {name: tuple(map(str, codes)) for name, codes in fact.items()}


def usual_parents(derives: Iterable[str]) -> tuple[str, ...]:
    """Parents of an attribute that names none: those of what it derives, else industry and earnings."""
    first = next(iter(derives), None)
    return USUAL_PARENTS if first is None else STANDARD_PARENTS.get(first, USUAL_PARENTS)


def _check_name(name: str) -> None:
    if not _ATTRIBUTE_NAME.fullmatch(name):
        raise GeodataError(
            f"attribute {name[:60]!r}: a name has up to 40 lower-case letters, digits, and underscores, and begins "
            "with a letter; rename it"
        )
    if name in _TAKEN:
        raise GeodataError(
            f"attribute {name!r}: every dataset has a column of this name; rename the attribute"
        )


def _require_texts_once(name: str, what: str, texts: tuple[str, ...]) -> None:
    blank = next((text for text in texts if not text.strip() or not text.isprintable()), None)
    if blank is not None:
        raise GeodataError(f"attribute {name!r} has the {what} {blank!r}; write visible text on one line")
    twice = _first_twice(texts)
    if twice is not None:
        raise GeodataError(f"attribute {name!r} has the {what} {twice!r} twice; give each value its own")


def _check_derived(attribute: Attribute, derived: str, groups: tuple[int, ...]) -> None:
    if derived not in JOB_LABELS:
        raise GeodataError(
            f"attribute {attribute.name!r} derives {derived!r}, but only {', '.join(JOB_LABELS)} can be derived"
        )
    if len(groups) != attribute.size:
        raise GeodataError(
            f"attribute {attribute.name!r} has {attribute.size:,} values, but derives.{derived} lists "
            f"{len(groups):,} codes; list one for each value, in order"
        )
    wrong = next((group for group in groups if group not in (1, 2, 3)), None)
    if wrong is not None:
        raise GeodataError(
            f"attribute {attribute.name!r}: derives.{derived} lists {wrong!r}; a code of {derived} is 1, 2, or 3"
        )


def _refuse_circle(parents: Mapping[str, tuple[str, ...]]) -> None:
    """Raise GeodataError if an attribute is its own ancestor."""
    left = dict(parents)
    while left:
        free = [name for name, above in left.items() if not any(parent in left for parent in above)]
        if not free:
            raise GeodataError(f"the parents go in a circle: {_circle(left)}; remove one of these parents")
        for name in free:
            del left[name]


def _circle(left: Mapping[str, tuple[str, ...]]) -> str:
    """A circle among attributes that all have a parent among them."""
    path = [next(iter(left))]
    while path[-1] not in path[:-1]:
        path.append(next(parent for parent in left[path[-1]] if parent in left))
    return " ← ".join(path[path.index(path[-1]) :])


def _first_twice(texts: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            return text
        seen.add(text)
    return None
