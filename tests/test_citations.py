"""Every citation names something that exists: a document of this tree and its section, or a part of a paper.

A document is cited as `docs/method.md, section 5b` in the source, and as `[method.md](method.md), section 5b` in the
documents themselves. A file outside the tree is never cited, except real data: its tests say where they look for it.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "geodata", "mapapp", "assets", "tests", "benchmarks", "docs")
SUFFIXES = {".py", ".md", ".js", ".css", ".typ", ".toml", ".cff"}
THIS = Path(__file__).resolve()

NUMBER = r"\d+[a-z]?"
NUMBERS = rf"{NUMBER}(?:(?:,| and| to|–)\s*{NUMBER})*"
DOCUMENT = re.compile(r"docs/(?P<name>[\w-]+\.md)")
CITED = re.compile(rf"(?:docs/|\]\()(?P<name>[\w-]+\.md)\)?,\s+sections?\s+(?P<numbers>{NUMBERS})")
UNCERTAIN = re.compile(r"(?:docs/|\]\()[\w-]+\.md\)?\s+sections?\s+\d")
BARE = re.compile(rf"\b[Ss]ections?\s+(?P<numbers>{NUMBERS})")
HEADING = re.compile(rf"^#{{2,4}} (?P<number>{NUMBER})\b", re.MULTILINE)
OUTSIDE = re.compile(
    r"\b(?:METHOD|DESIGN|STYLE)(?:-[a-z]+)?(?:\.md\b|,?\s+sections?\b|\s+\d)|\.\./shared/(?!data\b)|\.\./(?:golden|papers)\b"
)
BEFORE = 200
"""Characters before a bare "section 5b" in which the source that it belongs to must be named."""
SOURCE = re.compile(r"docs/[\w-]+\.md|\bRFC \d+|\bP08\b|\bP10\b|\bP17\b")

P08 = {
    "Theorem": {"4.1", "4.2", "4.3", "4.4", "5.1", "5.2"},
    "Lemma": {"5.1", "5.2"},
    "Definition": {"1", "2", "3", "4", "5", "6", "7"},
    "Algorithm": {"1", "2"},
    "Figure": {"1", "2", "3", "4"},
    "section": {"I", "II", "III", "IV", "IV-A", "IV-B", "V", "V-A", "V-B", "VI", "VII", "VIII"},
}
"""What Machanavajjhala et al. (2008) number."""
P08_PART = re.compile(
    r"P08,? (?:(?P<kind>Theorem|Lemma|Definition|Algorithm|Figure)s? (?P<first>\d(?:\.\d)?)"
    r"(?:(?: and |–)(?P<last>\d(?:\.\d)?))?|(?:§|section )(?P<section>[IVX]+(?:-[A-Z])?))"
)


def files(root: Path = ROOT) -> list[Path]:
    found = [file for folder in FOLDERS for file in (root / folder).rglob("*") if file.suffix in SUFFIXES]
    found += [file for file in root.glob("*") if file.suffix in SUFFIXES or file.name == "Makefile"]
    return sorted(file for file in found if file.resolve() != THIS and "__pycache__" not in file.parts)


def text_of(file: Path) -> str:
    """A file's text, with comments that span lines joined."""
    return re.sub(r"\n\s*#:? ", "\n", file.read_text(encoding="utf-8"))


def sections(document: str, root: Path = ROOT) -> set[str]:
    """Numbers of the sections of a document in docs/."""
    return set(HEADING.findall((root / "docs" / document).read_text(encoding="utf-8")))


def numbers_in(text: str) -> set[str]:
    """Section numbers of a citation; "2 to 4" stands for all three."""
    spans = [(int(a), int(b)) for a, b in re.findall(r"\b(\d+)\s*(?:to|–)\s*(\d+)\b", text)]
    return set(re.findall(NUMBER, text)) | {str(n) for a, b in spans for n in range(a, b + 1)}


def faults_of(file: Path, root: Path = ROOT) -> list[str]:
    """What is wrong with the citations of one file."""
    text = text_of(file)
    faults = [
        f"no such document: {found[0]}"
        for found in DOCUMENT.finditer(text)
        if not (root / "docs" / found["name"]).is_file()
    ]
    for found in CITED.finditer(text):
        if (root / "docs" / found["name"]).is_file():
            missing = numbers_in(found["numbers"]) - sections(found["name"], root)
            faults += [f"{found['name']} has no section {number}" for number in sorted(missing)]
    faults += [f"a comma is missing: {found[0]!r}" for found in UNCERTAIN.finditer(text)]
    faults += [f"a file outside the tree is cited: {found[0]!r}" for found in OUTSIDE.finditer(text)]
    if file.suffix == ".py":
        faults += [
            f"section of what: {found[0]!r}"
            for found in BARE.finditer(text)
            if not SOURCE.search(text[max(0, found.start() - BEFORE) : found.start()])
        ]
    elif file.parent == root / "docs" and sections(file.name, root):
        missing = {n for found in BARE.finditer(text) for n in numbers_in(found["numbers"])}
        missing -= sections(file.name, root)
        faults += [f"{file.name} has no section {number}" for number in sorted(missing)]
    for found in P08_PART.finditer(text):
        kind = found["kind"] or "section"
        named = {found["first"], found["last"], found["section"]} - {None}
        faults += [f"P08 has no {kind} {part}" for part in sorted(named - P08[kind])]
    return faults


def test_every_citation_names_something_that_exists() -> None:
    assert [f"{file.relative_to(ROOT)}: {fault}" for file in files() for fault in faults_of(file)] == []


def test_there_are_citations_to_check() -> None:
    """The patterns above do find what is there."""
    cited = [found for file in files() for found in CITED.finditer(text_of(file))]
    assert len(cited) > 50
    assert {"5b", "7c", "10"} <= sections("method.md")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("Source: docs/method.md, section 77.", "has no section 77"),
        ("Source: docs/method.md, sections 1 and 5z.", "has no section 5z"),
        ("Source: docs/method.md, sections 1 to 3.", "has no section 3"),
        ("docs/method.md,\n# section 99, says so", "has no section 99"),
        ("docs/method.md section 1", "a comma is missing"),
        ("docs/no-such.md says so", "no such document"),
        ("as section 1 says", "section of what"),
        ("METHOD section 4", "outside the tree"),
        ("DESIGN.md", "outside the tree"),
        ("see ../shared/golden/pdp.json", "outside the tree"),
        ("P08 Theorem 9.9", "P08 has no Theorem 9.9"),
        ("P08 §IX", "P08 has no section IX"),
    ],
)
def test_a_wrong_citation_is_found(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "method.md").write_text("# Method\n\n## 1. One\n\n### 2. Two\n")
    file = tmp_path / "engine.py"
    file.write_text(f"# {line}\n")
    assert any(fault in found for found in faults_of(file, tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        "Source: docs/method.md, sections 1 and 2; P08 Theorem 4.4.",
        "docs/method.md,\n# section 2, says so, and so does section 1",
        "RFC 8439, section 2.3",
        "P08 Definitions 5 and 6; P08 §V-A; P08 Figures 1–4",
        "real files are in ../shared/data",
    ],
)
def test_a_right_citation_is_accepted(tmp_path: Path, line: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "method.md").write_text("# Method\n\n## 1. One\n\n### 2. Two\n")
    file = tmp_path / "engine.py"
    file.write_text(f"# {line}\n")
    assert faults_of(file, tmp_path) == []
