"""Numbers of jobs of worker records: declared public or not, what is charged, and what they give away."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodata.errors import SourceFileError, StoreError
from geodata.json_objects import JsonObject
from geodata.store.public_counts import declare_public_counts, public_counts_reference
from geodata.store.store import open_store
from mapapp.answers.promise.method import chapters
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import TEST_KEY_REASON, UNDECLARED_COUNTS_REASON
from mapapp.kinds.base.count_exposure import exposure_of_counts
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import LedgerEntry, known_publications, release_entry
from tests.commands.running import refused, run_here
from tests.geodata import samples
from tests.geodata.worker_samples import lines, write_schema

REFERENCE = "Yearbook of Workplaces 2019, table 4"


def import_workers(folder: Path, name: str, *options: str) -> Path:
    """Import the sample's worker records as a dataset."""
    sources = folder / "sources"
    if not sources.exists():
        samples.write_sources(sources, polygons="none")
        write_schema(sources)
        (sources / "workers.csv").write_text(lines(), encoding="utf-8")
    files = ("--workers", sources / "workers.csv", "--schema", sources / "workers.toml")
    done = run_here("import", folder / name, "--from", sources, *files, *options)
    assert done.code == 0, done.err
    return folder / name


def release_of(dataset: Path, *options: str) -> tuple[Path, str]:
    """Make a release quickly, with nothing to choose; return it and what was printed."""
    release = dataset.with_suffix(".release")
    done = run_here("synthesize", dataset, release, "--design", "none", *options)
    assert done.code == 0, done.err
    return release, done.out


def certificate_of(release: Path) -> JsonObject:
    """The certificate of a release."""
    stated: JsonObject = json.loads((release / "certificate.json").read_text(encoding="utf-8"))
    return stated


