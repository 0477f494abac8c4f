"""Everything about records that is fixed before anything is drawn: from the choice and public inputs alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeVar

from engine.errors import ParameterError
from engine.parameters import LARGEST_EPSILON
from engine.records.acceptance import Acceptance
from engine.records.choosing import TriesPlan, best_threshold_epsilon, find_min_seeds
from engine.records.entropy import entropy_sensitivity
from engine.records.learned import (
    StructureRules,
    epsilon_of_entropies,
    epsilon_of_one_entropy,
    needed_entropies,
    surely_enough_records,
)
from engine.records.structure import PublicStructure, public_structure
from mapapp.base.errors import UsageError
from mapapp.kinds.records.make.attributes import BAND, HOME_PUMA, WORK_PUMA, WORK_TRACT, RecordAttributes
from mapapp.kinds.records.make.choice import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    DEFAULT_JOBS_PER_PERSON,
    DEFAULT_MIN_SEEDS,
    Choice,
)
from mapapp.kinds.records.make.paper import paper_seeds
from mapapp.kinds.records.make.privacy_costs import Amounts, Part, SeedPlan

__all__ = ["SEEDED_SPLIT", "Plan", "learning_rules", "plan_records", "usual_tries"]

_Result = TypeVar("_Result")

MOST_TOPPED_UP: Final = 1 << 24
MOST_GROUPS: Final = 1 << 62
PARTS: Final = ("seeds", "parameters", "structure")
SEEDED_SPLIT: Final = (Fraction(3, 5), Fraction(2, 5), Fraction(0))
_LEARNED_SPLIT: Final = (Fraction(0), Fraction(17, 20), Fraction(3, 20))
_SEEDED_LEARNED_SPLIT: Final = (Fraction(3, 5), Fraction(1, 4), Fraction(3, 20))
_ALL_PARAMETERS: Final = (Fraction(0), Fraction(1), Fraction(0))
_DEVIATIONS: Final = 6  # of the size of a subset: it is smaller than its bound once in 10^9 times
_FEWEST_LEARNED: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is promised, and how records are made.

    Attributes
    ----------
    choice : Choice
    attributes : RecordAttributes
    n_total : int
        Records in all; public.
    split : tuple of three Fraction
        Shares of seeds, parameters, and structure.
    structure : PublicStructure
        The public one; a learned one takes its place in the run.
    n_parameters, n_structure : int
        Public lower bounds of the two subsets.
    model_epsilon : Fraction
        Of all tables of the model together, in the add/remove reading.
    seeds : SeedPlan or None
    parts : tuple of Part
    jobs_per_person : int or None
        Records are made from at most so many jobs of a person; None where the dataset does not know persons.
    """

    choice: Choice
    attributes: RecordAttributes
    n_total: int
    split: tuple[Fraction, Fraction, Fraction]
    structure: PublicStructure
    n_parameters: int
    n_structure: int
    model_epsilon: Fraction
    seeds: SeedPlan | None
    parts: tuple[Part, ...]
    jobs_per_person: int | None = None

    @property
    def add_remove(self) -> Amounts:
        """The promise where one worker's record is added or taken away."""
        return _worst([part.add_remove for part in self.parts])

    @property
    def replace_one(self) -> Amounts:
        """The promise where one worker's record is replaced by another; the ledger charges this one."""
        return _worst([part.replace_one for part in self.parts])

    @property
    def kept(self) -> int:
        """Number of attributes kept from seeds."""
        return 0 if self.seeds is None else self.seeds.kept


