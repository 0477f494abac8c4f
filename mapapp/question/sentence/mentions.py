"""The areas in a sentence: which end of the commute each is at, and which end the sentence asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from geodata.errors import GeometryError
from mapapp.base.errors import UsageError
from mapapp.question.area_text import MAX_LABEL, Circle, Sign, Step, Unit, area_text, parse_area, widen_area
from mapapp.question.fields import Side
from mapapp.question.question import OTHER_END
from mapapp.question.sentence.meanings import (
    Empty,
    Item,
    Joint,
    Layer,
    Meaning,
    Missing,
    Near,
    Noun,
    Opposite,
    Place,
    Point,
    Verb,
    Where,
)


@dataclass(slots=True)
class Mention:
    """Areas that a sentence names together.

    Attributes
    ----------
    end : {"work", "home"} or None
        The end of the commute; None if the sentence does not say.
    steps, names : list of str
        Steps of the area, as `mapapp.question.area_text` writes them, and their names.
    first, last : int
        The words of the sentence.
    """

    end: Side | None
    first: int
    last: int
    steps: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mentions:
    """All areas of a sentence, the ends it asks for, and notes on what was assumed."""

    areas: tuple[Mention, ...]
    asked: tuple[Side, ...]
    notes: tuple[str, ...]


def mentions_of(items: Sequence[Item]) -> Mentions:
    """Assign the areas in a sentence to the ends of commutes."""
    finder = _Finder()
    for item in items:
        finder.take(item)
    return finder.finish()


class _Finder:
    """Goes through the items of a sentence, and keeps words until it meets the place that they belong to."""

    def __init__(self) -> None:
        self.groups: list[Mention] = []
        self.asked: list[Side] = []
        self.notes: list[str] = []
        self.end: Side | None = None
        self.is_asked = False
        self.noun: Noun | None = None
        self.near: Near | None = None
        self.joint: str = ""
        self.between = False
        self.is_after_place = False

    def take(self, item: Item) -> None:
        """Take the next item."""
        meaning = item.meaning
        match meaning:
            case Place() | Point():
                self._place(item, meaning)
            case Near():
                self.near = meaning
            case Missing() if self.near is not None:
                self._drop_distance()
            case Joint(kind="between"):
                self.between, self.is_after_place = True, False
            case Joint():
                self._join(meaning)
            case Empty():
                pass
            case _:
                self._word(meaning, item.first)
                self.is_after_place = False

    def _word(self, meaning: Meaning, first: int) -> None:
        """Take a word that says where the places around it are."""
        match meaning:
            case Verb(is_back=True, end=end) if self.groups:
                self.groups[-1].end = self.groups[-1].end or end
            case Verb(end=end):
                self._wait_at(end, is_asked=True)
            case Opposite(end=end):
                self._wait_at(OTHER_END[end])
                self.asked.append(end)
            case Layer(opens=True, end="home" | "work" as end):
                self._wait_at(end)
            case Layer() | Where():
                self._settle_verb()
                self.noun = None
            case Noun():
                self._noun(meaning, first)
            case _:
                pass

    def _wait_at(self, end: Side, *, is_asked: bool = False) -> None:
        """Keep the end of the place that may follow; if none does, the sentence may ask for that end."""
        self._settle_verb()
        self.end, self.is_asked, self.noun, self.joint = end, is_asked, None, ""

    def finish(self) -> Mentions:
        """Return what was found."""
        self._settle_verb()
        if self.near is not None:
            self._drop_distance()
        groups = self.groups
        for position, group in enumerate(groups[:-1]):
            following = groups[position + 1].end
            if group.end is None and following is not None:
                group.end = OTHER_END[following]
        if self.between and len(groups) == 2 and {group.end for group in groups} == {None}:
            groups[0].end, groups[1].end = "home", "work"
            self.notes.append(
                f"One direction is counted: homes in {groups[0].names[0]}, work in {groups[1].names[0]}."
            )
        return Mentions(tuple(groups), tuple(dict.fromkeys(self.asked)), tuple(dict.fromkeys(self.notes)))

    def _drop_distance(self) -> None:
        """Drop a distance that no place follows: `near student housing in Providence` is not near Providence."""
        self.near = None
        self.notes.append("The distance has no place to start from and was ignored; name one.")

    def _settle_verb(self) -> None:
        """A verb that no place followed asks for its end."""
        if self.end is not None and self.is_asked:
            self.asked.append(self.end)
        self.end = None

    def _noun(self, noun: Noun, first: int) -> None:
        is_next = self.is_after_place and self.groups[-1].last == first
        if is_next and self.end is None:
            self.groups[-1].end = noun.end  # "Newport residents", also in "jobs that go to Newport residents"
            self.noun = None
        else:
            self.noun = noun

    def _join(self, joint: Joint) -> None:
        if joint.kind == "except" or self.joint in ("", "in"):
            self.joint = joint.kind

    def _place(self, item: Item, meaning: Place | Point) -> None:
        step, name = self._step(meaning)
        joint, self.joint = self.joint, ""
        if step is None:
            return
        is_list = self.is_after_place and bool(joint) and self.end is None and self.noun is None
        if self.between and joint == "and":
            is_list = False
        if is_list and joint == "in":
            self._keep_within(step, name, item.last)
            return
        if joint == "except":
            step, name = f"-{step.split()[0]}", f"without {name}"
        if not is_list and not (joint == "except" and self.groups and self.end is None):
            end = self.end or (self.noun.end if self.noun else None)
            self.groups.append(Mention(end, item.first, item.last))
        group = self.groups[-1]
        group.steps += step.split()
        group.names.append(name)
        group.last = item.last
        self.end = self.noun = None
        self.is_after_place = True

    def _keep_within(self, step: str, name: str, last: int) -> None:
        """Keep the part of the place before that is in this one; a circle is not cut at a border."""
        group = self.groups[-1]
        group.last = last
        if isinstance(parse_area(group.steps[-1])[-1].part, Unit):
            group.steps += [f"&{part}" for part in step.split()]
            group.names.append(f"only in {name}")
        else:
            self.notes.append(f"The area {group.names[-1]} is not cut at the border of {name}.")

    def _step(self, meaning: Place | Point) -> tuple[str | None, str]:
        near, self.near = self.near, None
        try:
            return _step(meaning, near)
        except (GeometryError, UsageError) as error:
            self.notes.append(f"{str(error)[0].upper()}{str(error)[1:]}.")
            return None, ""


def _step(meaning: Place | Point, near: Near | None) -> tuple[str, str]:
    """Return the step of a place or of what is near it, and its name.

    Raises
    ------
    UsageError, GeometryError
        If the distance is not allowed, or the place is not on the globe.
    """
    if isinstance(meaning, Point):
        near = near or Near(0.0, 1.0)
        circle = Circle(meaning.lon_deg, meaning.lat_deg, near.inner_mi, near.outer_mi)
        return str(circle), f"{_distance(near)} of {meaning.lat_deg:g}, {meaning.lon_deg:g}"
    if near is None:
        return meaning.step, meaning.name
    steps = parse_area(meaning.step)
    if all(isinstance(step.part, Circle) for step in steps):
        # The distance replaces the radius of a landmark's own circle.
        label = f"{_distance(near)} of {meaning.name}"
        named = f"the area {label}"
        short = named if len(named) <= MAX_LABEL else meaning.name[:MAX_LABEL]
        return area_text([Step("+", _circle(step, near), short) for step in steps]), label
    text = area_text(widen_area(steps, near.outer_mi))
    if near.inner_mi:
        text += " " + area_text(_take_away(widen_area(steps, near.inner_mi)))
    return text, f"{_distance(near)} of {meaning.name}"


def _circle(step: Step, near: Near) -> Circle:
    if not isinstance(step.part, Circle):
        raise AssertionError("only a circle has a center")
    return Circle(step.part.lon_deg, step.part.lat_deg, near.inner_mi, near.outer_mi)


def _take_away(steps: Sequence[Step]) -> tuple[Step, ...]:
    sign: Sign = "-"
    return tuple(Step(sign, step.part) for step in steps)


def _distance(near: Near) -> str:
    if near.inner_mi:
        return f"between {near.inner_mi:g} and {near.outer_mi:g} miles"
    return f"within {near.outer_mi:g} {'mile' if near.outer_mi == 1 else 'miles'}"


def level_of(mention: Mention) -> str:
    """Return the layer of all units of a mention; empty if the units have several layers, or a part is drawn."""
    parts = [step.part for text in mention.steps for step in parse_area(text)]
    levels = {part.level if isinstance(part, Unit) else "" for part in parts}
    return levels.pop() if len(levels) == 1 else ""
