"""Compile the kernels of a synthesis and of a table in advance, in as many processes as there are processors.

`python -m engine.precompile` does this after installation. A synthesis does it first if its kernels are not compiled.
A table with suppressed cells has kernels of its own, which the option ``--tables`` compiles as well. So have worker
records (``--records``) and an audit (``--audit``): the first on a machine compiles them when it begins. A single
process would compile one kernel after another. Here each process runs the public functions of some stages on toy
input, and the compiled kernels are kept in files, where a synthesis, a table, records, or an audit finds them. A
process that has done its stages takes those that no other has begun. A synthesis compiles only the stages of its
mechanism.

The types that a kernel is compiled for depend on the arrays given to the stages. Tests compare the toy with a real
synthesis, a real table, and a real audit.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from engine.garbage_collection import no_collection
from engine.jit import kernels_mark, leave_mark
from engine.mechanisms.kernels.urn import synthesize_range
from engine.parameters import Mechanism, SynthesisParameters

__all__ = [
    "AUDIT_STAGES",
    "RECORD_STAGES",
    "STAGES",
    "TABLE_STAGES",
    "ensure_compiled",
    "shares",
    "stages_of",
]

Stages = dict[str, float]

STAGES: Stages = {
    "count": 0.2,
    "account": 3.4,
    "coarsen": 1.3,
    "pool": 0.4,
    "draw": 2.8,
    "move": 2.2,
    "price": 1.5,
    "clean": 2.0,
    "cascade": 4.0,
    "place": 0.8,
    "points": 0.5,
    "redraw": 0.2,
    "edit": 0.2,
}
"""Each stage of a synthesis that has kernels, and about how long they take to compile, in seconds.

Neighboring stages have functions in common, which the first of them compiles.
"""

TABLE_STAGES: Stages = {
    "sums": 5.0,
    "both-totals": 5.0,
    "samples": 2.0,
    "cells": 1.4,
}
"""The same for a table with suppressed cells."""

AUDIT_STAGES: Stages = {
    "attack": 10.0,
    "tabulate": 4.6,
    "grow-syntactic": 6.4,
    "grow-private": 2.5,
}
"""The same for the attackers of an audit and the trees of other schemes."""

RECORD_STAGES: Stages = {
    "learn-records": 5.0,
    "try-candidates": 3.0,
    "place-records": 3.0,
    "points": STAGES["points"],
}
"""The same for worker records."""

_ONLY_FOR: dict[str, Mechanism] = {
    "account": "dirichlet-multinomial",
    "draw": "dirichlet-multinomial",
    "move": "exponential",
    "price": "exponential",
}
"""Stages of a synthesis that one mechanism needs and the other does not."""

_ALL_STAGES: Stages = STAGES | TABLE_STAGES | AUDIT_STAGES | RECORD_STAGES


def stages_of(parameters: SynthesisParameters, mechanisms: Collection[Mechanism] = ()) -> Stages:
    """The stages that a synthesis needs: those of its mechanism, or of those that it may choose from."""
    possible = set(mechanisms) or {parameters.mechanism}
    left_out = {name for name, mechanism in _ONLY_FOR.items() if mechanism not in possible}
    if not parameters.clean and "exponential" not in possible:
        left_out.add("clean")
    if not parameters.cascade:
        left_out.add("cascade")
    return {name: cost for name, cost in STAGES.items() if name not in left_out}


def ensure_compiled(report: Callable[[], object], stages: Stages = STAGES) -> None:
    """Compile the kernels of some stages unless that has been done, for these sources, on this machine.

    If files cannot be kept, or a process fails, the remaining kernels are compiled when they are first called. If two
    processes call this at once, the second waits for the first.

    Parameters
    ----------
    report : callable
        Called before anything is compiled.
    stages : dict, optional
        ``STAGES`` of a synthesis (the default) or some of them, ``TABLE_STAGES``, ``AUDIT_STAGES``, or
        ``RECORD_STAGES``.
    """
    own = Path(__file__)
    texts = [path.read_text(encoding="utf-8") for path in (own, own.with_name("toy_stages.py"))]
    # Some stages are compiled where all stages of a synthesis are.
    groups = [stages, STAGES] if stages.keys() < STAGES.keys() else [stages]
    marks = [kernels_mark(synthesize_range, "\n".join((*group, *texts))) for group in groups]
    mark = marks[0]
    if mark is None or _any_exists(marks):
        return
    report()
    with suppress(OSError), _lock_file(mark.with_name("compiled.lock")):
        if not _any_exists(marks) and _compile(shares(_n_processors(), stages)):
            leave_mark(mark)


def _any_exists(marks: list[Path | None]) -> bool:
    return any(mark is not None and mark.exists() for mark in marks)


def _n_processors() -> int:
    """Number of processors that this process may use, if the system says, else of all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shares(n: int, stages: Stages = STAGES) -> list[list[str]]:
    """Names of the stages divided among at most ``n`` processes, for about the same time each."""
    total = sum(stages.values())
    shared: dict[int, list[str]] = {}
    done = 0.0
    for name, cost in stages.items():
        shared.setdefault(int((done + cost / 2) / total * n), []).append(name)
        done += cost
    return list(shared.values())


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Hold a file's lock; the system releases it when the process ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(shared: list[list[str]]) -> bool:
    """Run all stages, the first share here and the others in child processes; return whether all succeeded."""
    with ExitStack() as stack:
        begun = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="commutemap-kernels-")))
        orders = [_order(shared, own) for own in range(len(shared))]
        running = [stack.enter_context(_process(names, begun)) for names in orders[1:]]
        _run(orders[0], begun)
        return max([process.wait() for process in running], default=0) == 0