def plan_records(attributes: RecordAttributes, n_workers: int, choice: Choice) -> Plan:
    """Fix everything that can be fixed from public inputs.

    Parameters
    ----------
    attributes : RecordAttributes
    n_workers : int
        Workers of the dataset; their number is taken to be public.
    choice : Choice

    Raises
    ------
    UsageError
        An option does not fit the dataset or another option. So are more records than workers: the certificate takes
        the number of records for a lower bound of the workers, who are the seeds that the promise needs and fill the
        tables.
    """
    if choice.n_records is not None and choice.n_records > n_workers:
        raise UsageError(
            f"--records {choice.n_records:,} is more than the dataset has workers; give fewer, or leave it out"
        )
    jobs_per_person = _jobs_per_person(attributes, choice)
    kept = _kept_attributes(attributes.names, choice.kept)
    _refuse_large_groups(attributes, kept, choice)
    n_total = choice.n_records or n_workers
    split = choice.split or _usual_split(choice)
    _check_split(split, choice)
    sizes = [_least_size(n_total, share) for share in split]
    learned = choice.structure == "learned"
    if learned:
        _refuse_few_learned(attributes, sizes[2], choice)
    seeds, seed_part = (None, None) if not kept else _seeds(kept, n_total, sizes[0], split[0], choice)
    delta = choice.delta or DEFAULT_DELTA
    if not kept and not learned and choice.delta is not None:
        raise UsageError(
            f"--delta {float(choice.delta):g} with --kept none: without seeds, nothing needs a delta; leave it out"
        )
    epsilon = choice.model_epsilon or choice.epsilon or _free_epsilon(seed_part, choice)
    _check_model_epsilon(epsilon, len(attributes.names))
    model = Part(
        name=PARTS[1],
        share=split[1],
        add_remove=Amounts(epsilon, Fraction(0)),
        replace_one=Amounts(2 * epsilon, Fraction(0)),
    )
    parts = [part for part in (seed_part, model) if part is not None]
    if learned:
        _refuse_unlearnable(sizes[2], epsilon, delta)
        parts.append(_structure_part(split[2], epsilon, delta))
    return Plan(
        choice=choice,
        attributes=attributes,
        n_total=n_total,
        split=split,
        structure=_call_engine(
            lambda: public_structure(
                attributes.domain,
                attributes.wished,
                sizes[1],
                buckets=attributes.buckets,
                coarser=attributes.coarser,
                possible=attributes.possible,
                groups=attributes.zeros.groups,
            )
        ),
        n_parameters=sizes[1],
        n_structure=sizes[2],
        model_epsilon=epsilon,
        seeds=seeds,
        parts=tuple(parts),
        jobs_per_person=jobs_per_person,
    )


def _jobs_per_person(attributes: RecordAttributes, choice: Choice) -> int | None:
    if not attributes.has_persons:
        if choice.jobs_per_person is not None:
            raise UsageError(
                f"--jobs-per-person {choice.jobs_per_person}: the dataset does not know persons; name their column in "
                "the schema ([person]), or leave it out"
            )
        return None
    if choice.kept and choice.n_records is None:
        raise UsageError(
            f"--kept {','.join(choice.kept)} in a dataset that knows persons: how many jobs are left out is "
            "confidential, so the number of seeds does not follow from that of the workers; give --records, a public "
            "number that is surely smaller than the jobs that are left"
        )
    return choice.jobs_per_person or DEFAULT_JOBS_PER_PERSON


def learning_rules(plan: Plan) -> StructureRules:
    """What is public about a structure that is learned: order, buckets, and parents that zeros depend on."""
    attributes = plan.attributes
    work, home = attributes.place(WORK_PUMA), attributes.place(HOME_PUMA)
    band = attributes.place(BAND)
    return StructureRules(
        n_parameters=plan.n_parameters,
        buckets=attributes.buckets,
        required=((attributes.place(WORK_TRACT), work), (band, work), (band, home)),
        possible=tuple(attributes.possible),
        groups=attributes.zeros.groups,
    )


def usual_tries(n_total: int) -> int:
    """Candidates that are tried by default, for so many workers: as many as are sure to be seeds."""
    return _least_size(n_total, SEEDED_SPLIT[0])


def _worst(amounts: Sequence[Amounts]) -> Amounts:
    """A worker is in one of the disjoint subsets: the largest epsilon and the largest delta hold for all."""
    return Amounts(max(amount.epsilon for amount in amounts), max(amount.delta for amount in amounts))


