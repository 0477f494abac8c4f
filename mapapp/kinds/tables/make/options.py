"""The options of `commutemap table`: what one table counts, and how tables are decided."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

from mapapp.kinds.base.option import Option, list_declared
from mapapp.question.fields import QUESTION

__all__ = ["ONE_TABLE", "DecisionOptions", "TableOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """What one table counts; None where an option is not given."""

    rows: Annotated[
        str | None,
        Option(
            help="Layer of the workplaces, such as town, county, or tract: one row for each unit.",
            metavar="LAYER",
        ),
    ] = None
    columns: Annotated[
        str | None,
        Option(
            help="One or more of age, earnings, and industry, separated by commas: one column for each combination.",
            metavar="NAMES",
        ),
    ] = None
    counts: Annotated[
        str | None,
        Option(
            help="Which workers are counted: those who live in the unit where they work, who live in another state "
            "than the one where they work, or who live more than MILES miles from where they work.",
            metavar="same-unit|outside-state|beyond=MILES",
        ),
    ] = None
    flows: Annotated[
        str | None,
        Option(
            help="Instead of --columns and --counts: count the workers of each row by the unit of this layer where "
            "they live.",
            metavar="LAYER",
        ),
    ] = None
    age: Annotated[str | None, Option(help=QUESTION["age"].help, metavar="BANDS")] = None
    earnings: Annotated[str | None, Option(help=QUESTION["earnings"].help, metavar="BANDS")] = None
    industry: Annotated[str | None, Option(help=QUESTION["industry"].help, metavar="BANDS")] = None
    work_area: Annotated[
        str | None,
        Option(
            help="Only jobs with a workplace in this area: the name of a unit, or level:identifier.",
            metavar="AREA",
        ),
    ] = None
    totals: Annotated[
        Literal["none", "rows", "columns", "both"],
        Option(help="Sums that are decided before the cells."),
    ] = "none"


ONE_TABLE: Final = list_declared(TableOptions, Option)
"""The options of one table, by name of the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOptions:
    """How tables are decided."""

    prior: Annotated[
        Path | None,
        Option(
            help="Where the expected rates come from: an earlier release, or a CSV file that you declare. It is "
            "published with the table. Never the jobs of the table; a release of the same dataset is refused.  "
            "[required]",
            metavar="RELEASE|FILE.csv",
        ),
    ] = None
    epsilon: Annotated[str, Option(help="How far a belief may move, above 0 and below 1.")] = "0.5"
    delta: Annotated[str, Option(help="Chance that any belief may move further, above 0 and below 1.")] = (
        "0.01"
    )
    decide: Annotated[
        Literal["exact", "sampled"],
        Option(
            help="exact computes the chance that a cell is unsafe, and anyone can replay it. sampled estimates it as "
            "Algorithm 3 of the paper does, with secret coins, and releases less.",
        ),
    ] = "exact"
    remainder: Annotated[
        bool,
        Option(
            help="After the cells of one table without totals, decide the sum of each row's suppressed cells.",
        ),
    ] = True
    anyway: Annotated[
        bool,
        Option(help="Make flows between tracts, of which next to nothing is released."),
    ] = False
