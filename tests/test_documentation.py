"""What users can type, call or read in a certificate is documented, and what is documented works."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import shlex
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import pytest

from mapapp.base.errors import UsageError
from mapapp.commands.cli import commutemap
from mapapp.commands.cli_reference import reference
from mapapp.kinds.tables.make.run import Choice, make_table
from mapapp.kinds.tables.make.spec import TableSpec
from tests.tables import write_later_jobs, write_prior
from tests.test_import_directions import PACKAGES, ROOMS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^(?: {4}.*)?\n)*^ {4}.*\n?", re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
TABLE_HEAD = re.compile(r"^(\|.*\|)\n\|-", re.MULTILINE)
OF_TIME = re.compile(r"(^|\W)(s|ms|µs|seconds|minutes)$")
OF_THIS_TREE = re.compile(r"(?:engine|geodata|mapapp|assets|tests|benchmarks|docs)/[a-z_/]*(?:\.\w+)?")
DOTTED = re.compile(r"(?:engine|geodata|mapapp|commutemap)(?:\.\w+)+")
NAMED_BY_DATA = ("public_inputs", "confidential_inputs", "versions", "files", "parents", "cells", "derives")
"""Fields of a certificate whose members are named after tables, files, attributes or libraries."""
PLACEHOLDERS = {"SHA256": "0" * 64}
"""Words that a reader replaces, where the program checks what they are replaced with."""


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def path_of(page: Path) -> str:
    """The path of a page in this tree."""
    return page.relative_to(ROOT).as_posix()


def linked_pages(page: Path) -> set[Path]:
    """Files of this tree that a page links to."""
    targets = [found["target"].partition("#")[0] for found in LINK.finditer(text_of(page))]
    return {(page.parent / target).resolve() for target in targets}


def code_blocks(text: str) -> list[str]:
    """Fenced and indented blocks of a page, without their indentation."""
    fenced = [
        found["code"] for found in FENCED.finditer(text) if found["language"] in ("", "sh", "text", "console")
    ]
    indented = INDENTED.findall(FENCED.sub("\n", text))
    return fenced + [re.sub(r"^ {1,4}", "", block, flags=re.MULTILINE) for block in indented]


def command_lines(text: str) -> list[str]:
    """Complete `commutemap` commands in the code blocks of a page; a backslash continues a line."""
    lines = [
        line.strip()
        for block in code_blocks(text)
        for line in re.sub(r"\\\n\s*", "", block).splitlines()
        if re.match(r"\s*(\.venv/bin/)?commutemap( |$)", line)
    ]
    return [line for line in lines if line != "commutemap"]


def command_fault(line: str) -> str | None:
    """What the program would say about a command line before it runs; None if it would run."""
    arguments = [PLACEHOLDERS.get(word, word) for word in shlex.split(line, comments=True)[1:]]
    try:
        _parse(commutemap, "commutemap", arguments)
    except (click.ClickException, UsageError) as error:
        return f"{line}: {error}"
    return None


def _parse(
    command: click.Command, name: str, arguments: list[str], parent: click.Context | None = None
) -> None:
    """Read arguments as click does, the command included, and run nothing."""
    if not isinstance(command, click.Group):
        command.make_context(name, list(arguments), parent=parent)
        return
    context = command.make_context(name, list(arguments), allow_interspersed_args=False)
    if context._protected_args + context.args:
        child_name, child, rest = command.resolve_command(context, context._protected_args + context.args)
        assert child is not None
        _parse(child, str(child_name), rest, context)


def mention_faults(text: str) -> list[str]:
    """Commands and options between backticks that the program does not have."""
    faults = []
    for span in INLINE.findall(text):
        words = span.removeprefix(".venv/bin/").split()
        if words[0] == "commutemap" and len(words) > 1 and words[1].islower():
            words = words[1:]
            if not words[0].startswith("-") and words[0] not in commutemap.commands:
                faults.append(f"`{span}`: no command {words[0]!r}")
        if words[0] in commutemap.commands:
            known = options_of(commutemap.commands[words[0]])
            used = [word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
            faults += [f"`{span}`: no option {option}" for option in used if option not in known]
    return faults


def options_of(command: click.Command) -> set[str]:
    """Every spelling of every option of a command."""
    return {name for each in command.params if isinstance(each, click.Option) for name in each.opts} | {
        "--help",
        "-h",
    }


def undocumented_commands(text: str) -> list[str]:
    """Commands that a text does not name."""
    return [name for name in commutemap.commands if not re.search(rf"commutemap {name}\b", text)]


def undocumented_options(text: str) -> list[str]:
    """Options that the page of all commands does not list in the section of their command."""
    sections = dict(re.findall(r"^## commutemap ?(\S*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    return [
        f"{name} {option}"
        for name, command in commutemap.commands.items()
        for option in sorted(options_of(command))
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", sections.get(name, ""))
    ]


def code_words(text: str) -> set[str]:
    """Words in the code of a page."""
    code = [*code_blocks(text), *[found["code"] for found in FENCED.finditer(text)], *INLINE.findall(text)]
    return {word for piece in code for word in re.findall(r"[A-Za-z_]\w*", piece)}


def fields_of(document: Any) -> Iterator[str]:
    """Every field of a certificate, at any depth, except names that come from the data or from libraries."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield name
            members = value.values() if name in NAMED_BY_DATA and isinstance(value, dict) else [value]
            for member in members:
                yield from fields_of(member)
    elif isinstance(document, list):
        for value in document:
            yield from fields_of(value)


