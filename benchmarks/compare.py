"""What became slower than a stored set of ratios: `python -m benchmarks.compare [--update] [--only NAME]`.

Measures the processor time of a short list of work in turn, several times, each in units of work on the same machine
(`benchmarks/compared_work.py`), and compares with `benchmarks/ratios.json`. A piece of work is called slower when both
the median and the least of its ratios have risen by more than the tolerance: 15%, and three times the spread of the
stored ratios or of these, whichever is larger. Then the exit code is 1. `--update` writes these ratios instead.

    python -m benchmarks.compare
    python -m benchmarks.compare --only certify --repeats 9
    python -m benchmarks.compare --update
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from benchmarks.compared_work import SIZES, Work, prepared_work

STORED: Final = Path(__file__).with_name("ratios.json")
SMALLEST: Final = (
    *("--size", "small", "--repeats", "1", "--stored", "{folder}/ratios.json", "--update"),
    *("--only", "sampling", "certify", "questions", "tune", "table"),
)
LEAST_TOLERANCE: Final = 0.15
SPREADS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratios:
    """The ratios of one piece of work to its unit.

    Attributes
    ----------
    unit : str
        What it is measured in.
    median, least : float
        Of the repeats.
    spread : float
        Median distance of a repeat from the median, as a share of it.
    """

    unit: str
    median: float
    least: float
    spread: float

    @classmethod
    def of(cls, unit: str, repeats: Sequence[float]) -> Ratios:
        """Summarize repeats, rounded as they are stored."""
        median = statistics.median(repeats)
        spread = statistics.median(abs(each - median) for each in repeats) / median
        return cls(
            unit=unit, median=rounded(median), least=rounded(min(repeats)), spread=float(f"{spread:.3f}")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a piece of work compares with what is stored.

    Attributes
    ----------
    change : float
        Its ratio divided by the stored one, of the medians or of the least: the one nearer to 1, or 1 between them.
    tolerance : float
        How far `change` may be from 1.
    """

    change: float
    tolerance: float

    @property
    def is_slower(self) -> bool:
        """Whether it takes longer than chance explains."""
        return self.change > 1 + self.tolerance

    @property
    def is_faster(self) -> bool:
        """Whether it takes less time than chance explains."""
        return self.change < 1 - self.tolerance

    @property
    def word(self) -> str:
        """For the table."""
        return "SLOWER" if self.is_slower else "faster" if self.is_faster else "as before"


def rounded(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def compared(stored: Ratios, now: Ratios) -> Verdict:
    """Compare the ratios of one piece of work with those stored."""
    low, high = sorted((now.median / stored.median, now.least / stored.least))
    return Verdict(
        change=low if low > 1 else min(high, 1.0),
        tolerance=LEAST_TOLERANCE + SPREADS * max(stored.spread, now.spread),
    )


def measured(work: Sequence[Work], repeats: int) -> dict[str, Ratios]:
    """Do all the work in turn, once to warm up and then `repeats` times, each between two measurements of its unit."""
    ratios: dict[str, list[float]] = {each.name: [] for each in work}
    for repeat in range(repeats + 1):
        print(f"repeat {repeat} of {repeats}" if repeat else "warming up", file=sys.stderr, flush=True)
        for each in work:
            before = each.unit_spent()
            spent = each.spent()
            unit = (before + each.unit_spent()) / 2
            if repeat:
                ratios[each.name].append(spent / unit)
    return {each.name: Ratios.of(each.unit, ratios[each.name]) for each in work}


def read_stored(path: Path, size: str) -> dict[str, Ratios]:
    """The stored ratios; exits if they do not exist or are of another size."""
    if not path.exists():
        sys.exit(f"no {path}: run with --update to write it")
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["size"] != size:
        sys.exit(f"{path} is of --size {stored['size']}; compare with that, or give another --stored")
    return {name: Ratios(**values) for name, values in stored["ratios"].items()}


def write_stored(path: Path, size: str, found: dict[str, Ratios], *, is_part: bool) -> None:
    """Write the ratios; if only part of the work was done, the rest is kept as it is stored."""
    kept = read_stored(path, size) if is_part and path.exists() else {}
    ratios = {name: asdict(each) for name, each in (kept | found).items()}
    path.write_text(json.dumps({"size": size, "ratios": ratios}, indent=1) + "\n", encoding="utf-8")


def verdict_lines(stored: dict[str, Ratios], now: dict[str, Ratios]) -> Iterator[str]:
    """The table of all work."""
    yield "| work | stored | now: median | least | unit | change | tolerance | |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, found in now.items():
        ratios = f"{found.median:.4g} | {found.least:.4g} | {found.unit}"
        if name not in stored:
            yield f"| {name} | – | {ratios} | – | – | not stored |"
            continue
        verdict = compared(stored[name], found)
        yield (
            f"| {name} | {stored[name].median:.4g} | {ratios} | {verdict.change - 1:+.0%} "
            f"| {verdict.tolerance:.0%} | {verdict.word} |"
        )


def slower_lines(stored: dict[str, Ratios], now: dict[str, Ratios]) -> list[str]:
    """One line for each piece of work that became slower."""
    verdicts = {name: compared(stored[name], found) for name, found in now.items() if name in stored}
    return [
        f"slower: {name}, {verdict.change:.2f} times the stored ratio (tolerance {1 + verdict.tolerance:.2f})"
        for name, verdict in verdicts.items()
        if verdict.is_slower
    ]


def chosen_work(work: Iterable[Work], only: Sequence[str]) -> list[Work]:
    """The work whose name begins with one of `only`; all of it if that is empty."""
    found = [each for each in work if not only or any(each.name.startswith(name) for name in only)]
    if not found:
        sys.exit(f"--only {' '.join(only)}: no work has such a name; see benchmarks/ratios.json")
    return found


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=tuple(SIZES), default="metro", help="of the demo country")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=(), help="work whose name begins like this")
    parser.add_argument("--stored", type=Path, default=STORED, help="file of the stored ratios")
    parser.add_argument("--update", action="store_true", help="write the ratios instead of comparing")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    stored = {} if chosen.update else read_stored(chosen.stored, chosen.size)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("COMMUTEMAP_HOME", str(Path(folder, "home")))
        now = measured(chosen_work(prepared_work(chosen.size, Path(folder)), chosen.only), chosen.repeats)
    if chosen.update:
        write_stored(chosen.stored, chosen.size, now, is_part=bool(chosen.only))
    print("\n".join(verdict_lines(stored, now)))
    slower = slower_lines(stored, now)
    if slower:
        sys.exit("\n".join(slower))


if __name__ == "__main__":
    main()
