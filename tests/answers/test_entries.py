"""What differs between analyses is declared in their entries: other rooms do not ask for the type of an answer."""

from __future__ import annotations

import ast
from pathlib import Path

from mapapp.answers.analyses.characteristics import Characteristics
from mapapp.answers.analyses.job_balance import JobBalance
from mapapp.answers.analyses.over_years import OverYears
from mapapp.answers.analyses.results import Change, Result

MAPAPP = Path(__file__).parents[2] / "mapapp"


def answer_types() -> set[str]:
    """Names of the types of answers; changes and answers over years belong to no analysis of their own."""
    # Imported, so that they are among the subclasses.
    assert issubclass(JobBalance, Result)
    assert issubclass(Characteristics, Result)
    return {kind.__name__ for kind in Result.__subclasses__()} - {Change.__name__, OverYears.__name__}


def checked_types(path: Path) -> set[str]:
    """Names of the types in a file's calls of isinstance."""
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    checks = [call.args[1] for call in calls if ast.unparse(call.func) == "isinstance"]
    return {node.id for check in checks for node in ast.walk(check) if isinstance(node, ast.Name)}


def test_no_module_chooses_by_the_type_of_an_answer() -> None:
    types = answer_types()
    assert len(types) == 10
    found = {
        str(path.relative_to(MAPAPP)): sorted(wrong)
        for path in MAPAPP.rglob("*.py")
        if (wrong := checked_types(path) & types)
    }
    assert found == {}
