"""What is compiled beforehand is all that a synthesis needs; done once, by processes that end with their parent."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import jit, precompile
from engine.parameters import SynthesisParameters
from tests.engine.examples import INTERPRETED

ROOT = Path(precompile.__file__).parents[1]

COMPILED = """
import gc, sys
from pathlib import Path
from engine import precompile
from engine.numba_internals import _Kernel

def compiled():
    kernels = [one for one in gc.get_objects() if isinstance(one, _Kernel)]
    return sorted((k.__module__, k.__qualname__, str(types)) for k in kernels for types in k.overloads)
"""

COMPLETE = (
    COMPILED
    + """
for names in precompile.shares(1):
    precompile._run(names)
before = compiled()
from mapapp.commands.cli import run
far = ["--far-state-miles", "100"]
published = ["--preset", "onthemap-v3", *far]
others = ["--mechanism", "exponential", "--unit", "block"]
cascade = ["--cascade", "on", "--editing", "none"]
code = max(
    run(["synthesize", sys.argv[1], f"{sys.argv[2]}-{number}", "--test-key", "-q", *options])
    for number, options in enumerate(([], published, [*published, *others], cascade))
)
new = [form for form in compiled() if form not in before]
unused = {"dash", "geopandas", "matplotlib", "plotly"} & set(sys.modules)
print(repr((code, len(before) > 10, new, unused)), file=sys.stderr)
"""
)

OWN_STAGES = (
    COMPILED
    + """
from mapapp.kinds.release.make import run as publishing
before, stages = [], []

def compile_stages(report, needed):
    stages.extend(needed)
    precompile._run(stages)
    before.extend(compiled())

publishing.ensure_compiled = compile_stages
from mapapp.commands.cli import run
code = run(["synthesize", sys.argv[1], sys.argv[2], "--test-key", "-q", *sys.argv[3:]])
new = [form for form in compiled() if form not in before]
print(repr((code, sorted(set(precompile.STAGES) - set(stages)), new)), file=sys.stderr)
"""
)

TABLE = (
    COMPILED
    + """
import numpy as np
from fractions import Fraction
from engine.streams import SecretKey
from engine.suppression import cells, rates, rows, sampled, sum_tree, unsafe

for names in precompile.shares(1, precompile.TABLE_STAGES):
    precompile._run(names)
before = compiled()
people, values = np.array([300, 400, 500]), [100, 130, 166]
third = rates.Rates(numerator=np.array([1, 1, 1]), denominator=np.array([3, 3, 3]))
rule = {"epsilon": Fraction(1, 2), "decision_delta": Fraction(1, 50)}
unsafe.unsafe_probability_bounds(people, third, *cells.safe_intervals(people, third, Fraction(1, 2)), threads=2)
cells.suppress_cells(people, third, values, **rule, threads=2)
rows.suppress_rows([1000], [0, 3], third, [333, 333, 334], **rule)
rows.expected_rows([1000], [0, 3], third, **rule)
sampled.suppress_cells_sampled(people, third, values, **rule, key=SecretKey.for_tests())
parent, types = np.array([-1, 0, 0]), np.array([0, 1, 2, 3])
tree = sum_tree.SumTree(parent=parent, type_ptr=types, type_people=people, type_rates=third)
sum_tree.suppress_tree(tree, np.array([396, 130, 166]), **rule)
quarter = rates.Rates(numerator=np.array([1, 1, 1]), denominator=np.array([3, 4, 5]))
tree = sum_tree.SumTree(parent=parent, type_ptr=types, type_people=people, type_rates=quarter)
sum_tree.suppress_tree(tree, np.array([300, 100, 100]), **rule)
print(repr((len(before) > 5, [form for form in compiled() if form not in before])), file=sys.stderr)
"""
)

CANDIDATES = (
    COMPILED
    + """
import numpy as np
from engine.records import acceptance, candidates, groups, structure, tables
from engine.streams import SecretKey

for names in precompile.shares(1, precompile.RECORD_STAGES):
    precompile._run(names)
before = compiled()
codes, key = np.arange(80, dtype=np.int32).reshape(-1, 4) % 3, SecretKey.for_tests()
network = structure.Structure(domain=(3,) * 4, parents=((), (0,), (0, 1), (2,)))
model = tables.learn_model(codes, network, epsilon=1, key=key, threads=2)
test = {"min_plausible_seeds": 3, "forced_fail": "0.02"}
for one in ({"threshold_epsilon": "0.5", "seed_floor": 2}, {"test": "deterministic"}):
    groups.MOST_DENSE = 30 * (len(one) - 1)
    table = groups.GroupTable.of(codes[:, :3], [3] * 3)
    passing = acceptance.Acceptance(**test, **one)
    candidates.draw_candidates(codes, table, passing, model, n=5000, key=key, threads=2)
print(repr((len(before) > 5, [form for form in compiled() if form not in before])), file=sys.stderr)
"""
)

AUDIT = (
    COMPILED
    + """