def method_text(release: Path) -> str:
    """The Method page in one text."""
    opened = Release.open(release)
    return " ".join(str(part) for chapter in chapters(opened) for part in chapter.parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counts")


@pytest.fixture(scope="module")
def undeclared(folder: Path) -> tuple[Path, str]:
    return release_of(import_workers(folder, "undeclared"))


@pytest.fixture(scope="module")
def declared(folder: Path) -> tuple[Path, str]:
    return release_of(import_workers(folder, "declared", "--counts-are-public", REFERENCE))


def test_a_release_of_undeclared_counts_is_not_for_release_yet_charged(undeclared: tuple[Path, str]) -> None:
    """Finds that confidential counts are published as for release, or that the release is free of charge."""
    release, printed = undeclared
    stated = certificate_of(release)
    assert stated["status_reasons"] == [UNDECLARED_COUNTS_REASON]
    assert UNDECLARED_COUNTS_REASON in printed
    assert "charged in full" in printed
    (entry,) = Ledger(release.with_suffix("")).entries()
    assert (entry.for_release, entry.liftable, entry.epsilon) == (False, True, Fraction(13, 2))
    assert known_publications([entry]) == [entry]
    assert run_here("certify", release).code == 0


def test_declared_counts_make_a_release_for_release(declared: tuple[Path, str]) -> None:
    """Finds that the reference does not reach the certificate, the manifest, or the Method page."""
    release, _ = declared
    stated = certificate_of(release)
    assert (stated["status"], stated["status_reasons"]) == ("for release", [])
    assert any(REFERENCE in caveat for caveat in stated["caveats"])
    assert open_store(release, "release").manifest["counts_are_public"] == REFERENCE
    assert REFERENCE in method_text(release)
    assert run_here("certify", release).code == 0


def test_the_certificate_binds_the_declaration(undeclared: tuple[Path, str], tmp_path: Path) -> None:
    """Finds that a release becomes one for release by an edit of its manifest."""
    forged = tmp_path / "forged.release"
    shutil.copytree(undeclared[0], forged)
    manifest = json.loads((forged / "manifest.json").read_text(encoding="utf-8"))
    (forged / "manifest.json").write_text(json.dumps(manifest | {"counts_are_public": "nowhere"}))
    assert run_here("certify", forged).code != 0


def test_no_sentence_calls_undeclared_counts_public(undeclared: tuple[Path, str]) -> None:
    """Finds a page or certificate that says of confidential counts that they are public."""
    text = method_text(undeclared[0]) + json.dumps(certificate_of(undeclared[0]))
    for wrong in ("already public", "which are public", "public facts", "public number of workers"):
        assert wrong not in text
    assert "nobody has declared" in text


def test_records_of_undeclared_counts_are_for_release(undeclared: tuple[Path, str], folder: Path) -> None:
    """Finds that records, which do not show the counts, are held back for them."""
    from mapapp.kinds.base.residents_only import open_dataset
    from mapapp.kinds.records.make.choice import Choice
    from mapapp.kinds.records.make.run import reasons_against

    facts = open_dataset(folder / "undeclared").manifest
    assert facts["counts_are_public"] is None
    assert reasons_against(Choice(), facts) == []


def test_a_dataset_of_an_earlier_version_is_undeclared(folder: Path, tmp_path: Path) -> None:
    """Finds that worker records imported before anybody was asked count as public."""
    from mapapp.kinds.base.public_counts import reasons_of_counts
    from mapapp.kinds.base.residents_only import open_dataset

    import_workers(folder, "earlier", "--counts-are-public", REFERENCE)
    shutil.copytree(folder / "earlier", tmp_path / "earlier")
    manifest = json.loads((tmp_path / "earlier" / "manifest.json").read_text(encoding="utf-8"))
    del manifest["counts_are_public"]
    (tmp_path / "earlier" / "manifest.json").write_text(json.dumps(manifest))
    assert reasons_of_counts(open_dataset(tmp_path / "earlier").manifest) == [UNDECLARED_COUNTS_REASON]
    assert reasons_of_counts(open_dataset(folder / "earlier").manifest) == []


def test_a_dry_run_says_what_the_counts_give_away(folder: Path, undeclared: tuple[Path, str]) -> None:
    """Finds that numbers from confidential counts are shown without the mark, or public ones with it."""
    dataset = undeclared[0].with_suffix("")
    dry = ("synthesize", dataset, folder / "never", "--design", "none", "--dry-run")
    done = run_here(*dry)
    assert done.out.startswith("CONFIDENTIAL")
    assert "exact counts     CONFIDENTIAL: Of 2 workplaces" in done.out
    counts = json.loads(run_here(*dry, "--json").out)["exact_counts"]
    assert counts["confidential"] is True
    assert counts["workplaces_below"] == {"3": 1, "10": 2}


def test_a_dry_run_knows_the_ledger_and_the_budget(folder: Path) -> None:
    """Finds a dry run that promises what the ledger would refuse, and a release that hides the running total."""
    budget = ("--budget-epsilon", "8", "--budget-delta", "1e-6")
    dataset = import_workers(folder, "budget", "--counts-are-public", REFERENCE, *budget)
    dry = ("synthesize", dataset, folder / "never", "--design", "none", "--dry-run")
    assert "would be at epsilon 6.5, delta 0" in run_here(*dry).out
    assert len(Ledger(dataset).entries()) == 1, "a dry run spends nothing"
    _, printed = release_of(dataset)
    assert "all publications of this dataset: epsilon 6.5, delta 0" in printed
    assert "would be refused: release 'RELEASE' needs epsilon 6.5, but 6.5" in run_here(*dry).out
    assert "left epsilon 0, delta 1e-06" in run_here(*dry, "--epsilon", "1.5").out
    assert "would spend nothing; epsilon 6.5" in run_here(*dry, "--test-key").out
    ledger = json.loads(run_here(*dry, "--json").out)["ledger"]
    assert ledger["spent"] == {"epsilon": "13/2", "delta": "0"}
    assert ledger["refusal"] is not None


def test_a_justification_of_undeclared_counts_is_refused(undeclared: tuple[Path, str]) -> None:
    """Finds confidential numbers in a document that says that all of them are public."""
    from mapapp.analyst.workbench.justification import justification_pdf
    from mapapp.analyst.workbench.setting import Setting
    from mapapp.kinds.release.make.settings import preset_setting

    setting = Setting(*preset_setting("recommended", "gravity"))
    with pytest.raises(UsageError, match="nobody has declared"):
        justification_pdf(undeclared[0].with_suffix(""), "Sample", {"A": setting})


def test_a_board_gets_a_folder(
    declared: tuple[Path, str], undeclared: tuple[Path, str], tmp_path: Path
) -> None:
    """Finds a document that leaves out promise, gaps, or ledger, or is written of confidential numbers."""
    dataset, board = declared[0].with_suffix(""), tmp_path / "board"
    (tmp_path / "strict.toml").write_text('epsilon = 4\ndesign = "none"\n')
    done = run_here("justify", dataset, "onthemap-v3", tmp_path / "strict.toml", "-o", board)
    assert done.code == 0, done.err
    assert (board / "justification.pdf").read_bytes().startswith(b"%PDF")
    text = (board / "justification.md").read_text(encoding="utf-8")
    for words in (
        "| Setting | onthemap-v3 | strict |",
        "## What is not protected",
        f"declared that they are public: {REFERENCE}",
        "Of 2 workplaces, 1 have fewer than 3",
        "- strict: would be at epsilon 10.5, delta 0 with this release (no budget is set)",
        "commutemap certify RELEASE",
    ):
        assert words in text, words
    assert "already exists" in refused("justify", dataset, "recommended", "-o", board)
    never = tmp_path / "never"
    assert "nobody has declared" in refused(
        "justify", undeclared[0].with_suffix(""), "recommended", "-o", never
    )
    assert "different names" in refused("justify", dataset, "recommended", "recommended", "-o", never)
    assert not never.exists()


def test_counts_are_declared_after_the_import(folder: Path) -> None:
    """Finds a declaration that is lost, half-written, readable by others, or that later releases do not name."""
    dataset = import_workers(folder, "later")
    before = {path.name: path.read_bytes() for path in dataset.iterdir()}
    release_of(dataset)
    done = run_here("declare", dataset, "--counts-are-public", REFERENCE)
    assert (done.code, done.err) == (0, "")
    assert f"declared public: {REFERENCE}" in done.out
    assert "made before, and still not for release: 'later.release'" in done.out
    after = {path.name: path.read_bytes() for path in dataset.iterdir()}
    assert [name for name in before if after[name] != before[name]] == ["manifest.json"]
    facts = json.loads(after["manifest.json"])
    assert facts == json.loads(before["manifest.json"]) | {"counts_are_public": REFERENCE}
    assert (dataset / "manifest.json").stat().st_mode & 0o777 == 0o600
    assert not [path for path in folder.iterdir() if path.name.startswith(".later")]
    assert run_here("declare", dataset, "--counts-are-public", REFERENCE).code == 0, "the same again"
    assert "declared public already" in refused("declare", dataset, "--counts-are-public", "Another table")
    dry = ("synthesize", dataset, folder / "never", "--design", "none", "--dry-run", "--json")
    planned = json.loads(run_here(*dry).out)
    assert planned["certificate"]["status"] == "for release"
    assert any(REFERENCE in caveat for caveat in planned["certificate"]["caveats"])
    assert planned["exact_counts"]["confidential"] is False


def test_only_counts_of_worker_records_are_declared(demo_dataset: Path, folder: Path) -> None:
    """Finds a declaration about counts that are public already, or one that is no reference."""
    before = (demo_dataset / "manifest.json").read_bytes()
    assert "nothing to declare" in refused("declare", demo_dataset, "--counts-are-public", REFERENCE)
    assert "one printable line" in refused("declare", demo_dataset, "--counts-are-public", " ")
    assert "no such directory" in refused("declare", folder / "nowhere", "--counts-are-public", REFERENCE)
    assert (demo_dataset / "manifest.json").read_bytes() == before


def test_a_release_in_progress_is_not_made_of_two_declarations(folder: Path) -> None:
    """Finds that a release is finished although its dataset was declared public after it was read."""
    dataset = import_workers(folder, "meanwhile")
    store = open_store(dataset, "dataset")
    declare_public_counts(dataset, REFERENCE)
    with pytest.raises(StoreError, match="changed or replaced"):
        store.require_unchanged(digests=False)


def test_the_option_goes_with_workers(tmp_path: Path) -> None:
    """Finds that a declaration is silently ignored, or blank."""
    (tmp_path / "a.csv").write_text("x\n")
    option = ("--counts-are-public", REFERENCE)
    assert "name them with --workers" in refused(
        "import", tmp_path / "d", "--od", tmp_path / "a.csv", *option
    )
    assert "and --published" in refused("import", tmp_path / "d", "--published", *option)
    with pytest.raises(SourceFileError, match="one printable line"):
        public_counts_reference("  ")
    with pytest.raises(SourceFileError, match="one printable line"):
        public_counts_reference("two\nlines")


def test_only_reasons_that_can_be_lifted_are_charged() -> None:
    """Finds that a run with the test key is charged, or that one reason that stays makes no difference."""

    def entry(*reasons: str) -> LedgerEntry:
        return release_entry(epsilon=2, delta=0, release="r", reasons=reasons)

    lifted, kept = entry(UNDECLARED_COUNTS_REASON), entry(UNDECLARED_COUNTS_REASON, TEST_KEY_REASON)
    assert (int(lifted.epsilon), lifted.counts, lifted.for_release) == (2, True, False)
    assert (int(kept.epsilon), kept.counts) == (0, False)
    assert LedgerEntry.from_line(lifted.to_line()) == lifted
    assert LedgerEntry.from_line(kept.to_line()) == kept


WORKERS = st.lists(st.tuples(st.integers(0, 3), *[st.integers(1, 3)] * 3), min_size=1, max_size=25)


@given(WORKERS)
@settings(max_examples=25, deadline=None)
def test_bands_that_follow_are_those_of_a_plain_count(workers: list[tuple[int, int, int, int]]) -> None:
    """Finds a wrong axis or a worker counted who has a colleague of another band."""
    frame = pandas.DataFrame(workers, columns=["block", "age", "earnings", "industry"])
    numbers = frame.groupby(list(frame)).size()
    keys = np.array(numbers.index.to_list(), dtype=np.int64)
    segment: npt.NDArray[np.int64] = (keys[:, 1] - 1) * 9 + (keys[:, 2] - 1) * 3 + keys[:, 3] - 1
    exposure = exposure_of_counts(
        [(keys[:, 0], segment, np.asarray(numbers, dtype=np.int64))],
        shown=("age", "earnings", "industry"),
        is_public=True,
    )

    def follow(name: str, known: list[str]) -> int:
        return int((frame.groupby(known)[name].transform("nunique") == 1).sum())

    assert exposure.alone == {name: follow(name, ["block"]) for name in ("age", "earnings")}
    assert exposure.given_others == {
        "age": follow("age", ["block", "earnings", "industry"]),
        "earnings": follow("earnings", ["block", "age", "industry"]),
    }
    size = frame.groupby("block").size()
    assert exposure.n_below == {3: int((size < 3).sum()), 10: int((size < 10).sum())}
    assert exposure.n_workplaces == len(size)
