"""What several releases of the same place promise to a person who is in all of them, from their certificates alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.publication import is_published
from mapapp.answers.release import Release, names_of

__all__ = ["JointPromise", "joint_promise", "joint_sentences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPromise:
    """Promises of releases of the same place, added up by basic composition.

    Attributes
    ----------
    names : tuple of str
        The releases whose promises are added.
    epsilon, delta : float
        The sums; the delta at most 1.
    unpromised : tuple of str
        Releases of the place that are not for release: they promise nothing, and no sum can include them.
    """

    names: tuple[str, ...]
    epsilon: float
    delta: float
    unpromised: tuple[str, ...]

    @property
    def label(self) -> str:
        """Whom the sums are about."""
        n = len(self.names)
        return f"For a person in {'both' if n == 2 else f'all {n}'} releases of this place"

    @property
    def text(self) -> str:
        """Both sums in one line."""
        return f"ε = {words.plain(self.epsilon)} · δ = {words.plain(self.delta)}"


def joint_promise(release: Release, served: Iterable[Release]) -> JointPromise | None:
    """Add up the promises of a release and of those served beside it that cover any of its states.

    Parameters
    ----------
    release : Release
        The one that is shown.
    served : iterable of Release
        All releases of the server. A release that is served under two names counts once.

    Returns
    -------
    JointPromise or None
        None if fewer than two releases promise something about the place.
    """
    every = list(served)
    names = names_of(every)
    distinct = {
        publication.version: publication
        for publication in every
        if _share_a_state(release, publication) and not is_published(publication.certificate)
    }
    promised: list[tuple[str, float, float]] = []
    unpromised: list[str] = []
    for publication in distinct.values():
        epsilon, delta = (words.number(publication.certificate, name) for name in ("epsilon_final", "delta"))
        if words.may_be_released(publication.certificate) and epsilon is not None and delta is not None:
            promised.append((names[publication.slug], epsilon, delta))
        else:
            unpromised.append(names[publication.slug])
    if len(promised) < 2:
        return None
    return JointPromise(
        names=tuple(name for name, _, _ in promised),
        epsilon=math.fsum(epsilon for _, epsilon, _ in promised),
        delta=min(math.fsum(delta for _, _, delta in promised), 1.0),
        unpromised=tuple(unpromised),
    )


def joint_sentences(joint: JointPromise) -> tuple[str, ...]:
    """Return the sum in plain sentences."""
    names = list_names(list(joint.names))
    epsilon, delta = words.plain(joint.epsilon), words.plain(joint.delta)
    sentences = (
        f"{len(joint.names)} releases of this place are shown here: {names}. The same person can be in several of "
        "them, for example in every year of a job.",
        f"For a person who is in all of them, their promises add up to ε = {epsilon} and δ = {delta}. That is a weaker "
        "promise than any one of the releases makes. For a person who is in only one of them, the promise of that "
        "release applies.",
    )
    if not joint.unpromised:
        return sentences
    verb = "is" if len(joint.unpromised) == 1 else "are"
    return (
        *sentences,
        f"{list_names(list(joint.unpromised))} {verb} not for release and cannot be added, because nothing is "
        "promised there.",
    )


def _share_a_state(first: Release, second: Release) -> bool:
    """Whether both may hold workplaces of the same state; True if either does not say which states it covers."""
    states, others = first.covered_states, second.covered_states
    return not states or not others or bool(set(states) & set(others))
