"""Means over draws against sums over workers."""

from __future__ import annotations

import numpy as np
import pytest

from engine.validity import N_CELLS
from mapapp.analyst.validity.compared_workers import RealWorkers, mean_of_draws


def test_means_over_draws_are_sums_over_workers() -> None:
    rng = np.random.default_rng(1)
    n_workers, n_points, n_draws = np.array([1, 4, 7]), 9, 5
    shares = rng.dirichlet(np.full(N_CELLS, 0.1), n_points)
    values = rng.random((n_points, 3))
    ptr = np.append(0, np.cumsum(n_workers))
    real = RealWorkers(
        destination_ptr=ptr,
        cell=np.zeros(ptr[-1], dtype=np.int8),
        distance_mi=np.zeros(ptr[-1]),
        is_edited_out=np.zeros(ptr[-1], dtype=np.bool_),
    )
    draws = [rng.integers(n_points, size=ptr[-1]) for _ in range(n_draws)]
    found = mean_of_draws(real, iter(draws), n_draws, shares, values)
    for place, n in enumerate(n_workers):
        of_draw = [shares[draw[ptr[place] : ptr[place + 1]]] for draw in draws]
        mean = np.mean([one.mean(axis=0) for one in of_draw], axis=0)
        between = np.var([one.mean(axis=0) for one in of_draw], axis=0, ddof=1)
        within = np.mean([(one * (1 - one)).sum(axis=0) / n**2 for one in of_draw], axis=0)
        posterior = (mean * n_draws * n + 1 / N_CELLS) / (n_draws * n + 1)
        assert found.posterior[place] == pytest.approx(posterior, abs=1e-14)
        assert found.variance[place] == pytest.approx(between + within, abs=1e-14)
        of_values = [values[draw[ptr[place] : ptr[place + 1]]].mean(axis=0) for draw in draws]
        assert found.means[place] == pytest.approx(np.mean(of_values, axis=0), abs=1e-14)
