"""What the words of a sentence can mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mapapp.question.analyses import Show
from mapapp.question.fields import Side


@dataclass(frozen=True, slots=True)
class Place:
    """An area that has a name.

    Attributes
    ----------
    step : str
        As `mapapp.question.area_text` writes it.
    name : str
        Its name for readers.
    note : str
        What else the words could mean, or how they were corrected; empty if they are clear.
    """

    step: str
    name: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Here:
    """The area that is chosen already: `this town`."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place given by its longitude and latitude, degrees."""

    lon_deg: float
    lat_deg: float


@dataclass(frozen=True, slots=True)
class Near:
    """More than `inner_mi` (unless that is 0) and at most `outer_mi` miles from the place that follows.

    `is_assumed` if the sentence says `near` without a distance.
    """

    inner_mi: float
    outer_mi: float
    is_assumed: bool = False


@dataclass(frozen=True, slots=True)
class Verb:
    """Says at which end of the commute the place that follows is; without a place it asks for that end.

    `is_back` if it is about the place before: `works there`.
    """

    end: Side
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Opposite:
    """Asks for one end of the commute; the place that follows is at the other: `employ`, `labor shed of`."""

    end: Side


@dataclass(frozen=True, slots=True)
class Noun:
    """People or jobs at an end of the commute: `workers`, `jobs`, `residents`."""

    end: Side
    is_jobs: bool = False


@dataclass(frozen=True, slots=True)
class People:
    """People who are at neither end: `people in Newport` live there, unless the sentence says otherwise."""


@dataclass(frozen=True, slots=True)
class Joint:
    """Joins two places.

    It continues a list (`and`), leaves a place out (`except`), says what the place before is in (`in`), or begins a
    range of two ends (`between`).
    """

    kind: Literal["and", "except", "in", "between"]


@dataclass(frozen=True, slots=True)
class Asks:
    """Words that ask for an analysis; weak ones count only if no others ask for anything.

    `is_comparing` if they compare with other workers: `commute farther`.
    """

    analysis: str
    is_weak: bool = False
    is_comparing: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """Words that ask for a way to draw the answer."""

    show: Show


@dataclass(frozen=True, slots=True)
class Where:
    """The words `where`, `which town` and the like: the sentence asks for the other end."""


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of a characteristic of workers to include.

    Attributes
    ----------
    characteristic : {"age", "earnings", "industry"}
    bands : tuple of int
        1..3, ascending.
    note : str
        How the bands differ from what was asked; empty if they do not.
    is_extreme : bool
        Whether the words compare groups: `youngest`, `best paid`.
    """

    characteristic: str
    bands: tuple[int, ...]
    note: str = ""
    is_extreme: bool = False


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a further attribute of workers to include.

    Attributes
    ----------
    attribute : str
        Its name.
    codes : tuple of str
        Codes of the values.
    title : str
        Title of the attribute, for readers.
    labels : tuple of str
        Labels of the values.
    note : str
        What else the words could mean, or how they were corrected; empty if they are clear.
    is_people : bool
        Whether the words are a noun for people: `women in Newport`.
    """

    attribute: str
    codes: tuple[str, ...]
    title: str
    labels: tuple[str, ...]
    note: str = ""
    is_people: bool = False


@dataclass(frozen=True, slots=True)
class ClassOfJobs:
    """A class of jobs whose share is asked for, as published counts have it.

    Attributes
    ----------
    code : str
        Column of WAC and RAC files.
    label : str
    end : {"home"} or None
        That the jobs of residents are meant, if the words say so.
    """

    code: str
    label: str
    end: Side | None = None


@dataclass(frozen=True, slots=True)
class By:
    """Attributes by which workers are counted together.

    Attributes
    ----------
    attributes : tuple of str
        Their names.
    is_asked : bool
        Whether the words ask for one of its values: `which industry`.
    note : str
        Which attribute was taken where several have the name; empty if they are clear.
    """

    attributes: tuple[str, ...]
    is_asked: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of units.

    Attributes
    ----------
    level : str
    end : {"home", "work"} or None
        The end of the commute whose units are meant, if the sentence says so.
    paired : bool
        Whether both ends are counted by it: `town to town`.
    opens : bool
        Whether the place that follows is at that end, too: `from each town of Kent County`.
    """

    level: str
    end: Side | None = None
    paired: bool = False
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Miles:
    """A distance that the length of commutes is compared with, miles."""

    edges_mi: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Year:
    """A year; `is_earlier` if the answer is to be compared with it."""

    year: int
    is_earlier: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that people ask for and that is not there; the note says what can be asked instead.

    Attributes
    ----------
    note : str
        A sentence. `{here}` becomes the publication, and `{ask}` becomes `ask by`, with the attributes that it has.
    attributes : tuple of str
        Names of attributes that have it, where a publication has such an attribute.
    """

    note: str
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Empty:
    """Words without a meaning of their own."""


Meaning: TypeAlias = (
    Place
    | Here
    | Point
    | Near
    | Verb
    | Opposite
    | Noun
    | People
    | Joint
    | Asks
    | Shown
    | Where
    | Bands
    | Values
    | By
    | ClassOfJobs
    | Layer
    | Miles
    | Year
    | Missing
    | Empty
)


@dataclass(frozen=True, slots=True)
class Item:
    """Words `first` to `last` (not included) of a sentence, and what they mean."""

    first: int
    last: int
    meaning: Meaning
