"""Opens a view that was saved as a file; `mapapp.question.setup_file` defines the format."""

from __future__ import annotations

import base64
from dataclasses import replace

from mapapp.base.errors import UsageError
from mapapp.explore.callbacks.views import Views
from mapapp.question import setup_file
from mapapp.question.address import MAX_QUERY_LENGTH, Address, to_query
from mapapp.question.cost import check_cost
from mapapp.question.view import Bounds


def bounds_for(query: object, view: object) -> Bounds | None:
    """The map bounds stored in the file of a view; None if the address is not the one of that view."""
    if not isinstance(view, dict) or view.get("search") != query:
        return None
    try:
        return setup_file.bounds_of(view.get("bounds"))
    except UsageError:  # a forged request may contain anything
        return None


def open_setup(views: Views, file: object) -> tuple[Address, tuple[str, ...], Bounds | None]:
    """The view in a chosen file, notes on it, and the bounds of its map.

    `file` is a dict of `name`, `size` and, in base64, `content`.

    Raises
    ------
    UsageError
        If it is not a setup file, is too large, or is too long for an address.
    """
    content = file.get("content") if isinstance(file, dict) else None
    if not isinstance(content, str) or len(content) > 2 * setup_file.MAX_BYTES:
        raise UsageError(f"this is not a setup file: setup files have at most {setup_file.MAX_BYTES:,} bytes")
    try:
        setup = setup_file.read(base64.b64decode(content, validate=True))
    except ValueError:
        raise UsageError("this setup file did not arrive complete; open it again") from None
    return *_among(views, setup), setup.bounds_deg


def _among(views: Views, setup: setup_file.Setup) -> tuple[Address, tuple[str, ...]]:
    """The address for the release that the file names if the server has it, else for the first release."""
    check_cost((*setup.address.question.areas, *setup.address.question.others))
    slug = _slug(views, setup.release)
    against = _slug(views, setup.against) if setup.against else None
    release = views.releases[slug] if slug else views.release(Address())
    address, notes = setup_file.fit_setup(
        replace(setup, against=None) if against else setup, release, leave_out=True
    )
    if setup.release.name and not slug and not setup.release.digest:
        notes = (*notes, f"This server has no release {setup.release}; the page shows the first one.")
    first = next(iter(views.releases))
    address = replace(address, release=slug if slug and slug != first else "", against=against or "")
    if len(to_query(address)) > MAX_QUERY_LENGTH:
        raise UsageError("this setup is too long for an address; use commutemap analyze --setup")
    return address, notes


def _slug(views: Views, source: setup_file.SetupSource) -> str | None:
    """Name of the served release with the digest of a source, or else with its name."""
    for slug, release in views.releases.items():
        if source.digest and release.version[:12] == source.digest[:12]:
            return slug
    return source.name if source.name in views.releases else None
