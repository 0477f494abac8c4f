"""The analyses, as methods of a release. They return the types of `mapapp.answers.results`."""

from __future__ import annotations

from mapapp.answers.commute_analyses import CommuteAnalyses
from mapapp.answers.opened_release import ALL_WORKERS, COVERAGE, Answer
from mapapp.answers.worker_analyses import WorkerAnalyses

__all__ = ["ALL_WORKERS", "COVERAGE", "Answer", "Release"]


class Release(WorkerAnalyses, CommuteAnalyses):
    """A verified release and its analyses; safe to use from several threads at once.

    Parameters
    ----------
    store : Store
        The release's store; :meth:`open` opens it.
    report : callable
        Called with (stage, done, total) while the release is prepared, once per machine.
    """
