"""The pieces of work that `benchmarks.compare` measures, each with its unit of work on the same machine.

A time is given in units of other work that is measured just before and just after it: the reference, or for sampling
the NumPy loop that draws the same. So the numbers hardly depend on the machine, and what else is running slows both.
All times are processor time, of this process or of a command's own.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks import sampling, suppression
from benchmarks.commands import commutemap, run
from commutemap import Release, open_release
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.validity import measure_setting
from mapapp.kinds.release.make.settings import preset_setting

REFERENCE: Final = "reference"
NUMPY_LOOP: Final = "NumPy loop"

Seconds = Callable[[], float]
"""Does some work, and returns its processor seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much of each piece of work there is: the size of the demo country, and numbers of synthesizers and cells."""

    country: str
    n_synthesizers: int
    n_support: int
    n_cells: int
    n_sampled_tracts: int
    reference_rounds: int


SIZES: Final = {
    "small": Sizes(
        country="small",
        n_synthesizers=200,
        n_support=50,
        n_cells=300,
        n_sampled_tracts=2,
        reference_rounds=1,
    ),
    "metro": Sizes(
        country="metro",
        n_synthesizers=10_000,
        n_support=1_000,
        n_cells=300_000,
        n_sampled_tracts=40,
        reference_rounds=8,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A piece of work, the work that its time is divided by, and what that is called."""

    name: str
    unit: str
    spent: Seconds
    unit_spent: Seconds


def spent_in_process(work: Callable[[], object]) -> float:
    """Processor seconds of a call in this process, all its threads together."""
    start = time.process_time()
    work()
    return time.process_time() - start


class Reference:
    """Fixed work of the kinds that the program does: hashing, gathering from memory, sorting, and plain Python."""

    def __init__(self, rounds: int) -> None:
        random = np.random.default_rng(0)
        self._rounds = rounds
        self._values = random.integers(0, 1 << 40, 1 << 18)
        self._order = random.permutation(self._values.size)

    def __call__(self) -> float:
        """Do it; return its processor seconds."""
        return spent_in_process(self._work)

    def _work(self) -> str:
        digest = hashlib.blake2b()
        for _ in range(self._rounds):
            gathered = self._values[self._order]
            digest.update(gathered.tobytes())
            digest.update(np.sort(gathered, kind="stable").tobytes())
            counts: dict[int, int] = {}
            for value in gathered[: 1 << 16].tolist():
                counts[value & 1023] = counts.get(value & 1023, 0) + 1
            digest.update(str(sum(counts.values())).encode())
        return digest.hexdigest()


def prepared_work(size: str, folder: Path) -> list[Work]:
    """Make what the work needs in an empty folder, and list the work."""
    sizes = SIZES[size]
    dataset, sources = folder / "demo.dataset", folder / "sources"
    commutemap("demo", dataset, "--size", sizes.country, "--sources", sources)
    release = folder / "demo.release"
    commutemap("synthesize", dataset, release, "--test-key")
    reference = Reference(sizes.reference_rounds)
    return [
        *_sampling(sizes),
        *(
            Work(name=name, unit=REFERENCE, spent=spent, unit_spent=reference)
            for name, spent in itertools.chain(
                _commands(dataset, sources, release, folder), _calls(sizes, dataset, release)
            )
        ),
    ]


def _sampling(sizes: Sizes) -> Iterator[Work]:
    """The engine's Algorithms 1 and 2, as in `benchmarks.sampling`."""
    for mean, per_tract, alpha in ((100, 19, 0.1), (7, 270, 0.05)):
        given = sampling.make_inputs(sizes.n_synthesizers, mean, sizes.n_support, per_tract, 0.025, alpha)
        yield Work(
            name=f"sampling, mean of {mean} workers",
            unit=NUMPY_LOOP,
            spent=partial(_several, 4, partial(sampling.by_engine, *given, 1)),
            unit_spent=partial(spent_in_process, partial(sampling.by_numpy, *given, False)),
        )


def _several(times: int, work: Callable[[], object]) -> float:
    """Processor seconds of one call, the mean of several, where one is too short to measure."""
    return spent_in_process(lambda: [work() for _ in range(times)]) / times


def _commands(dataset: Path, sources: Path, release: Path, folder: Path) -> Iterator[tuple[str, Seconds]]:
    """Whole commands, the start of the program included."""
    made = folder / "made"
    workers = ("--workers", sources / "workers.csv", "--schema", sources / "workers.toml")
    yield "import", partial(_command, made, "import", made, "--from", sources / "public", *workers)
    for preset in ("recommended", "onthemap-v3"):
        options = ("--preset", preset, "--design", "none", "--test-key")
        yield f"synthesize, {preset}", partial(_command, made, "synthesize", dataset, made, *options)
    yield "certify", partial(_command, made, "certify", release)
    yield "records", partial(_command, made, "records", dataset, made, "--test-key")
    yield "audit", partial(_command, made, "audit", dataset, release, "--question", "all")
    report = made.with_suffix(".pdf")
    asked = ("--analysis", "inflow-outflow", "--area", "state:81", "-o", report)
    yield "report, PDF", partial(_command, report, "report", release, *asked)


def _command(made: Path, *arguments: object) -> float:
    """Processor seconds of a command; what it made is removed."""
    # Not every command has an option to be quiet; its output is not shown in any case.
    spent = run("mapapp.commands.cli", *arguments).processor_s
    if made.is_dir():
        shutil.rmtree(made)
    made.unlink(missing_ok=True)
    return spent


def _calls(sizes: Sizes, dataset: Path, release: Path) -> Iterator[tuple[str, Seconds]]:
    """Work in this process, everything read before."""
    opened = open_release(release)
    yield "questions, five analyses", partial(spent_in_process, partial(_ask, opened))
    data = AnalystData.open(dataset)
    chosen, sample = preset_setting("onthemap-v3", "gravity"), data.sample(sizes.n_sampled_tracts)
    measured = partial(measure_setting, data, *chosen, tracts=sample, draw=True)
    yield "tune, a setting measured on a sample", partial(spent_in_process, measured)
    cells = suppression.make_cells(sizes.n_cells, 70.0)
    yield "table, yes-or-no cells", partial(spent_in_process, partial(suppression.decide_cells, cells, 1))


def _ask(release: Release) -> None:
    """A question of each of five kinds, areas selected anew."""
    release.areas.forget()
    release.destinations("state:81", layer="county")
    release.comparison("state:81", layer="tract")
    release.with_errors(release.inflow_outflow("state:81"), 0)
    release.distance_direction("state:81")
    release.flow_matrix("county", "county")
