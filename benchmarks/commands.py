"""Run commands as users do, each in a process of its own; measure their time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The standard output of a command, and what the command cost."""

    output: str
    wall_s: float
    processor_s: float
    peak_gib: float


def run(module: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Finished:
    """Run a module with more environment variables if given; exits if the command fails."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | (environment or {}),
    )
    assert process.stdout is not None
    with process.stdout:
        output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"`{module} {' '.join(map(str, arguments))}` ended with exit code {process.returncode}")
    return Finished(
        output=output,
        wall_s=time.perf_counter() - start,
        processor_s=usage.ru_utime + usage.ru_stime,
        peak_gib=usage.ru_maxrss / 2**20,
    )


def commutemap(*arguments: object, environment: Mapping[str, str] | None = None) -> Finished:
    """Run `commutemap` quietly."""
    return run("mapapp.commands.cli", *arguments, "-q", environment=environment)


def commutemap_json(*arguments: object) -> dict[str, Any]:
    """Run `commutemap … --json`; returns its answer."""
    return dict(json.loads(commutemap(*arguments, "--json").output))


def used_so_far(pid: int) -> tuple[float, float]:
    """Processor seconds of a running process, and the peak of its memory in GiB."""
    times = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[11:13]
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    peak_kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK"), int(peak_kib) / 2**20


def family_of(pid: int) -> list[int]:
    """A running process and those that it started, and so on."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:  # grows as children are found
        found += [child for child, parent in parents.items() if parent == one]
    return found


def processor_s_of_all(pid: int) -> float:
    """Processor seconds of a running process and those that it started, with their children that have ended."""
    total = 0
    for one in family_of(pid):
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def memory_mib_of_all(pid: int) -> float:
    """Memory of a running process and those that it started, in MiB; pages that they share count once."""
    total_kib = 0
    for one in family_of(pid):
        with suppress(OSError):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total_kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kib / 1024


@contextmanager
def serving(
    release: Path,
    *options: object,
    source: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[int, str]]:
    """Serve a release on a free port of this machine until the block ends; yields process id and address.

    `source` is the checkout whose program is run, this one by default; `environment` has more variables.
    """
    start = "from mapapp.commands.start import main; main()"  # as the installed command starts
    command = [sys.executable, "-c", start, "serve", str(release), "--port", "0", *map(str, options)]
    more = {"PYTHONPATH": str(source.resolve())} if source else {}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=source,
        env=os.environ | more | dict(environment or {}),
    )
    try:
        yield process.pid, _address_of(process)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:  # it still makes outlines ready
            process.kill()
            process.wait()


def _address_of(process: subprocess.Popen[str]) -> str:
    """The address that a server prints; what it prints later is read and forgotten."""
    assert process.stdout is not None
    for line in process.stdout:
        if "http://" in line:
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return "http://" + line.split("http://")[1].split()[0]
    sys.exit("the server did not start")
