"""Plausible seeds by a look-up, against a scan of all seeds with fractions."""

import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.records import groups as module
from engine.records.groups import GroupTable, prefix_codes
from engine.records.kernels.candidates import group_size
from tests.oracles import plausible as twin

DOMAIN = [3, 4, 2, 5]


def some_codes(n: int, domain: list[int], seed: int = 3) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    random_codes = np.random.default_rng(seed)
    columns = [random_codes.binomial(size - 1, 0.4, n) for size in domain]
    return np.stack(columns, axis=1).astype(np.int32)


def scan(codes: np.ndarray[tuple[int, int], np.dtype[np.int32]], prefix: list[int]) -> int:
    return sum(row[: len(prefix)].tolist() == prefix for row in codes)


@pytest.mark.jit_off
@pytest.mark.parametrize("most_dense", [module.MOST_DENSE, 10])
@pytest.mark.parametrize("kept", [0, 1, 2, 4])
def test_a_table_counts_what_a_scan_counts(
    kept: int, most_dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_DENSE", most_dense)
    codes, wanted = some_codes(150, DOMAIN), some_codes(40, DOMAIN, 4)
    wanted[0] = [2, 3, 1, 4]
    table = GroupTable.of(codes[:, :kept], DOMAIN[:kept])
    assert (table.code.size > 0) == (math.prod(DOMAIN[:kept]) > most_dense)
    assert table.n_seeds == 150
    counted = table.sizes(wanted[:, :kept]).tolist()
    assert counted == [scan(codes, row[:kept].tolist()) for row in wanted]
    assert counted == [group_size(table.arrays, row) for row in wanted]


def test_the_chance_of_a_candidate_does_not_contain_the_seed() -> None:
    """The plausible seeds are those that agree on the kept attributes, whatever the similarity."""
    choose, kept = random.Random(8), 2
    codes = some_codes(60, DOMAIN)
    table = GroupTable.of(codes[:, :kept], DOMAIN[:kept])
    for seed in range(0, 60, 7):
        # The drawn attributes have any chances; their product is the same for every seed that agrees.
        drawn = Fraction(choose.randint(1, 99), 100) * Fraction(choose.randint(1, 9), 10)
        chances = [drawn * (row[:kept].tolist() == codes[seed, :kept].tolist()) for row in codes]
        group = int(table.sizes(codes[seed : seed + 1, :kept])[0])
        for gamma in (Fraction(3, 2), Fraction(2), Fraction(16)):
            assert sum(twin.index_of(p, gamma) == twin.index_of(drawn, gamma) for p in chances) == group


def test_codes_of_many_attributes_are_distinct() -> None:
    codes = some_codes(200, [1000, 1000, 1000, 1000, 1000, 1000])
    assert np.unique(prefix_codes(codes, [1000] * 6)).size == np.unique(codes, axis=0).shape[0]


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ([3, 4], "codes are (5, 4) for 2 domains"),
        ([2**16] * 4, "more than 2^62 combinations: keep fewer"),
        ([1, 1, 1, 1], "a code is outside its attribute's domain"),
    ],
)
def test_impossible_codes_are_refused(domain: list[int], message: str) -> None:
    codes = np.ones((5, 4), dtype=np.int32)
    with pytest.raises(ParameterError, match=re.escape(message)):
        prefix_codes(codes, domain)
