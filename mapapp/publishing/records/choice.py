"""What the analyst chose, checked as far as it can be without the dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal

from engine.errors import ParameterError
from engine.parameters import exact_fraction
from mapapp.base.errors import UsageError

__all__ = [
    "DEFAULT_DELTA",
    "DEFAULT_EPSILON",
    "DEFAULT_FORCED_FAIL",
    "DEFAULT_MIN_SEEDS",
    "DEFAULT_THRESHOLD_EPSILON",
    "AccountantName",
    "Choice",
    "StructureName",
    "exact_option",
    "kept_names",
    "split_shares",
    "whole_option",
]

StructureName = Literal["public", "learned"]
AccountantName = Literal["sound", "paper"]

DEFAULT_EPSILON: Final = Fraction(1)
DEFAULT_MIN_SEEDS: Final = 1000
DEFAULT_THRESHOLD_EPSILON: Final = Fraction(7, 400)  # 0.0175
DEFAULT_DELTA: Final = Fraction(1, 10**6)
DEFAULT_FORCED_FAIL: Final = Fraction(1, 50)
_MOST_RECORDS: Final = 1 << 40
_MOST_DIGITS: Final = 15
_SPLIT_OPTION: Final = "--split SEEDS,PARAMETERS[,STRUCTURE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the analyst chose; None leaves a number to be found.

    Attributes
    ----------
    kept : tuple of str
        Attributes that candidates keep from their seeds: the first ones in resampling order. Empty: seedless.
    n_tries, n_records : int or None
        Candidates, and records in all.
    epsilon, delta : Fraction or None
        In the add/remove reading.
    model_epsilon : Fraction or None
        Of the model's tables, where it is not `epsilon`: a certificate states it.
    min_seeds : int or None
    threshold_epsilon : Fraction or None
    similarity, forced_fail : Fraction
    seed_floor : int or None
    split : tuple of three Fraction or None
        Shares of the workers that are seeds, that fill the tables, and from which the structure is learned.
    n_min : int or None
        Public lower bound of the number of seeds.
    structure : {"public", "learned"}
    accountant : {"sound", "paper"}
    top_up : bool
        Draw records of the model in place of candidates that failed.
    given_segments : bool
        Publish beside a release of the same jobs, so that the promise holds given workplace and segment.
    beside : sequence of Path
        Publications of the same jobs that the records are published beside on purpose.
    anyway : bool
        Learn a structure even from few workers.
    test_key : bool

    Raises
    ------
    UsageError
        On construction: a number is out of range, or an option does not go with another.
    """

    kept: tuple[str, ...] = ()
    n_tries: int | None = None
    n_records: int | None = None
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    model_epsilon: Fraction | None = None
    min_seeds: int | None = None
    threshold_epsilon: Fraction | None = None
    similarity: Fraction = Fraction(1)
    forced_fail: Fraction = DEFAULT_FORCED_FAIL
    seed_floor: int | None = None
    split: tuple[Fraction, Fraction, Fraction] | None = None
    n_min: int | None = None
    structure: StructureName = "public"
    accountant: AccountantName = "sound"
    top_up: bool = True
    given_segments: bool = False
    beside: Sequence[Path] = ()
    anyway: bool = False
    test_key: bool = False

    def __post_init__(self) -> None:
        if not self.kept:
            self._refuse_seed_options()
        self._check_counts()
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


def exact_option(given: object, name: str) -> Fraction | None:
    """Return a number given as an option exactly; None if it was not given.

    Raises
    ------
    UsageError
        It is no decimal number or fraction.
    """
    if given is None:
        return None
    try:
        return exact_fraction(str(given), name)
    except ParameterError as error:
        raise UsageError(f"--{error}") from None


def whole_option(given: str | None, name: str) -> int | None:
    """Return a whole number that was typed as an option; None if it was not given.

    Raises
    ------
    UsageError
        It is no whole number.
    """
    if given is None:
        return None
    if not (given.isascii() and given.isdigit()) or len(given) > _MOST_DIGITS:
        raise UsageError(f"--{name} {given[:40]!r}: give a whole number, such as 500")
    return int(given)


def kept_names(text: str) -> tuple[str, ...]:
    """Return the attributes named by `--kept`; none for "none"."""
    names = tuple(name.strip() for name in text.split(","))
    return () if names == ("none",) else names


def split_shares(text: str | None) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return the shares of `--split`.

    Raises
    ------
    UsageError
        They are not two or three numbers of at least 0 that add up to 1.
    """
    if text is None:
        return None
    parts = text.split(",")
    if not 2 <= len(parts) <= 3:
        raise UsageError(f"{_SPLIT_OPTION} {text[:40]}: give two or three shares, such as 0.6,0.4")
    shares = [exact_option(part.strip(), "split") or Fraction(0) for part in parts]
    if len(shares) == 2:
        shares.append(Fraction(0))
    if min(shares) < 0 or sum(shares) != 1:
        raise UsageError(
            f"{_SPLIT_OPTION} {text[:40]}: shares add up to {float(sum(shares)):g}; give shares of at least 0 that add "
            "up to 1, such as 0.6,0.4"
        )
    return shares[0], shares[1], shares[2]