def undocumented_fields(certificate: dict[str, Any], page: str) -> list[str]:
    """Fields of a certificate that the page on certificates does not name."""
    return sorted(set(fields_of(certificate)) - code_words(page))


def anchors_of(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    plain = (
        re.sub(r"[`*\[\]]|\(\S+\)", "", found["text"]) for found in HEADING.finditer(FENCED.sub("", text))
    )
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in plain}


def link_faults(page: Path) -> list[str]:
    """Links of a page to files or headings that do not exist."""
    faults = []
    for found in LINK.finditer(text_of(page)):
        file, _, anchor = found["target"].partition("#")
        if re.match(r"https?:", file):
            continue
        target = page.parent / file if file else page
        if not target.is_file():
            faults.append(f"{page.name}: no such file: {found['target']}")
        elif anchor and anchor not in anchors_of(text_of(target)):
            faults.append(f"{page.name}: no such heading: {found['target']}")
    return faults


def path_faults(text: str) -> list[str]:
    """Files and folders of this tree that a page names between backticks and that do not exist."""
    found = [span for span in INLINE.findall(text) if OF_THIS_TREE.fullmatch(span)]
    return [path for path in found if not (ROOT / path).exists()]


def name_faults(text: str) -> list[str]:
    """Modules, classes and functions that a page names between backticks and that cannot be imported."""
    names = [found[0] for span in INLINE.findall(text) if (found := DOTTED.match(span))]
    return [name for name in names if not _exists(name)]