def _free_epsilon(seeds: Part | None, choice: Choice) -> Fraction:
    """Epsilon of the model: as much as the seeds cost, since their subsets are disjoint."""
    if seeds is None or choice.accountant == "paper":
        return DEFAULT_EPSILON
    return min(seeds.add_remove.epsilon, Fraction(LARGEST_EPSILON))


def _kept_attributes(names: tuple[str, ...], kept: tuple[str, ...]) -> int:
    unknown = next((name for name in kept if name not in names), None)
    if unknown is not None:
        raise UsageError(
            f"--kept names {unknown!r}, but the attributes are {', '.join(names)}, in this order"
        )
    if kept != names[: len(kept)]:
        raise UsageError(
            f"--kept {','.join(kept)}: kept attributes are the first ones in the order {', '.join(names)}; give "
            f"{','.join(names[: len(kept)])}, or none"
        )
    return len(kept)


def _refuse_large_groups(attributes: RecordAttributes, kept: int, choice: Choice) -> None:
    """Refuse a table of group sizes that cannot be held, before anything is spent."""
    groups, most = math.prod(attributes.domain[:kept]), MOST_TOPPED_UP if choice.top_up else MOST_GROUPS
    if groups > most:
        remedy = "keep fewer attributes" + (", or add --no-top-up" if groups <= MOST_GROUPS else "")
        raise UsageError(
            f"--kept {','.join(choice.kept)}: the table of group sizes would have {groups:,} cells, and at most "
            f"{most:,} are possible; {remedy}"
        )


def _check_model_epsilon(epsilon: Fraction, n_attributes: int) -> None:
    """Refuse what the model cannot be learned with, before anything is spent."""
    least = Fraction(n_attributes, 1 << 16)
    if not least <= epsilon <= LARGEST_EPSILON:
        raise UsageError(
            f"--epsilon {float(epsilon):g}: the {n_attributes} tables of the model need {float(least):.2g} to "
            f"{LARGEST_EPSILON} together; give an epsilon in this range"
        )


def _usual_split(choice: Choice) -> tuple[Fraction, Fraction, Fraction]:
    if choice.structure == "learned":
        return _SEEDED_LEARNED_SPLIT if choice.kept else _LEARNED_SPLIT
    return SEEDED_SPLIT if choice.kept else _ALL_PARAMETERS


def _check_split(split: tuple[Fraction, Fraction, Fraction], choice: Choice) -> None:
    needed = (bool(choice.kept), True, choice.structure == "learned")
    for name, share, is_needed in zip(PARTS, split, needed, strict=True):
        if is_needed and not share:
            raise UsageError(
                f"--split gives no workers to the {name}, which need some; give them a share above 0"
            )
        if share and not is_needed:
            why = "--kept none" if name == PARTS[0] else "--structure public"
            raise UsageError(
                f"--split gives {float(share):g} to the {name}, but {why} uses none; give them 0"
            )


def _least_size(n: int, share: Fraction) -> int:
    """Public lower bound of a subset into which each of n workers falls with a chance."""
    spread = math.isqrt(math.ceil(n * share * (1 - share)))
    return max(math.floor(n * share) - _DEVIATIONS * (spread + 1 if share < 1 else 0), 0)


