"""A view kept as a file: the same text as the address, read back with the same care."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from dash import Dash, Input, Output, no_update

from mapapp.callbacks.views import Views
from mapapp.errors import UsageError
from mapapp.url_state import MAX_QUERY_LENGTH, to_query

MAX_BYTES: Final = 4 * MAX_QUERY_LENGTH


def register(app: Dash, views: Views) -> None:
    """Attach the callback that opens a file."""

    @app.callback(
        Output("url", "search", allow_duplicate=True),
        Output("setup-said", "children"),
        Input("open-setup", "data"),
        prevent_initial_call=True,
    )
    def open_setup(file: Any) -> tuple[Any, str]:
        if file is None:  # the page has only come
            return no_update, ""
        try:
            query = query_of(file)
        except UsageError as error:
            return no_update, str(error)
        state, notes = views.parse(query)
        return to_query(state), " ".join(notes)


def query_of(file: Any) -> str:
    """The address query that a chosen file holds: a dict of `name`, `size` and, in base64, `content`.

    Raises
    ------
    UsageError
        When it is none of ours, or too large.
    """
    content = file.get("content") if isinstance(file, dict) else None
    if not isinstance(content, str) or len(content) > 2 * MAX_BYTES:
        raise UsageError(f"this file is not a saved view: such a file has at most {MAX_BYTES:,} bytes")
    try:
        setup = json.loads(base64.b64decode(content, validate=True))
    except (ValueError, RecursionError):
        raise UsageError("this file is not a saved view: it is no JSON") from None
    query = setup.get("query") if isinstance(setup, dict) and setup.get("commutemap") == "setup" else None
    if not isinstance(query, str):
        raise UsageError("this file is not a saved view of CommuteMap")
    return query
