"""How long it takes to find names: `python -m benchmarks.names RELEASE [--repeats N]`.

Processor time of making the index of a release's names, of a key press in the search box, and of reading a sentence.
The last two are medians over several texts, after a first look-up that makes the index.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from mapapp.answers.areas.sentence_names import SentenceNames, example_place
from mapapp.answers.release import Release
from mapapp.question.sentence.asked import ask_in_words

SMALLEST = ("{release}", "--repeats", "1")
_TYPED: Final = ("{0}", "{1}", "{2}", "{0} county", "downtown {0}", "tract 24", "02903", "{3}", "xyzzy")
_SENTENCES: Final = (
    "Where do low-wage workers of {0} live, by town?",
    "jobs within 2 miles of {0}",
    "inflow and outflow of {0}",
)


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.names", description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--repeats", type=int, default=50)
    return parser


def milliseconds(work: Callable[[str], object], texts: Sequence[str], repeats: int) -> str:
    """Return the median and the largest processor time for one text."""
    found = []
    for text in texts:
        began = time.process_time()
        for _ in range(repeats):
            work(text)
        found.append(1000 * (time.process_time() - began) / repeats)
    return f"{statistics.median(found):.2f} | {max(found):.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    areas = Release.open(options.release).areas
    began = time.process_time()
    n_names = len(areas.names.areas)
    index_ms = 1000 * (time.process_time() - began)
    name = example_place(areas)
    parts = (name, name[:1], name[:3], name[:1] + name[2:])
    typed = [text.format(*parts) for text in _TYPED]
    names = SentenceNames(areas)
    read = milliseconds(
        lambda text: ask_in_words(text, names), [text.format(name) for text in _SENTENCES], options.repeats
    )
    print("| what | median ms | largest ms |\n|---|---|---|")
    print(f"| index of {n_names:,} names | {index_ms:.0f} | |")
    print(f"| a key press | {milliseconds(areas.search_or_guess, typed, options.repeats)} |")
    print(f"| a sentence | {read} |")


if __name__ == "__main__":
    main()
