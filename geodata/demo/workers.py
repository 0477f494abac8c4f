"""Worker records: every job of a generated country with further attributes of the worker.

The attributes go with where people live and work, with their jobs, and with each other: factories are large and employ
men, young people with high pay live near the cities, and no two neighborhoods have the same people.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas

from geodata.demo.commutes import HomeTracts
from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.workers.order import sort_workers
from geodata.workers.schema import Attribute, WorkerSchema

_ROWS_AT_ONCE: Final = 250_000
_SECTORS: Final = (
    # code, label, industry group, log share in its group, men's log odds, education, log size of firms
    ("11", "Agriculture, forestry, fishing, and hunting", 1, -2.6, 0.9, -0.5, -1.5),
    ("21", "Mining, quarrying, and oil and gas extraction", 1, -4.0, 1.6, -0.1, 0.0),
    ("22", "Utilities", 2, -2.7, 1.0, 0.3, 0.6),
    ("23", "Construction", 1, -0.8, 1.9, -0.4, -1.0),
    ("31-33", "Manufacturing", 1, 0.0, 0.8, -0.1, 0.7),
    ("42", "Wholesale trade", 2, -1.1, 0.7, 0.1, -0.2),
    ("44-45", "Retail trade", 2, 0.0, -0.1, -0.3, 0.3),
    ("48-49", "Transportation and warehousing", 2, -0.9, 0.9, -0.4, 0.6),
    ("51", "Information", 3, -2.1, 0.4, 0.6, 0.4),
    ("52", "Finance and insurance", 3, -1.1, -0.3, 0.7, 0.6),
    ("53", "Real estate and rental and leasing", 3, -2.2, 0.1, 0.1, -1.0),
    ("54", "Professional, scientific, and technical services", 3, -0.7, 0.2, 1.1, -0.4),
    ("55", "Management of companies and enterprises", 3, -1.9, 0.0, 0.7, 1.2),
    ("56", "Administrative and support and waste management", 3, -0.9, 0.3, -0.5, 0.3),
    ("61", "Educational services", 3, -0.5, -0.8, 1.1, 1.0),
    ("62", "Health care and social assistance", 3, 0.0, -1.3, 0.3, 0.6),
    ("71", "Arts, entertainment, and recreation", 3, -1.9, 0.1, 0.0, -0.4),
    ("72", "Accommodation and food services", 3, -0.5, -0.2, -0.7, -0.3),
    ("81", "Other services (except public administration)", 3, -1.3, -0.2, -0.2, -1.3),
    ("92", "Public administration", 3, -1.0, 0.1, 0.5, 1.1),
)
_RACES: Final = (
    ("1", "White alone", 1.6),
    ("2", "Black or African American alone", 0.1),
    ("3", "American Indian or Alaska Native alone", -3.2),
    ("4", "Asian alone", -0.6),
    ("5", "Native Hawaiian or other Pacific Islander alone", -4.4),
    ("6", "Two or more races", -2.1),
)
_EDUCATION: Final = (
    ("1", "Less than high school"),
    ("2", "High school or equivalent, no college"),
    ("3", "Some college or associate degree"),
    ("4", "Bachelor's degree or advanced degree"),
    ("5", "Not available (workers aged 29 or younger)"),
)
_FIRM_SIZES: Final = (
    ("1", "0 to 19 employees"),
    ("2", "20 to 49 employees"),
    ("3", "50 to 249 employees"),
    ("4", "250 to 499 employees"),
    ("5", "500 or more employees"),
)
_SEX_BY_EARNINGS: Final = np.array([-0.35, -0.05, 0.25])
_DEGREE_BY_EARNINGS: Final = np.array([-0.9, -0.3, 0.9])
_HISPANIC_BY_RACE: Final = np.array([0.0, -1.2, 0.5, -2.8, -0.8, 0.3])


def _attribute(
    name: str,
    title: str,
    values: list[tuple[str, str]],
    parents: tuple[str, ...],
    derives: dict[str, tuple[int, ...]] | None = None,
) -> Attribute:
    return Attribute(
        name=name,
        title=title,
        codes=tuple(code for code, _ in values),
        labels=tuple(label for _, label in values),
        parents=parents,
        derives=derives or {},
    )


SCHEMA: Final = WorkerSchema(
    attributes=(
        _attribute("sex", "Sex", [("1", "Male"), ("2", "Female")], ("naics_sector", "earnings")),
        _attribute("race", "Race", [row[:2] for row in _RACES], ("home_puma", "earnings")),
        _attribute(
            "ethnicity",
            "Ethnicity",
            [("1", "Not Hispanic or Latino"), ("2", "Hispanic or Latino")],
            ("home_puma", "race"),
        ),
        _attribute("education", "Education", list(_EDUCATION), ("age", "earnings", "naics_sector")),
        _attribute(
            "naics_sector",
            "Industry (NAICS sector)",
            [row[:2] for row in _SECTORS],
            ("work_puma", "home_puma"),
            {"industry": tuple(row[2] for row in _SECTORS)},
        ),
        _attribute("firm_size", "Firm size", list(_FIRM_SIZES), ("naics_sector", "work_puma")),
    )
)
"""The further attributes of a generated country's workers."""


