"""A small file of worker records for the places of `tests.geodata.samples`, and its schema."""

from __future__ import annotations

from pathlib import Path

from tests.geodata.samples import CT_TRACTS, RI_TRACTS, block_id

HEADER = "person,w_block,h_block,years,dollars,naics,sex"
NEW_YORK = "360610001001000"
MASSACHUSETTS = "250250001001000"
ROWS = (
    # workplace, home, age in years, dollars a month, NAICS, sex
    (block_id(RI_TRACTS[0], 1), block_id(RI_TRACTS[2], 0), "29", "1250", "31", "1"),
    (block_id(RI_TRACTS[0], 1), block_id(RI_TRACTS[2], 0), "30", "1251.50", "33", "2"),
    (block_id(RI_TRACTS[0], 1), block_id(RI_TRACTS[2], 0), "41", "2000", "32", "1"),
    (block_id(RI_TRACTS[0], 1), block_id(CT_TRACTS[0], 2), "55", "9000", "44", "2"),
    (block_id(RI_TRACTS[1], 0), block_id(RI_TRACTS[1], 0), "19", "300", "92", "X"),
    (block_id(RI_TRACTS[1], 0), NEW_YORK, "64", "4000", "45", "2"),
    (MASSACHUSETTS, block_id(RI_TRACTS[1], 0), "33", "3334", "92", "1"),
)
JOBS = {
    # destination, origin, age, earnings, industry, sector, sex (positions)
    (block_id(RI_TRACTS[0], 1), block_id(RI_TRACTS[2], 0), 1, 1, 1, 0, 0),
    (block_id(RI_TRACTS[0], 1), block_id(RI_TRACTS[2], 0), 2, 2, 1, 0, 1),
    (block_id(RI_TRACTS[0], 1), block_id(RI_TRACTS[2], 0), 2, 2, 1, 0, 0),
    (block_id(RI_TRACTS[0], 1), block_id(CT_TRACTS[0], 2), 3, 3, 2, 1, 1),
    (block_id(RI_TRACTS[1], 0), block_id(RI_TRACTS[1], 0), 1, 1, 3, 2, 2),
    (block_id(RI_TRACTS[1], 0), "36", 3, 3, 2, 1, 1),
}
"""What `ROWS` become; the workplace in Massachusetts is not imported."""

SCHEMA = """
year = 2019
job_type = "JT00"

[workplace]
column = "w_block"
states = ["RI"]

[home]
column = "h_block"

[age]
column = "years"
bands = [{ from = 14, below = 30 }, { from = 30, below = 55 }, { from = 55 }]

[earnings]
column = "dollars"
bands = [{ below = 1251 }, { from = 1251, below = 3334 }, { from = 3334 }]

[attributes.sector]
title = "Industry"
column = "naics"
values = [
  { code = "31-33", label = "Manufacturing", cells = ["31", "32", "33"] },
  { code = "44-45", label = "Retail trade", cells = ["44", "45"] },
  { code = "92", label = "Public administration" },
]
derives = { industry = [1, 2, 3] }

[attributes.sex]
values = [{ code = 1, label = "Male" }, { code = 2, label = "Female" }, { code = "X", label = "Not stated" }]
parents = ["sector", "age"]
"""


def lines(rows: tuple[tuple[str, ...], ...] = ROWS, header: str = HEADER) -> str:
    """Text of a file of workers, numbered in its first column."""
    return "\n".join([header, *(f"p{number},{','.join(row)}" for number, row in enumerate(rows))]) + "\n"


def write_schema(folder: Path, text: str = SCHEMA) -> Path:
    """Write a schema file; return it."""
    path = folder / "workers.toml"
    path.write_text(text, encoding="utf-8")
    return path
