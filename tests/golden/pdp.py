"""Compute every figure of pdp.json again: `python -m tests.golden.pdp` prints the whole file.

The parameters of each case come from the file itself; every result is computed anew, by enumeration, by the plain
twins in tests/oracles, or by a closed form.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from engine.accountant.enumerator import compositions, exact_failure_probability, largest_log_ratio
from engine.accountant.theorems import theorem_4_4_weight
from tests.golden import golden
from tests.oracles import sound
from tests.oracles.two_categories import (
    binomial,
    dirichlet_multinomial,
    failing_as_printed,
    plug_in,
)

N, ALPHA, EPSILON = 5, 0.5, 2.0  # P10's example: five workers, two categories


def regenerated() -> dict[str, Any]:
    """Every figure anew, in the order of the file."""
    given = golden("pdp")
    return {
        "_about": given["_about"],
        **example_of_p10(),
        "p10_v3": v3(given["p10_v3"]),
        "least_alpha": [least_alpha(case) for case in given["least_alpha"]],
        "exact_failure_probability": [exact_failure(case) for case in given["exact_failure_probability"]],
        "sound_delta_uniform": [sound_uniform(case) for case in given["sound_delta_uniform"]],
    }


def example_of_p10() -> dict[str, Any]:
    """Three mechanisms for two categories, and what the slides say of them."""
    plugin = _transition(lambda i, j: plug_in(i, N, j, N, ALPHA))
    drawn = _transition(lambda i, j: dirichlet_multinomial(i, N, j, N, ALPHA))
    chance = {(i, j): plugin[i][j] for i in range(N + 1) for j in range(N + 1)}
    failing = failing_as_printed(chance, N, N, EPSILON)
    tables = compositions(N, 2)
    return {
        "p10_plugin_transition": plugin,
        "p10_plugin_epsilon": largest_log_ratio(tables, np.array(plugin)),
        "p10_plugin_delta_slide_eps2": math.fsum(binomial(N, i) * chance[i, j] for i, j in failing),
        "p10_dirichlet_multinomial_transition": drawn,
        "p10_dirichlet_multinomial_epsilon": largest_log_ratio(tables, np.array(drawn)),
        "p10_laplace_transition_eps2": _transition(_rounded_laplace),
    }


def v3(case: dict[str, Any]) -> dict[str, Any]:
    """OnTheMap's version 3: epsilon after pruning."""
    growth = math.log(1 + case["ceil_alpha"])
    return case | {"epsilon_final": case["epsilon"] + math.log(1 / case["min_retention"]) + growth}


def least_alpha(case: dict[str, Any]) -> dict[str, Any]:
    """Least weights by P08's two theorems."""
    n, epsilon = case["n"], case["epsilon"]
    return case | {
        "theorem_4_4": theorem_4_4_weight(n, case["n_support"], epsilon, case["delta"]),
        "theorem_4_1": n / math.expm1(epsilon),
    }


def exact_failure(case: dict[str, Any]) -> dict[str, Any]:
    """The exact failure probability of a small case, and the sound bound with every kept set listed."""
    n, m, alpha, kept, epsilon = (case[x] for x in ("n", "m", "prior_weight", "retention", "epsilon"))
    found = exact_failure_probability(n, m, alpha, kept, epsilon)
    groups = [(a, f, 1) for a, f in zip(alpha, kept, strict=True)]
    return case | {
        "exact_delta": found.probability,
        "worst_table": found.worst_table and list(found.worst_table),
        "sound_delta_with_exact_kept_mass": sound.sound_delta(
            n, m, groups, sound.kept_masses(alpha, kept), epsilon
        ),
    }


def sound_uniform(case: dict[str, Any]) -> dict[str, Any]:
    """The sound bound of many equal points, a binomial number of which is kept."""
    alpha, kept, k = case["prior_weight"], case["retention"], case["n_support"]
    masses = sound.kept_masses_uniform(k, alpha, kept)
    return case | {
        "sound_delta": sound.sound_delta(
            case["n"], case["m"], [(alpha, kept, k)], masses, case["epsilon_final"]
        )
    }


def _transition(chance: Callable[[int, int], float]) -> list[list[float]]:
    return [[chance(i, j) for j in range(N + 1)] for i in range(N + 1)]


def _rounded_laplace(i: int, j: int) -> float:
    """Noise of scale 1/epsilon on one count, rounded; what falls outside goes to the nearer end."""
    upper = 1.0 if j == N else _laplace_below(j + 0.5 - i)
    return upper - (0.0 if j == 0 else _laplace_below(j - 0.5 - i))


def _laplace_below(x: float) -> float:
    tail = math.exp(-EPSILON * abs(x)) / 2
    return tail if x < 0 else 1 - tail


if __name__ == "__main__":
    print(json.dumps(regenerated(), indent=1))
