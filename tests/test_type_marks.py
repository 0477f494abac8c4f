"""Every mark that silences mypy names the finding and the reason; `Any` has a list of its places."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "geodata", "mapapp", "commutemap", "tests", "benchmarks")
MARK = re.compile(r"# type: ignore\b")
WITH_REASON = re.compile(r"# type: ignore\[[a-z, -]+\]  # \w+")

USES_OF_ANY = {
    "engine/jit.py": (3, "flags of numba's njit, and what it returns"),
    "engine/numba_internals.py": (12, "numba's compiler has few types"),
    "engine/parameters.py": (
        2,
        "a table of TOML or JSON becomes arguments of a constructor, which checks them",
    ),
    "geodata/json_objects.py": (2, "`json.loads` returns values without types"),
    "mapapp/answers/analyses/results.py": (2, "fields of an answer by name; numbers of a change by name"),
    "mapapp/answers/analyses/measures.py": (1, "pandas does not type the rows of `itertuples`"),
    "mapapp/answers/commutes/places.py": (1, "columns of several types, by their names"),
    "mapapp/answers/words.py": (1, "Dash's components type no `aria-` and `data-` attributes"),
    "mapapp/commands/options.py": (1, "click passes a command's options without types"),
    "mapapp/commands/question.py": (1, "arguments of click's options"),
    "mapapp/base/whole_files.py": (1, "a stream of text or of bytes, as asked"),
    "mapapp/show/paper/sheet.py": (1, "matplotlib's canvas has no types"),
    "mapapp/explore/pages/folding.py": (1, "further arguments of Dash's Details"),
    "mapapp/explore/web_app.py": (1, "Dash's constructor has dozens of arguments"),
    "mapapp/show/reports/pdf.py": (1, "typst's types do not know several files"),
    "mapapp/question/fields.py": (
        1,
        "the type of a field's value follows from the field's kind, which is data",
    ),
}
"""How often modules of the program use `Any`, and why. Other modules do not use it."""


def marks(path: Path) -> list[str]:
    """The comments of a file that silence mypy, each with its line number."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return [
        f"{path.relative_to(ROOT)}:{token.start[0]}: {token.string}"
        for token in tokens
        if token.type == tokenize.COMMENT and MARK.match(token.string)
    ]


def test_every_ignored_finding_has_its_code_and_reason() -> None:
    found = [mark for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") for mark in marks(path)]
    assert found
    assert [mark for mark in found if not WITH_REASON.search(mark)] == []


def n_any(path: Path) -> int:
    """How often a module uses `Any`, not counting its import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def test_any_is_used_only_where_a_library_leaves_no_choice() -> None:
    modules = [path for folder in FOLDERS[:4] for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)): n for path in modules if (n := n_any(path))}
    assert found == {module: n for module, (n, _reason) in USES_OF_ANY.items()}