def _seeds(kept: int, n_total: int, n_seeds: int, share: Fraction, choice: Choice) -> tuple[SeedPlan, Part]:
    n_min = choice.n_min or n_seeds
    n_tries = choice.n_tries or min(n_min, n_total)
    if n_min > n_seeds:
        raise UsageError(
            f"--n-min {n_min:,}: of {n_total:,} workers, only {n_seeds:,} are sure to be seeds; give at most that, or "
            "a larger share of --split"
        )
    if n_tries > n_total:
        raise UsageError(
            f"--tries {n_tries:,} with {n_total:,} records in all: more might pass than there is room for; give fewer "
            "tries, or more --records"
        )
    if choice.accountant == "paper":
        return paper_seeds(kept, n_min, n_tries, share, choice)
    delta = choice.delta or DEFAULT_DELTA
    tries = TriesPlan(
        n_min=n_min,
        n_tries=n_tries,
        delta=delta,
        forced_fail=choice.forced_fail,
        similarity=choice.similarity,
    )
    acceptance = _call_engine(lambda: _acceptance(tries, choice))
    promise = _call_engine(lambda: tries.promise(acceptance))
    if choice.epsilon is not None and promise.epsilon > choice.epsilon:
        raise UsageError(
            f"--epsilon {float(choice.epsilon):g}: with --min-seeds {acceptance.min_plausible_seeds:,} and "
            f"--threshold-epsilon {float(acceptance.threshold_epsilon or 0):g}, {n_tries:,} tries need "
            f"{float(promise.epsilon):g}; leave out one of the two, and it is chosen, or allow fewer tries"
        )
    plan = SeedPlan(
        kept=kept,
        acceptance=acceptance,
        similarity=choice.similarity,
        n_min=n_min,
        n_tries=n_tries,
        rdp_order=promise.rdp_order,
    )
    part = Part(
        name=PARTS[0],
        share=share,
        add_remove=Amounts(promise.epsilon, delta),
        replace_one=Amounts(promise.epsilon_replace_one, delta),
    )
    return plan, part


def _acceptance(tries: TriesPlan, choice: Choice) -> Acceptance:
    """The test: as given, or chosen to keep epsilon."""
    k, rate = choice.min_seeds, choice.threshold_epsilon
    if choice.epsilon is not None and k is None:
        acceptance, _ = find_min_seeds(choice.epsilon, tries, rate)
        if choice.seed_floor is None:
            return acceptance
        k = acceptance.min_plausible_seeds
    k = k or DEFAULT_MIN_SEEDS
    if rate is None:
        rate = best_threshold_epsilon(k, tries, choice.seed_floor)
    return Acceptance(
        min_plausible_seeds=k,
        threshold_epsilon=rate,
        forced_fail=choice.forced_fail,
        seed_floor=choice.seed_floor,
    )


def _structure_part(share: Fraction, epsilon: Fraction, delta: Fraction) -> Part:
    """A structure learned with this epsilon and delta; of a replaced record, the number of records says nothing."""
    return Part(
        name=PARTS[2],
        share=share,
        add_remove=Amounts(epsilon, delta),
        replace_one=Amounts(epsilon_of_entropies(epsilon), delta),
    )


def _refuse_few_learned(attributes: RecordAttributes, n: int, choice: Choice) -> None:
    if n >= _FEWEST_LEARNED or choice.anyway:
        return
    epsilon = choice.epsilon or DEFAULT_EPSILON
    rules = StructureRules(n_parameters=1, buckets=attributes.buckets)
    n_entropies = len(needed_entropies(len(attributes.domain), rules))
    entropy_epsilon = epsilon_of_one_entropy(epsilon, choice.delta or DEFAULT_DELTA, n_entropies)
    bits = entropy_sensitivity(max(n, 2)) / float(entropy_epsilon)
    raise UsageError(
        f"--structure learned from {n:,} workers: each of {n_entropies} entropies would get noise of {bits:.3g} bits; "
        f"below {_FEWEST_LEARNED:,} workers the noise decides; use --structure public, or add --anyway"
    )


def _refuse_unlearnable(n: int, epsilon: Fraction, delta: Fraction) -> None:
    """Refuse a structure whose noisy number of records might leave none, before anything is spent."""
    needed = surely_enough_records(epsilon, delta)
    if n < needed:
        raise UsageError(
            f"--structure learned from {n:,} workers: at epsilon {float(epsilon):g}, at least {needed:,} are needed; "
            "use --structure public, a larger epsilon, or a larger share of --split"
        )


def _call_engine(call: Callable[[], _Result]) -> _Result:
    """What a call of the engine returns; what it refuses is the analyst's choice."""
    try:
        return call()
    except ParameterError as error:
        raise UsageError(str(error)) from None