def _exists(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def timing_columns(text: str) -> list[str]:
    """Columns of a page's tables whose heading ends with a unit of time."""
    cells = [cell.strip() for head in TABLE_HEAD.findall(text) for cell in head.split("|")]
    return [cell for cell in cells if OF_TIME.search(cell)]


def missing_rooms(page: str) -> list[str]:
    """Packages and rooms that the table of the architecture page does not have."""
    rooms = {room.split(".")[0] for room in ROOMS}
    rows = {f"{name}/" for name in PACKAGES if name != "mapapp"} | {f"mapapp/{room}/" for room in rooms}
    return [row for row in sorted(rows) if f"| `{row}` |" not in page]


def api_names() -> list[str]:
    """Names of the public Python API."""
    return list(importlib.import_module("commutemap").__all__)


@pytest.fixture(scope="module")
def certificates(
    demo_dataset: Path, demo_release: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """Certificates of the demo: exponential, paper and sound."""
    from engine.parameters import SynthesisParameters
    from mapapp.kinds.release.make.run import run_synthesis
    from mapapp.kinds.release.make.settings import privacy_of

    folder = tmp_path_factory.mktemp("documented")
    dataset = Path(shutil.copytree(demo_dataset, folder / "demo.dataset"))
    paper = privacy_of(accountant="paper", delta="1e-6", min_retention="0.025")
    run_synthesis(dataset, folder / "paper", paper, SynthesisParameters(), test_key=True)
    sound = privacy_of(accountant="sound", delta="1e-6", min_retention="0.025")
    run_synthesis(dataset, folder / "sound", sound, SynthesisParameters(), test_key=True)
    exponential = SynthesisParameters(mechanism="exponential", unit="tract")
    run_synthesis(dataset, folder / "exponential", sound, exponential, test_key=True)
    releases = (demo_release, *(folder / name for name in ("paper", "sound", "exponential")))
    return [json.loads(text_of(release / "certificate.json")) for release in releases]


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_every_documented_command_parses(page: Path) -> None:
    text = text_of(page)
    assert [fault for line in command_lines(text) if (fault := command_fault(line))] == []
    assert mention_faults(text) == []


def test_every_command_in_the_help_parses() -> None:
    """Help gives examples and names other commands, as pages do."""
    text = reference(commutemap)
    assert [fault for line in command_lines(text) if (fault := command_fault(line))] == []
    assert mention_faults(text) == []
    assert {line.split()[1] for line in command_lines(text)} >= set(commutemap.commands)


def test_there_are_commands_to_check() -> None:
    """The patterns above do find what is there."""
    assert sum(len(command_lines(text_of(page))) for page in PAGES) > 40
    assert len(command_lines(text_of(ROOT / "docs" / "tutorial.md"))) >= 6


@pytest.mark.parametrize(
    "line",
    [
        "commutemap publish ri.dataset",
        "commutemap certify",
        "commutemap serve ri.release --colour",
        "commutemap synthesize ri.dataset ri.release --accountant loud",
        "commutemap demo a b",
        "commutemap --verbose",
    ],
)
def test_a_documented_command_that_does_not_parse_is_found(line: str) -> None:
    for text in (f"    {line}\n", f"```sh\n{line}\n```\n", f"```sh\n{line[:14]}\\\n  {line[14:]}\n```\n"):
        assert command_fault(command_lines(text)[0]) is not None


@pytest.mark.parametrize("span", ["commutemap publish", "serve --colour", "commutemap tune X --shout"])
def test_a_mention_of_a_command_or_option_that_does_not_exist_is_found(span: str) -> None:
    assert mention_faults(f"Use `{span}` for that.") != []


def test_every_command_is_on_a_page_that_people_wrote() -> None:
    written = "\n".join(text_of(page) for page in PAGES if page.name != "changelog.md")
    assert undocumented_commands(written) == []
    assert undocumented_commands(written.replace("commutemap sweep", "")) == ["sweep"]


def test_every_option_is_documented() -> None:
    text = reference(commutemap)
    assert undocumented_options(text) == []
    assert undocumented_options(text.replace("--budget-delta", "")) == ["import --budget-delta"]


def test_every_public_name_is_documented() -> None:
    names = api_names()
    assert len(names) > 10
    words = set().union(*(code_words(text_of(page)) for page in PAGES))
    assert [name for name in names if name not in words] == []
    assert "open_release" not in code_words("Call open_release, or `open_releases`.")


def test_every_field_of_a_certificate_is_documented(certificates: list[dict[str, Any]]) -> None:
    page = text_of(ROOT / "docs" / "privacy-promise.md")
    for certificate in certificates:
        assert undocumented_fields(certificate, page) == []
    planted = {**certificates[0], "accounting": {"rows": [{"a_new_field": 1}]}}
    assert undocumented_fields(planted, page) == ["a_new_field"]


def test_every_field_of_a_tables_certificate_is_documented(demo_dataset: Path, tmp_path: Path) -> None:
    """The fields that only tables have; the others are those of a release."""
    spec = TableSpec.from_options({"rows": "county", "columns": "industry", "counts": "same-unit"})
    dataset = write_later_jobs(tmp_path / "later.dataset", demo_dataset)
    prior = write_prior(tmp_path / "prior.csv", demo_dataset, spec)
    usual = Choice(specs=(spec,), prior=prior, epsilon=Fraction(1, 2), delta=Fraction(1, 10))
    make_table(dataset, tmp_path / "t", usual)
    certificate = json.loads(text_of(tmp_path / "t" / "certificate.json"))
    pages = text_of(ROOT / "docs" / "tables.md") + text_of(ROOT / "docs" / "privacy-promise.md")
    assert undocumented_fields(certificate, pages) == []
    assert undocumented_fields({**certificate, "a_new_field": 1}, pages) == ["a_new_field"]


def test_every_field_of_a_certificate_of_records_is_documented(demo_dataset: Path, tmp_path: Path) -> None:
    from mapapp.kinds.records.make.choice import Choice as RecordsChoice
    from mapapp.kinds.records.make.run import make_records

    dataset = Path(shutil.copytree(demo_dataset, tmp_path / "d"))
    choice = RecordsChoice(
        kept=("work_puma", "home_puma"), min_seeds=100, structure="learned", anyway=True, test_key=True
    )
    make_records(dataset, tmp_path / "r", choice)
    certificate = json.loads(text_of(tmp_path / "r" / "certificate.json"))
    pages = text_of(ROOT / "docs" / "records.md") + text_of(ROOT / "docs" / "privacy-promise.md")
    assert undocumented_fields(certificate, pages) == []


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert link_faults(page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# Two words\n\n[a](b.md) [b](#three-words) [c](#two-words) [d](https://example.org/x)\n")
    assert link_faults(page) == ["a.md: no such file: b.md", "a.md: no such heading: #three-words"]


@pytest.mark.parametrize("page", PAGES, ids=path_of)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    assert path_faults(text_of(page)) == []
    assert name_faults(text_of(page)) == []


def test_a_file_or_name_that_does_not_exist_is_found() -> None:
    assert name_faults("`geodata.demo.write_demo(…)` `mapapp.nowhere` `commutemap.close_release`") == [
        "mapapp.nowhere",
        "commutemap.close_release",
    ]
    assert path_faults("`engine/` `docs/api.md` `engine/no_such.py`") == ["engine/no_such.py"]


def test_timings_are_in_measurements_only() -> None:
    pages = {page.name for page in PAGES if timing_columns(text_of(page))}
    assert pages == {"measurements.md"}
    assert timing_columns("| what | all, s |\n|---|---|\n| minutes | 5 |\n") == ["all, s"]


def test_the_readme_leads_to_every_page() -> None:
    """Directly, or through the page that summarizes a proof or an experiment."""
    linked = linked_pages(ROOT / "README.md")
    assert [path_of(page) for page in PAGES[1:] if page.parent == ROOT / "docs" and page not in linked] == []
    linked |= {target for page in PAGES if page.parent == ROOT / "docs" for target in linked_pages(page)}
    assert [path_of(page) for page in PAGES[1:] if page not in linked] == []


def test_the_architecture_page_has_every_package_and_room() -> None:
    page = text_of(ROOT / "docs" / "architecture.md")
    assert missing_rooms(page) == []
    assert missing_rooms(page.replace("| `mapapp/show/` |", "")) == ["mapapp/show/"]
