"""Opening a view that was kept as a file; what such a file is, `mapapp.question.setup_file` knows."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from mapapp.errors import UsageError
from mapapp.explore.callbacks.views import Views
from mapapp.question import setup_file
from mapapp.question.address import MAX_QUERY_LENGTH, Address, to_query
from mapapp.question.cost import check_cost
from mapapp.question.view import Bounds


def bounds_for(query: Any, view: Any) -> Bounds | None:
    """Where the map must look at an address: where the file of that view says; None for any other address."""
    if not isinstance(view, dict) or view.get("search") != query:
        return None
    try:
        return setup_file.bounds_of(view.get("bounds"))
    except UsageError:  # a forged request holds anything
        return None


def opened(views: Views, file: Any) -> tuple[Address, tuple[str, ...], Bounds | None]:
    """The view that a chosen file holds, notes on it, and where its map looked.

    `file` is a dict of `name`, `size` and, in base64, `content`.

    Raises
    ------
    UsageError
        When it is none of ours, too large, or too long for an address.
    """
    content = file.get("content") if isinstance(file, dict) else None
    if not isinstance(content, str) or len(content) > 2 * setup_file.MAX_BYTES:
        raise UsageError(f"this file is no setup: such a file has at most {setup_file.MAX_BYTES:,} bytes")
    try:
        setup = setup_file.read(base64.b64decode(content, validate=True))
    except ValueError:
        raise UsageError("this file is no setup: it did not arrive whole") from None
    return *_among(views, setup), setup.bounds_deg


def _among(views: Views, setup: setup_file.Setup) -> tuple[Address, tuple[str, ...]]:
    """The address for the release of its file where that is served, else for the first one."""
    check_cost((*setup.address.question.areas, *setup.address.question.others))
    slug = _slug(views, setup.release)
    against = _slug(views, setup.against) if setup.against else None
    release = views.releases[slug] if slug else views.release(Address())
    address, notes = setup_file.fitted(
        replace(setup, against=None) if against else setup, release, leave_out=True
    )
    if setup.release.name and not slug and not setup.release.digest:
        notes = (*notes, f"There is no release {setup.release} here; the first one is shown.")
    first = next(iter(views.releases))
    address = replace(address, release=slug if slug and slug != first else "", against=against or "")
    if len(to_query(address)) > MAX_QUERY_LENGTH:
        raise UsageError("this setup is too long for an address; run it with commutemap analyze --setup")
    return address, notes


def _slug(views: Views, source: setup_file.SetupSource) -> str | None:
    """Name of the served release that a source is, by its digest, or else by its name."""
    for slug, release in views.releases.items():
        if source.digest and release.version[:12] == source.digest[:12]:
            return slug
    return source.name if source.name in views.releases else None