def make_workers(
    tables: dict[str, pandas.DataFrame], homes: HomeTracts, rng: np.random.Generator
) -> pandas.DataFrame:
    """Make one row for every worker counted in `jobs`, and draw the further attributes.

    Parameters
    ----------
    tables : dict of str to DataFrame
        `jobs`, `blocks`, and `tracts`.
    homes : HomeTracts
        In the order of `tracts`.
    rng : numpy Generator
        Of its own, so that `jobs` does not depend on it.

    Returns
    -------
    DataFrame
        `schema.workers_table`, sorted.
    """
    jobs, blocks = tables["jobs"], tables["blocks"]
    people = _People(tables, homes, rng)
    columns = [name for name in jobs.columns if name != "count"]
    rows = np.repeat(np.arange(len(jobs)), jobs["count"].to_numpy())
    parts = []
    for start in range(0, rows.size, _ROWS_AT_ONCE):
        here = jobs.iloc[rows[start : start + _ROWS_AT_ONCE]][columns]
        parts.append(here.assign(**people.draw(here, rng)))
    workers = pandas.concat(parts, ignore_index=True)
    arrays = {str(name): workers[name].to_numpy() for name in workers}
    return pandas.DataFrame(sort_workers(arrays, len(blocks), SCHEMA.domains))


class _People:
    """What workers are like at each home and workplace of a country."""

    def __init__(
        self, tables: dict[str, pandas.DataFrame], homes: HomeTracts, rng: np.random.Generator
    ) -> None:
        jobs, tracts = tables["jobs"], tables["tracts"]
        self.tract = tables["blocks"]["tract_index"].to_numpy()
        puma = tracts["puma_index"].to_numpy()
        n_blocks, n_tracts, n_pumas = self.tract.size, puma.size, int(puma.max()) + 1
        self.wealth = homes.wealth
        leaning = rng.normal(0.0, 0.55, (n_pumas, len(_RACES)))[puma]
        self.race = leaning + rng.normal(0.0, 0.3, (n_tracts, len(_RACES)))
        self.race += np.array([row[2] for row in _RACES])
        self.race[:, 0] += 0.35 * homes.wealth - 0.45 * homes.youth
        self.hispanic = rng.normal(-1.9, 0.5, n_pumas)[puma] + 0.3 * homes.youth - 0.3 * homes.wealth
        # A block has few employers, so one or two sectors of each group stand out in it.
        self.sector = rng.gumbel(0.0, 1.1, (n_blocks, len(_SECTORS))).astype(np.float32)
        self.sector += np.array([row[3] for row in _SECTORS], np.float32)
        at_work = np.bincount(jobs["destination_index"], weights=jobs["count"], minlength=n_blocks)
        self.size = 0.55 * np.log1p(at_work) - 2.1 + rng.normal(0.0, 0.5, n_blocks)

    def draw(self, jobs: pandas.DataFrame, rng: np.random.Generator) -> dict[str, Ints]:
        """Draw the attributes of workers, by name in the order of `SCHEMA`; each row of `jobs` is one worker."""
        work, home = jobs["destination_index"].to_numpy(), self.tract[jobs["origin_index"].to_numpy()]
        age, earnings, industry = (jobs[name].to_numpy() - 1 for name in ("age", "earnings", "industry"))
        group, _, men, degree, size = np.array([row[2:] for row in _SECTORS]).T
        allowed = np.where(group - 1 == industry[:, None], 0.0, -np.inf)
        sector = _draw_values(self.sector[work] + allowed, rng)
        race = _draw_values(self.race[home] + np.outer(earnings - 1, [0.25, -0.15, -0.1, 0.2, 0.0, 0.0]), rng)
        hispanic = self.hispanic[home] + _HISPANIC_BY_RACE[race] - 0.3 * (earnings - 1)
        sex = _draw_either(-(men[sector] + _SEX_BY_EARNINGS[earnings]), rng)
        schooling = degree[sector] + _DEGREE_BY_EARNINGS[earnings] + 0.3 * self.wealth[home]
        education = _draw_level(schooling, (-2.0, -0.2, 0.7), rng)
        firm = _draw_level(size[sector] + self.size[work] + 0.3 * (earnings - 1), (-1.2, -0.4, 0.9, 1.5), rng)
        drawn = {
            "sex": sex,
            "race": race,
            "ethnicity": _draw_either(hispanic, rng),
            "education": np.where(age == 0, len(_EDUCATION) - 1, education),
            "naics_sector": sector,
            "firm_size": firm,
        }
        return {name: codes.astype(np.int16) for name, codes in drawn.items()}


def _draw_values(weight: Floats, rng: np.random.Generator) -> Ints:
    """Draw a value for every row of log weights."""
    running = np.cumsum(np.exp(weight), axis=1)
    wanted = rng.random(len(weight)) * running[:, -1]
    below = (running <= wanted[:, None]).sum(axis=1, dtype=np.int64)
    return np.asarray(np.minimum(below, weight.shape[1] - 1), dtype=np.int64)


def _draw_either(log_odds: Floats, rng: np.random.Generator) -> Ints:
    """Draw 1 with some odds, else 0."""
    return (rng.random(log_odds.size) < 1.0 / (1.0 + np.exp(-log_odds))).astype(np.int64)


def _draw_level(level: Floats, limits: tuple[float, ...], rng: np.random.Generator) -> Ints:
    """Draw an ordered value: how many limits a level with noise exceeds."""
    return np.searchsorted(np.array(limits), level + rng.logistic(0.0, 0.7, level.size)).astype(np.int64)
