"""UCI Adult as tables with suppressed cells: income over $50,000, prior from one file, table from the other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pandas as pd

from benchmarks.nm_rhode_island import PSEUDO_WORKERS, Question, column_rates, count, decide, rounded
from benchmarks.replications import line, table

EDUCATION: Final = (0, 8, 9, 10, 12, 13, 16)
AGE: Final = (0, 24, 34, 44, 54, 120)
TABLES: Final = (("education", "age"), ("occupation", "education"))
PAPER_DELTA: Final = "0.1"


def read(file: Path) -> pd.DataFrame:
    """People of one of the two files, with attributes in groups."""
    people = pd.read_csv(file, skipinitialspace=True)
    return pd.DataFrame(
        {
            "education": pd.cut(people["education-num"], EDUCATION, labels=False),
            "age": pd.cut(people["age"], AGE, labels=False),
            "occupation": people["occupation"],
            "income over $50,000": people["Y"].str.startswith(">"),
        }
    )


def print_adult(data: Path) -> None:
    """Cells released (share of the people in them)."""
    files = [data / "adult" / f"adult.{name}.gz" for name in ("data", "test")]
    if not all(file.is_file() for file in files):
        print(
            f"no {files[0]}: Adult is left out; name the folder of Census files with --data", file=sys.stderr
        )
        return
    known, people = (read(file) for file in files)
    table("UCI Adult, delta 0.1", "cells", "epsilon 0.5", "epsilon 0.2", "released outside their interval")
    for rows, columns in TABLES:
        question = Question(rows, (columns,), "income over $50,000")
        counted, index = count(people, question)
        earlier, _ = count(known, question, index)
        rates = rounded(
            (earlier.values + PSEUDO_WORKERS * column_rates(earlier)) / (earlier.people + PSEUDO_WORKERS)
        )
        results = [
            decide(counted.people, rates, counted.values, epsilon, PAPER_DELTA) for epsilon in ("0.5", "0.2")
        ]
        shown = [f"{one.released} ({one.share:.2f})" for one in results]
        line(
            f"{rows} × {columns}",
            counted.people.size,
            *shown,
            " / ".join(str(one.outside) for one in results),
        )
