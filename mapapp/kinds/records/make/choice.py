"""What the analyst chose, checked as far as it can be without the dataset."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Final

from mapapp.answers.records.claims import AccountantName, StructureName
from mapapp.base.errors import UsageError
from mapapp.kinds.base.option import Control, Option, exact, list_declared, whole

__all__ = [
    "DEFAULT_DELTA",
    "DEFAULT_EPSILON",
    "DEFAULT_FORCED_FAIL",
    "DEFAULT_MIN_SEEDS",
    "DEFAULT_THRESHOLD_EPSILON",
    "RECORD_OPTIONS",
    "SWEPT_OF_RECORDS",
    "Choice",
]

DEFAULT_EPSILON: Final = Fraction(1)
DEFAULT_JOBS_PER_PERSON: Final = 2
DEFAULT_MIN_SEEDS: Final = 1000
DEFAULT_THRESHOLD_EPSILON: Final = Fraction(7, 400)  # 0.0175
DEFAULT_DELTA: Final = Fraction(1, 10**6)
DEFAULT_FORCED_FAIL: Final = Fraction(1, 50)
_MOST_RECORDS: Final = 1 << 40
_SPLIT_OPTION: Final = "--split SEEDS,PARAMETERS[,STRUCTURE]"


def _kept_names(text: str, _flag: str) -> tuple[str, ...]:
    """Return the attributes named by `--kept`; none for "none"."""
    names = tuple(name.strip() for name in text.split(","))
    return () if names == ("none",) else names


def _split_shares(text: str, flag: str) -> tuple[Fraction, Fraction, Fraction]:
    """Return the shares of `--split`.

    Raises
    ------
    UsageError
        They are not two or three numbers of at least 0 that add up to 1.
    """
    parts = text.split(",")
    if not 2 <= len(parts) <= 3:
        raise UsageError(f"{_SPLIT_OPTION} {text[:40]}: give two or three shares, such as 0.6,0.4")
    shares = [exact(part.strip(), flag) for part in parts]
    if len(shares) == 2:
        shares.append(Fraction(0))
    if min(shares) < 0 or sum(shares) != 1:
        raise UsageError(
            f"{_SPLIT_OPTION} {text[:40]}: shares add up to {float(sum(shares)):g}; give shares of at least 0 that add "
            "up to 1, such as 0.6,0.4"
        )
    return shares[0], shares[1], shares[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the analyst chose; None leaves a number to be found.

    Attributes that are not options of `commutemap records`, or say more than its help
    ----------
    epsilon, delta : Fraction or None
        In the add/remove reading.
    split : tuple of three Fraction or None
        Seeds, tables, and structure.
    model_epsilon : Fraction or None
        Of the model's tables, where it is not `epsilon`: a certificate states it.
    beside : sequence of Path
        Publications of the same jobs that the records are published beside on purpose.
    test_key : bool

    Raises
    ------
    UsageError
        On construction: a number is out of range, or an option does not go with another.
    """

    kept: Annotated[
        tuple[str, ...],
        Option(
            help="Attributes that a candidate keeps from a real worker, its seed: the first ones in the order "
            "work_puma, home_puma, industry, earnings, ..., separated by commas. none draws every record from the "
            "model.",
            typed="none",
            metavar="NAMES|none",
            read=_kept_names,
            is_swept=True,
        ),
    ] = ()
    epsilon: Annotated[
        Fraction | None,
        Option(
            help="Epsilon if one worker's record is added or taken away; the ledger charges the larger epsilon of a "
            "record that is replaced, which is printed beside it. With seeds, the number of plausible seeds and the "
            "noise are chosen to keep it, unless both are given.  [default: 1; with seeds, what they cost]",
            read=exact,
            is_swept=True,
            control=Control(
                label="Epsilon ε",
                hint="For one worker added or removed.",
                stops="0.25 0.5 0.75 1 1.5 2 3 4 5 6 8 10 15 20",
            ),
        ),
    ] = None
    delta: Annotated[
        Fraction | None,
        Option(
            help="Chance that epsilon may fail. Needed for seeds and for a learned structure only.  [default: 1e-6]",
            read=exact,
            is_swept=True,
            control=Control(
                label="Delta δ",
                stops="1e-12 1e-11 1e-10 1e-9 1e-8 1e-7 1e-6 1e-5 1e-4",
            ),
        ),
    ] = None
    n_records: Annotated[
        int | None,
        Option(
            flag="records",
            help="Number of records in all, which is public.  [default: the number of workers]",
            read=whole,
            is_swept=True,
            control=Control(
                label="Records in all", hint="At most the number of workers. If empty: that number."
            ),
        ),
    ] = None
    n_tries: Annotated[
        int | None,
        Option(
            flag="tries",
            help="Number of candidates made from seeds, passed or not; every one is charged.  [default: as --n-min]",
            read=whole,
            is_swept=True,
            control=Control(
                label="Tries T", hint="Candidates that are made. Each one is charged, passed or not."
            ),
        ),
    ] = None
    min_seeds: Annotated[
        int | None,
        Option(
            help="How many workers must share the kept attributes of a candidate, before noise.  [default: 1000]",
            read=whole,
            is_swept=True,
            control=Control(
                label="Plausible seeds k",
                hint="Workers who must share the kept attributes, before noise.",
                stops="20 50 100 200 300 500 750 1000 1500 2000 3000 5000 10000",
            ),
        ),
    ] = None
    threshold_epsilon: Annotated[
        Fraction | None,
        Option(
            help="Epsilon of the noise on --min-seeds for each candidate.  [default: with the least --epsilon]",
            read=exact,
            is_swept=True,
            control=Control(
                label="Threshold ε₀",
                hint="Noise on k: less noise for larger ε₀.",
                stops="0.002 0.005 0.01 0.0175 0.025 0.035 0.05 0.1 0.2 0.5 1 2",
            ),
        ),
    ] = None
    similarity: Annotated[
        Fraction,
        Option(
            help="Greatest ratio of the chances with which plausible seeds make a candidate. Kept attributes make them "
            "equal.",
            read=exact,
            is_swept=True,
            control=Control(
                label="Similarity γ",
                hint="Largest ratio of the chances with which plausible seeds make a candidate; 1 or more. If empty: "
                "1.",
            ),
        ),
    ] = Fraction(1)
    forced_fail: Annotated[
        Fraction,
        Option(
            help="Chance that a candidate fails whatever its seeds, so that the number of failures says little.",
            typed="0.02",
            read=exact,
            is_swept=True,
            control=Control(
                label="Forced failure β",
                hint="Candidates that fail in any case, so that a failure says little.",
                stops="0.001 0.005 0.01 0.02 0.05 0.1 0.2 0.5",
            ),
        ),
    ] = DEFAULT_FORCED_FAIL
    seed_floor: Annotated[
        int | None,
        Option(
            help="Never release a candidate with fewer plausible seeds than this.",
            read=whole,
            is_swept=True,
            control=Control(
                label="Seed floor",
                hint="A candidate with fewer plausible seeds never passes. If empty: only the noise decides.",
            ),
        ),
    ] = None
    split: Annotated[
        tuple[Fraction, Fraction, Fraction] | None,
        Option(
            help="Shares of the workers that are seeds, that fill the model's tables, and from which its structure is "
            "learned. [default: 0.6,0.4 with seeds; otherwise 0,1]",
            metavar="SEEDS,PARAMETERS[,STRUCTURE]",
            read=_split_shares,
            control=Control(
                label="Split: seeds, parameters[, structure]",
                hint="Shares of the workers; they add up to 1. If empty: 0.6,0.4 with seeds, otherwise 0,1; less if a "
                "structure is learned.",
            ),
        ),
    ] = None
    n_min: Annotated[
        int | None,
        Option(
            help="The promise holds for any dataset with at least this many seeds; fewer are refused.  [default: from "
            "--split and the number of workers]",
            read=whole,
            is_swept=True,
            control=Control(
                label="Least number of seeds",
                hint="The promise holds if there are at least this many seeds. If empty: the number that is certain.",
            ),
        ),
    ] = None
    structure: Annotated[
        StructureName,
        Option(
            help="Which attributes depend on which: chosen from public numbers, or learned from workers, with noise.",
            is_swept=True,
            control=Control(
                label="Which attributes depend on which",
                hint="Public: as the schema says. Learned: from workers, with noise.",
                choices={"public": "Public", "learned": "Learned"},
            ),
        ),
    ] = "public"
    accountant: Annotated[
        AccountantName,
        Option(
            help="sound charges all tries together. paper adds up Theorem 1 of Bindschaedler et al. for each try.",
            is_swept=True,
            control=Control(
                label="Accountant",
                hint="Sound: all tries together. Paper: Theorem 1 for each try; its records are not for release.",
                choices={"sound": "Sound", "paper": "Paper"},
            ),
        ),
    ] = "sound"
    top_up: Annotated[
        bool,
        Option(
            help="Draw records of the model in place of candidates that failed, so that maps count everybody.",
        ),
    ] = True
    anyway: Annotated[
        bool,
        Option(
            help="Learn a structure from fewer than 100,000 workers, where noise decides.",
            control=Control(
                label="A structure from fewer than 100,000 workers",
                hint="With fewer workers, the noise decides which attributes depend on which.",
                choices={"no": "Refuse", "anyway": "Learn anyway"},
            ),
        ),
    ] = False
    given_segments: Annotated[
        bool,
        Option(
            help="Publish beside a release of the same jobs, on purpose: the promise then holds given workplace and "
            "segment.",
        ),
    ] = False
    jobs_per_person: Annotated[
        int | None,
        Option(
            help="Jobs of one person that records are made from, at most: the best paid ones. Only for a dataset that "
            "knows persons.  [default: 2]",
            read=whole,
        ),
    ] = None
    model_epsilon: Fraction | None = None
    beside: Sequence[Path] = ()
    test_key: bool = False

    def __post_init__(self) -> None:
        if not self.kept:
            self._refuse_seed_options()
        self._check_counts()
        if self.jobs_per_person is not None and self.jobs_per_person < 1:
            raise UsageError(f"--jobs-per-person {self.jobs_per_person}: give 1 or more, such as 2")
        if self.epsilon is not None and self.epsilon <= 0:
            raise UsageError(f"--epsilon {float(self.epsilon):g}: give a number above 0, such as 1")
        if self.threshold_epsilon is not None and self.threshold_epsilon <= 0:
            raise UsageError(
                f"--threshold-epsilon {float(self.threshold_epsilon):g}: give a number above 0, such as 0.0175"
            )
        if self.delta is not None and not 0 < self.delta < 1:
            raise UsageError(
                f"--delta {float(self.delta):g}: give a number above 0 and below 1, such as 1e-6"
            )
        if self.similarity < 1:
            raise UsageError(
                f"--similarity {float(self.similarity):g}: it is the ratio that chances of plausible seeds may have; "
                "give 1 or more"
            )
        if not 0 < self.forced_fail < 1:
            raise UsageError(
                f"--forced-fail {float(self.forced_fail):g}: the number of tries is published, so failing must always "
                "be possible; give a chance above 0 and below 1, such as 0.02"
            )

    def _check_counts(self) -> None:
        least = {"--tries": (self.n_tries, 1), "--records": (self.n_records, 1), "--n-min": (self.n_min, 2)}
        for name, (value, low) in least.items():
            if value is not None and not low <= value <= _MOST_RECORDS:
                raise UsageError(f"{name} {value:,}: give {low} to {_MOST_RECORDS:,}")
        if self.min_seeds is not None and self.min_seeds < 2:
            raise UsageError(
                f"--min-seeds {self.min_seeds:,}: fewer than 2 plausible seeds protect nobody; give 2 or more, such as "
                f"{DEFAULT_MIN_SEEDS:,}"
            )
        if self.min_seeds is not None and self.n_min is not None and self.min_seeds > self.n_min:
            raise UsageError(
                f"--min-seeds {self.min_seeds:,} is more than --n-min {self.n_min:,}, the least number of seeds there "
                "are; give fewer"
            )
        if self.seed_floor is not None and not 1 <= self.seed_floor <= (self.min_seeds or self.seed_floor):
            raise UsageError(
                f"--seed-floor {self.seed_floor:,}: give 1 to {self.min_seeds or DEFAULT_MIN_SEEDS:,}, the number of "
                "--min-seeds"
            )

    def _refuse_seed_options(self) -> None:
        """Refuse options that only say something about seeds where there are none."""
        of_seeds = {
            "--tries": self.n_tries,
            "--min-seeds": self.min_seeds,
            "--threshold-epsilon": self.threshold_epsilon,
            "--seed-floor": self.seed_floor,
            "--n-min": self.n_min,
            "--no-top-up": None if self.top_up else True,
            "--accountant paper": None if self.accountant == "sound" else True,
        }
        given = [name for name, value in of_seeds.items() if value is not None]
        if given:
            raise UsageError(
                f"{given[0]} with --kept none: without seeds there is nothing to try; leave it out, or name kept "
                "attributes, such as --kept work_puma,home_puma"
            )


RECORD_OPTIONS: Final = list_declared(Choice, Option)
"""The options of `commutemap records` that make up a choice, by name of the field, in the order of `--help`."""

SWEPT_OF_RECORDS: Final = {option.flag: option for option in RECORD_OPTIONS.values() if option.is_swept}
"""The options that `sweep --worker-records` can vary, by flag."""
