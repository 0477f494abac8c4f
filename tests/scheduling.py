"""Which worker of a test run gets which tests."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

from tests.sharing import group_of


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Keeps the tests that share fixtures on one worker.

    The option `--dist loadgroup` and its marks would do the same, but have no effect with pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
