"""A structure learned from confidential records: greedy selection of parents by noisy correlations.

Attributes with high symmetric uncertainty with the child, and low with the parents it already has, become its parents.
Every entropy is computed once and gets fresh noise. The scale of the noise depends on the number of records, so that
number is drawn with noise first, and a lower bound of it is used that fails with part of delta; the paper uses the
noisy number itself. The paper leaves open in which order children are served: here the pair with the largest gain
over all children comes next.

Source: P17 section 3.3, equations 4 to 9.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.records.composition import most_epsilon_each
from engine.records.entropy import (
    entropy,
    entropy_noise,
    entropy_sensitivity,
    noisy_entropies,
    symmetric_uncertainty,
)
from engine.records.structure import (
    RECORDS_PER_CELL,
    Possible,
    Structure,
    WishedParent,
    count_cells,
    fit_parents,
)
from engine.records.tables import Codes, check_codes
from engine.streams import SecretKey

__all__ = [
    "LearnedStructure",
    "StructureRules",
    "epsilon_of_entropies",
    "epsilon_of_one_entropy",
    "learn_structure",
    "needed_entropies",
    "surely_enough_records",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_Part = tuple[int, bool]
"""An attribute, and whether it is taken by its buckets."""
_Subset = tuple[_Part, ...]

_SHARE_OF_COUNT = Fraction(1, 20)
_NEVER = 40
"""Noise this many times its scale comes with a chance of e^-40."""
_NOISY_COUNT = 1 << 31
"""Position of the number of records among the streams of entropies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureRules:
    """Public choices for learning a structure.

    Attributes
    ----------
    n_parameters : int
        Public lower bound of the records that will fill the tables: no table has more cells than a thirtieth of them.
    buckets : mapping of int to int64[size]
        Attributes that enter as parents by these buckets.
    keeps_order : bool
        Whether parents must come before their children in the given order. If not, any structure without a circle is
        allowed, and the attributes are reordered.
    required : tuple of (int, int)
        Children and parents that are in the structure from the start.
    possible : tuple of Possible
        Structural zeros.
    groups : mapping of (int, int) to int64[size of the parent]
        Further required parents, and groups of their values that the child tells apart: those of
        :class:`engine.records.zeros.StructuralZeros`.
    """

    n_parameters: int
    buckets: Mapping[int, Ints]
    keeps_order: bool = True
    required: tuple[tuple[int, int], ...] = ()
    possible: tuple[Possible, ...] = ()
    groups: Mapping[tuple[int, int], Ints] = field(default_factory=dict)

    def first_parents(self, domain: Sequence[int], child: int) -> list[tuple[int, Ints | None]]:
        """The parents that a child has from the start, and the buckets by which they enter."""
        required = [parent for place, parent in self.required if place == child]
        further = [parent for place, parent in self.groups if place == child]
        if not further:
            return [(parent, self.buckets.get(parent)) for parent in required]
        required = list(dict.fromkeys((*required, *further)))
        wished = [
            WishedParent.of(parent, self.buckets, {}, self.groups.get((child, parent)))._replace(
                is_required=True
            )
            for parent in required
        ]
        fitted = fit_parents(domain, child, wished, self.n_parameters, self.possible)
        return [(parent.attribute, parent.bucket) for parent in fitted]

    def with_buckets(
        self, domain: Sequence[int], child: int, parents: Sequence[int]
    ) -> list[tuple[int, Ints | None]]:
        """A child's parents, the first ones among them, and the buckets by which they enter."""
        first = dict(self.first_parents(domain, child))
        return [
            (parent, first[parent] if parent in first else self.buckets.get(parent)) for parent in parents
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedStructure:
    """A structure, and what it cost.

    Attributes
    ----------
    structure : Structure
        In the new order.
    order : tuple of int
        Attributes in the new order.
    n_entropies : int
        Number of entropies that were drawn with noise.
    entropy_epsilon : Fraction or None
        Epsilon of each; None without noise.
    fewest_records : int
        The noisy lower bound of the number of records on which the noise depends; all of them without noise.
    noise_bits : float
        Scale of the noise of each entropy, in bits.
    """

    structure: Structure
    order: tuple[int, ...]
    n_entropies: int
    entropy_epsilon: Fraction | None
    fewest_records: int
    noise_bits: float


def learn_structure(
    codes: Codes,
    domain: Sequence[int],
    rules: StructureRules,
    *,
    epsilon: Fraction | None,
    delta: Fraction,
    key: SecretKey,
) -> LearnedStructure:
    """Learn a structure with this epsilon and delta when a record is added or removed.

    When a record is replaced, the number of records stays the same, and only the entropies cost anything:
    :func:`epsilon_of_entropies` and the same delta (docs/theory/synthetic-records.md, "One record replaced").

    Parameters
    ----------
    codes : int32[n, m]
        Confidential records.
    domain : sequence of int
        Number of values of each attribute.
    rules : StructureRules
    epsilon : Fraction or None
        Epsilon of the whole structure; a twentieth of it is for the number of records. None: no noise, for
        comparisons only.
    delta : Fraction
        Half is for advanced composition, and half for the lower bound of the number of records.
    key : SecretKey
        Noise comes from stage RECORD_ENTROPY.

    Raises
    ------
    ParameterError
        Epsilon or delta is not above 0, or the noisy number of records is below 2.
    """
    checked = check_codes(codes, domain)
    subsets = needed_entropies(len(domain), rules)
    exact = [entropy(_counts(checked, subset, domain, rules.buckets)) for subset in subsets]
    if epsilon is None:
        noisy, least, entropy_epsilon, noise_bits = exact, codes.shape[0], None, 0.0
    else:
        if not (epsilon > 0 and 0 < delta < 1):
            raise ParameterError(
                f"a structure is learned with epsilon {epsilon} and delta {delta}: both must be above 0"
            )
        least = lower_bound_of_records(codes.shape[0], epsilon * _SHARE_OF_COUNT, delta / 2, key)
        entropy_epsilon = epsilon_of_one_entropy(epsilon, delta, len(subsets))
        noisy = noisy_entropies(exact, least, entropy_epsilon, key=key)
        noise_bits = entropy_sensitivity(least) / float(entropy_epsilon)
    known = dict(zip(subsets, noisy, strict=True))
    parents = select_parents(domain, rules, known)
    structure, order = _order_structure(domain, rules, parents)
    return LearnedStructure(
        structure=structure,
        order=order,
        n_entropies=len(subsets),
        entropy_epsilon=entropy_epsilon,
        fewest_records=least,
        noise_bits=noise_bits,
    )


def epsilon_of_entropies(epsilon: Fraction) -> Fraction:
    """Epsilon of all entropies together, of a structure's epsilon; the rest is for the number of records."""
    return epsilon * (1 - _SHARE_OF_COUNT)


def epsilon_of_one_entropy(epsilon: Fraction, delta: Fraction, n_entropies: int) -> Fraction:
    """Epsilon of each of the entropies from which a structure with this epsilon and delta is learned."""
    return most_epsilon_each(epsilon_of_entropies(epsilon), n_entropies, float(delta / 2))


def lower_bound_of_records(n: int, epsilon: Fraction, delta: Fraction, key: SecretKey) -> int:
    """A noisy number that exceeds n with a chance below delta.

    Raises
    ------
    ParameterError
        It is below 2, so that no entropy can be drawn.
    """
    noisy = n + int(entropy_noise(key, _NOISY_COUNT, epsilon, 1)[0])
    least = noisy - math.ceil(math.log(1 / float(delta)) / float(epsilon))
    if least < 2:
        raise ParameterError("too few records to learn a structure at this epsilon: use the public structure")
    return least


def surely_enough_records(epsilon: Fraction, delta: Fraction) -> int:
    """So many records that :func:`learn_structure` refuses their noisy number with a chance below 10^-17."""
    return 2 + math.ceil((math.log(2 / float(delta)) + _NEVER) / float(epsilon * _SHARE_OF_COUNT)) + 1


def needed_entropies(n_attributes: int, rules: StructureRules) -> list[_Subset]:
    """Attributes and pairs, each by values or by buckets, whose entropies the selection reads."""
    needed: dict[_Subset, None] = {}
    for child in range(n_attributes):
        needed[((child, False),)] = None
        needed[(_as_parent(child, rules),)] = None
    for first, second in combinations(range(n_attributes), 2):
        needed[_pair((second, False), _as_parent(first, rules))] = None
        if not rules.keeps_order:
            needed[_pair((first, False), _as_parent(second, rules))] = None
        if not rules.keeps_order or second < n_attributes - 1:
            needed[_pair(_as_parent(first, rules), _as_parent(second, rules))] = None
    return list(needed)


def _as_parent(attribute: int, rules: StructureRules) -> _Part:
    return attribute, attribute in rules.buckets


def _pair(first: _Part, second: _Part) -> _Subset:
    return (first, second) if first < second else (second, first)


def _counts(codes: Codes, subset: _Subset, domain: Sequence[int], buckets: Mapping[int, Ints]) -> Ints:
    cells, size = np.zeros(codes.shape[0], dtype=np.int64), 1
    for attribute, by_buckets in subset:
        values = codes[:, attribute].astype(np.int64)
        own = domain[attribute]
        if by_buckets:
            values, own = buckets[attribute][values], int(buckets[attribute].max()) + 1
        cells, size = cells * own + values, size * own
    return np.bincount(cells, minlength=size).astype(np.int64)


def merit(with_child: Sequence[float], among: Sequence[float]) -> float:
    """Merit of a set of parents: correlations with the child, and of every two parents once (P17 equation 4)."""
    if not with_child:
        return 0.0
    return sum(with_child) / math.sqrt(len(with_child) + 2 * sum(among))


def select_parents(
    domain: Sequence[int], rules: StructureRules, known: Mapping[_Subset, float]
) -> list[list[int]]:
    """Parents of each attribute: the (child, parent) with the largest gain next, until none gains."""
    n = len(domain)
    parents = [[parent for parent, _ in rules.first_parents(domain, child)] for child in range(n)]
    while True:
        best, choice = 0.0, None
        for child in range(n):
            before = _merit(child, parents[child], rules, known)
            for parent in range(n):
                if not _may_add(child, parent, parents, rules, domain):
                    continue
                gain = _merit(child, [*parents[child], parent], rules, known) - before
                if gain > best:
                    best, choice = gain, (child, parent)
        if choice is None:
            return parents
        parents[choice[0]].append(choice[1])


def _merit(
    child: int, parents: Sequence[int], rules: StructureRules, known: Mapping[_Subset, float]
) -> float:
    own: _Part = (child, False)
    by = [_as_parent(parent, rules) for parent in parents]
    return merit(
        [_correlation(own, parent, known) for parent in by],
        [_correlation(first, second, known) for first, second in combinations(by, 2)],
    )


def _correlation(first: _Part, second: _Part, known: Mapping[_Subset, float]) -> float:
    return symmetric_uncertainty(known[(first,)], known[(second,)], known[_pair(first, second)])


def _may_add(
    child: int, parent: int, parents: list[list[int]], rules: StructureRules, domain: Sequence[int]
) -> bool:
    if parent == child or parent in parents[child]:
        return False
    if parent > child if rules.keeps_order else _is_ancestor(child, parent, parents):
        return False
    kept = rules.with_buckets(domain, child, [*parents[child], parent])
    return count_cells(domain, child, kept, rules.possible) * RECORDS_PER_CELL <= rules.n_parameters


def _is_ancestor(ancestor: int, attribute: int, parents: list[list[int]]) -> bool:
    """Whether ``ancestor`` is ``attribute`` or comes before it."""
    return ancestor == attribute or any(
        _is_ancestor(ancestor, parent, parents) for parent in parents[attribute]
    )


def _order_structure(
    domain: Sequence[int], rules: StructureRules, parents: list[list[int]]
) -> tuple[Structure, tuple[int, ...]]:
    order: list[int] = []
    while len(order) < len(domain):
        order.append(next(c for c in range(len(domain)) if c not in order and set(parents[c]) <= set(order)))
    place = {attribute: at for at, attribute in enumerate(order)}
    structure = Structure(
        domain=tuple(domain[attribute] for attribute in order),
        parents=tuple(tuple(place[parent] for parent in parents[attribute]) for attribute in order),
        buckets=tuple(
            tuple(bucket for _, bucket in rules.with_buckets(domain, attribute, parents[attribute]))
            for attribute in order
        ),
        possible=tuple(
            Possible(
                attribute=place[rule.attribute],
                given=tuple(place[attribute] for attribute in rule.given),
                table=rule.table,
            )
            for rule in rules.possible
        ),
    )
    return structure, tuple(order)