def _order(shared: list[list[str]], own: int) -> list[str]:
    """Stages in the order in which a process tries them: its own, then those of others, the last ones first."""
    others = [name for place, names in enumerate(shared) if place != own for name in reversed(names)]
    return shared[own] + others


@contextmanager
def _process(names: list[str], begun: Path) -> Iterator[subprocess.Popen[bytes]]:
    path = (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.precompile", "--begun", str(begun), "--stages", *names],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _run(names: list[str], begun: Path | None = None) -> None:
    """Run some stages; with a folder in which processes note what they have begun, those that no other has."""
    from engine.toy_stages import (
        TOYS,  # here, as it imports most of the engine, and kernels are compiled once
    )

    with no_collection():
        for name in names:
            if begun is None or _is_first(begun / name):
                TOYS[name]()


def _is_first(note: Path) -> bool:
    """Whether no other process has made a file, which is then made."""
    try:
        note.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _end_with_parent() -> None:
    """End this process when its standard input is closed, which happens even if the parent is killed."""

    def watch() -> None:
        os.read(0, 1)
        os.kill(
            os.getpid(), signal.SIGKILL
        )  # at once, even in the middle of a compilation; only complete files are kept

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """`python -m engine.precompile`."""
    parser = argparse.ArgumentParser(description="Compile the kernels of a synthesis, once.")
    parser.add_argument("--stages", nargs="+", choices=_ALL_STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--begun", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--tables", action="store_true", help="compile the kernels of tables as well")
    parser.add_argument("--audit", action="store_true", help="compile the kernels of an audit as well")
    parser.add_argument(
        "--records", action="store_true", help="compile the kernels of worker records as well"
    )
    chosen = parser.parse_args()
    if chosen.stages is None:
        report = partial(print, "compiling kernels (once)", flush=True)
        ensure_compiled(report)
        if chosen.tables:
            ensure_compiled(report, TABLE_STAGES)
        if chosen.audit:
            ensure_compiled(report, AUDIT_STAGES)
        if chosen.records:
            ensure_compiled(report, RECORD_STAGES)
    else:
        _end_with_parent()
        _run(chosen.stages, chosen.begun)


if __name__ == "__main__":
    main()
