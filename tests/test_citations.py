"""Every citation names something that exists: a document of this tree and its section, or a part of a paper.

A document is cited as `docs/theory/method.md, section 5b` in the source, and as `[method.md](theory/method.md),
section 5b` in the documents themselves, where the path of a link starts at its page. A section without a number is
cited by its heading: `docs/tables.md, "Sums"`. A file outside the tree is never cited, except real data: its tests say
where they look for it.
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
PAGE = r"[\w./-]+\.md"
DOCUMENT = re.compile(rf"(?P<page>docs/{PAGE})")
CITATION = rf"(?:(?P<page>docs/{PAGE})|\]\((?P<link>{PAGE})\))"
CITED = re.compile(rf"{CITATION},\s+sections?\s+(?P<numbers>{NUMBERS})")
QUOTED = re.compile(rf"{CITATION},\s+[\"“](?P<heading>[^\"”]+)[\"”]")
UNCERTAIN = re.compile(rf"(?:docs/|\]\(){PAGE}\)?\s+(?:sections?\s+)?\d")
BARE = re.compile(rf"\b[Ss]ections?\s+(?P<numbers>{NUMBERS})")
HEADING = re.compile(rf"^#{{2,4}} (?P<number>{NUMBER})\b", re.MULTILINE)
TITLE = re.compile(r"^(?:#{2,4} (?P<title>.+?)(?: — `.*)?|\*\*(?P<lead>[^*]+?)\.?\*\*.*)$", re.MULTILINE)
OUTSIDE = re.compile(
    r"\b(?:METHOD|DESIGN|STYLE)(?:-[a-z]+)?(?:\.md\b|,?\s+sections?\b|\s+\d)|\.\./shared/(?!data\b)|\.\./(?:golden|papers)\b"
)
BEFORE = 200
"""Characters before a bare "section 5b" in which the source that it belongs to must be named."""
SOURCE = re.compile(rf"docs/{PAGE}|\bRFC \d+|\bP08\b|\bP10\b|\bP17\b")

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


def cited_page(found: re.Match[str], file: Path, root: Path) -> Path:
    """The page that a citation names: from the root in the source, from the citing page in a link."""
    return root / found["page"] if found["page"] else file.parent / found["link"]


def sections(page: Path) -> set[str]:
    """Numbers of the sections of a page."""
    return set(HEADING.findall(page.read_text(encoding="utf-8")))


def titles(page: Path) -> set[str]:
    """Headings of a page, and the bold words with which its paragraphs begin."""
    return {found["title"] or found["lead"] for found in TITLE.finditer(page.read_text(encoding="utf-8"))}


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
        if not (root / found["page"]).is_file()
    ]
    for found in CITED.finditer(text):
        if (page := cited_page(found, file, root)).is_file():
            missing = numbers_in(found["numbers"]) - sections(page)
            faults += [f"{page.name} has no section {number}" for number in sorted(missing)]
    for found in QUOTED.finditer(text):
        heading = " ".join(found["heading"].split())
        if (page := cited_page(found, file, root)).is_file() and heading not in titles(page):
            faults.append(f"{page.name} has no section {heading!r}")
    faults += [f"a comma is missing: {found[0]!r}" for found in UNCERTAIN.finditer(text)]
    faults += [f"a file outside the tree is cited: {found[0]!r}" for found in OUTSIDE.finditer(text)]
    if file.suffix == ".py":
        faults += [
            f"section of what: {found[0]!r}"
            for found in BARE.finditer(text)
            if not SOURCE.search(text[max(0, found.start() - BEFORE) : found.start()])
        ]
    elif root / "docs" in file.parents and file.suffix == ".md" and sections(file):
        missing = {n for found in BARE.finditer(text) for n in numbers_in(found["numbers"])}
        missing -= sections(file)
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
    assert {"5b", "7c", "10"} <= sections(ROOT / "docs" / "theory" / "method.md")


def source_file(root: Path) -> Path:
    """A file beside two documents that it can cite."""
    (root / "docs" / "theory").mkdir(parents=True)
    (root / "docs" / "method.md").write_text("# Method\n\n## 1. One\n\n### 2. Two\n")
    (root / "docs" / "theory" / "method.md").write_text("# Method\n\n## 7d. Law\n")
    return root / "engine.py"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("Source: docs/method.md, section 77.", "has no section 77"),
        ("Source: docs/method.md, sections 1 and 5z.", "has no section 5z"),
        ("Source: docs/method.md, sections 1 to 3.", "has no section 3"),
        ("docs/method.md,\n# section 99, says so", "has no section 99"),
        ("docs/method.md section 1", "a comma is missing"),
        ("docs/method.md 1", "a comma is missing"),
        ('docs/method.md, "3. Three"', "has no section '3. Three'"),
        ("[method.md](docs/theory/method.md), section 2", "has no section 2"),
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
    file = source_file(tmp_path)
    file.write_text(f"# {line}\n")
    assert any(fault in found for found in faults_of(file, tmp_path))


@pytest.mark.parametrize(
    "line",
    [
        "Source: docs/method.md, sections 1 and 2; P08 Theorem 4.4.",
        "docs/method.md,\n# section 2, says so, and so does section 1",
        "docs/theory/method.md, section 7d",
        'docs/method.md, "1. One"',
        "RFC 8439, section 2.3",
        "P08 Definitions 5 and 6; P08 §V-A; P08 Figures 1–4",
        "real files are in ../shared/data",
    ],
)
def test_a_right_citation_is_accepted(tmp_path: Path, line: str) -> None:
    file = source_file(tmp_path)
    file.write_text(f"# {line}\n")
    assert faults_of(file, tmp_path) == []