for stages in (precompile.STAGES, precompile.AUDIT_STAGES):
    for names in precompile.shares(1, stages):
        precompile._run(names)
before = compiled()
from mapapp.commands.cli import run
settings = ["--setting", "recommended", "--setting", "onthemap-v3"]
trees = ("k=2", "l=2:height=2", "t=0.5:height=2", "kd=1:height=2", "quad=1:height=2:levels=geometric")
schemes = [f"--against={tree}" for tree in trees]
code = run(["audit", sys.argv[1], "--question", "all", "-q", *settings, *schemes])
new = [form for form in compiled() if form not in before]
print(repr((code, len(before) > 20, new)), file=sys.stderr)
"""
)

RECORDS = (
    COMPILED
    + """
for names in precompile.shares(1, precompile.RECORD_STAGES):
    precompile._run(names)
before = compiled()
from mapapp.commands.cli import run
# At a smaller epsilon, so few workers are refused for a learned structure.
learned = ["--structure", "learned", "--anyway", "--epsilon", "8"]
chosen = [], ["--kept", "work_puma", "--min-seeds", "100"], learned
code = max(
    run(["records", sys.argv[1], f"{sys.argv[2]}-{number}", "--test-key", "-q", *options])
    for number, options in enumerate(chosen)
)
print(repr((code, len(before) > 5, [form for form in compiled() if form not in before])), file=sys.stderr)
"""
)

if INTERPRETED:
    pytest.skip("nothing is compiled", allow_module_level=True)


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_synthesis_compiles_nothing_more_and_imports_no_server(demo_dataset: Path, tmp_path: Path) -> None:
    dataset = shutil.copytree(demo_dataset, tmp_path / "d")
    process = python(COMPLETE, dataset, tmp_path / "r")
    _, said = process.communicate(timeout=300)
    assert said.splitlines()[-1] == repr((0, True, [], set())), said


@pytest.mark.parametrize(
    ("preset", "left_out"),
    [
        ("recommended", ["account", "cascade", "draw"]),
        ("onthemap-v3", ["cascade", "clean", "move", "price"]),
    ],
)
def test_a_preset_needs_no_kernels_but_those_of_its_stages(
    preset: str, left_out: list[str], demo_dataset: Path, tmp_path: Path
) -> None:
    dataset = shutil.copytree(demo_dataset, tmp_path / "d")
    process = python(OWN_STAGES, dataset, tmp_path / "r", "--preset", preset)
    _, said = process.communicate(timeout=300)
    assert said.splitlines()[-1] == repr((0, left_out, [])), said


def test_a_choice_of_mechanisms_needs_the_stages_of_both() -> None:
    usual = SynthesisParameters()
    both = precompile.stages_of(usual, ("exponential", "dirichlet-multinomial"))
    assert both.keys() == precompile.STAGES.keys() - {"cascade"}
    drawn = replace(usual, mechanism="exponential", editing="none", cascade=True)
    assert "cascade" in precompile.stages_of(drawn)
    assert "clean" in precompile.stages_of(replace(usual, mechanism="exponential"))


@pytest.mark.parametrize("n", range(1, 9))
def test_processes_take_over_what_others_have_not_begun(n: int, tmp_path: Path) -> None:
    shared = precompile.shares(n)
    orders = [precompile._order(shared, own) for own in range(len(shared))]
    assert all(sorted(order) == sorted(precompile.STAGES) for order in orders)
    assert [order[: len(own)] for order, own in zip(orders, shared, strict=True)] == shared
    run: list[str] = []
    for order in orders:
        run += [name for name in order if precompile._is_first(tmp_path / name)]
    assert sorted(run) == sorted(precompile.STAGES)


def test_deciding_a_table_compiles_nothing_more() -> None:
    process = python(TABLE)
    _, said = process.communicate(timeout=300)
    assert said.splitlines()[-1] == repr((True, [])), said


def test_trying_candidates_compiles_nothing_more() -> None:
    process = python(CANDIDATES)
    _, said = process.communicate(timeout=300)
    assert said.splitlines()[-1] == repr((True, [])), said


def test_making_records_compiles_nothing_more(demo_dataset: Path, tmp_path: Path) -> None:
    dataset = shutil.copytree(demo_dataset, tmp_path / "d")
    process = python(RECORDS, dataset, tmp_path / "r")
    _, said = process.communicate(timeout=300)
    assert said.splitlines()[-1] == repr((0, True, [])), said


def test_an_audit_compiles_nothing_more(demo_dataset: Path) -> None:
    process = python(AUDIT, demo_dataset)
    _, said = process.communicate(timeout=300)
    assert said.splitlines()[-1] == repr((0, True, [])), said


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize(
    "stages",
    [precompile.STAGES, precompile.TABLE_STAGES, precompile.AUDIT_STAGES, precompile.RECORD_STAGES],
    ids=["synthesis", "table", "audit", "records"],
)
def test_every_stage_is_in_one_share(n: int, stages: precompile.Stages) -> None:
    shared = precompile.shares(n, stages)
    assert 1 <= len(shared) <= n
    assert [name for names in shared for name in names] == list(stages)
    assert all(shared)


def test_each_group_of_stages_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = Compiler()
    monkeypatch.setattr(
        precompile, "kernels_mark", lambda kernel, what: tmp_path / f"compiled.0.{hash(what)}.mark"
    )
    monkeypatch.setattr(precompile, "_compile", compiler.compile)
    for _ in range(2):
        precompile.ensure_compiled(compiler.report)
        precompile.ensure_compiled(compiler.report, precompile.AUDIT_STAGES)
    assert (compiler.runs, compiler.reports) == (2, 2)


def test_a_process_ends_with_its_parent() -> None:
    process = python("import time; from engine.precompile import _end_with_parent as e; e(); time.sleep(600)")
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.close()
    assert process.wait(timeout=60) == -signal.SIGKILL
    process.stderr.close()


def test_no_process_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    processes: list[Any] = []

    class Watched(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            processes.append(self)

    def stop(names: list[str], begun: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Watched)
    monkeypatch.setattr(precompile, "_run", stop)
    with pytest.raises(KeyboardInterrupt):
        precompile._compile(precompile.shares(2))
    assert [process.returncode for process in processes] == [-9]


class Compiler:
    """Takes the place of the compiler."""

    def __init__(self, *, succeeds: bool = True) -> None:
        self.runs = 0
        self.reports = 0
        self.succeeds = succeeds

    def compile(self, shared: list[list[str]]) -> bool:
        self.runs += 1
        time.sleep(0.05)  # so that a second caller comes in between
        return self.succeeds

    def report(self) -> None:
        self.reports += 1


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    mark = tmp_path / "compiled.0123.4567.mark"
    monkeypatch.setattr(precompile, "kernels_mark", lambda kernel, what: mark)
    return mark


def test_some_stages_need_no_compiling_where_all_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiler = Compiler()
    monkeypatch.setattr(
        precompile, "kernels_mark", lambda kernel, what: tmp_path / f"compiled.0.{hash(what)}.mark"
    )
    monkeypatch.setattr(precompile, "_compile", compiler.compile)
    some = {name: cost for name, cost in precompile.STAGES.items() if name != "account"}
    precompile.ensure_compiled(compiler.report, some)
    precompile.ensure_compiled(compiler.report)
    assert compiler.runs == 2
    for mark in tmp_path.glob("*.mark"):
        mark.unlink()
    precompile.ensure_compiled(compiler.report)
    precompile.ensure_compiled(compiler.report, some)
    assert compiler.runs == 3


def test_kernels_are_compiled_once(marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler()
    monkeypatch.setattr(precompile, "_compile", compiler.compile)
    precompile.ensure_compiled(compiler.report)
    precompile.ensure_compiled(compiler.report)
    assert (compiler.runs, compiler.reports, marked.exists()) == (1, 1, True)


def test_of_two_at_once_the_second_waits(marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler()
    monkeypatch.setattr(precompile, "_compile", compiler.compile)
    callers = [threading.Thread(target=precompile.ensure_compiled, args=(compiler.report,)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert compiler.runs == 1


def test_what_did_not_come_through_is_not_marked(marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler(succeeds=False)
    monkeypatch.setattr(precompile, "_compile", compiler.compile)
    precompile.ensure_compiled(compiler.report)
    assert not marked.exists()


def test_where_no_file_can_be_kept_nothing_is_compiled_beforehand(
    marked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler()
    monkeypatch.setattr(precompile, "_compile", compiler.compile)
    gone = marked.parent / "gone" / marked.name
    for mark in (None, gone):
        monkeypatch.setattr(precompile, "kernels_mark", lambda kernel, what, mark=mark: mark)
        precompile.ensure_compiled(compiler.report)
    assert compiler.runs == 0


def test_a_mark_is_for_its_sources_and_lies_beside_the_kernels(tmp_path: Path) -> None:
    from engine.mechanisms.kernels.urn import synthesize_range

    one, other = (jit.kernels_mark(synthesize_range, what) for what in ("one", "other"))
    assert one is not None
    assert other is not None
    assert one != other
    compiled: Any = synthesize_range
    assert one.parent == compiled._cache._cache_file._directory
    assert compiled._cache._cache_file._sources[:16] in one.name
    assert jit.kernels_mark(lambda: None, "one") is None


def test_a_new_mark_drops_those_of_other_sources(tmp_path: Path) -> None:
    for name in ("compiled.old.1.mark", "compiled.new.1.mark", "compiled.lock"):
        (tmp_path / name).touch()
    jit.leave_mark(tmp_path / "compiled.new.2.mark")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["compiled.lock", "compiled.new.1.mark", "compiled.new.2.mark"]
