"""Asking an app as a browser would: pages, files and callbacks, all from a page of its own."""

from __future__ import annotations

import json
from typing import Any

from mapapp.analyst.workbench.app import PAGES
from mapapp.analyst.workbench.guard import Access

HOST = "127.0.0.1:8051"
OWN_PAGE = {"Host": HOST, "Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}
MANY = {"nav": [{"page": page, "type": "nav"} for page in PAGES]}  # the pattern of all components of a type


def access_of(client: Any) -> Access:
    """The secrets of the app behind a test client."""
    access: Access = client.application.extensions["workbench access"]
    return access


def entered(app: Any, host: str = HOST) -> Any:
    """A test client that has opened the printed address, so that it has the cookie."""
    client = app.server.test_client()
    access = access_of(client)
    with client.get(access.address(access.path), headers={"Host": host}) as answer:
        assert answer.status_code == 303, answer.get_data(as_text=True)
    return client


def get(client: Any, address: str, **headers: str) -> Any:
    """An answer, read to its end and closed; `address` is a path below that of the workbench, such as "/lab"."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    path = access_of(client).path + address.removeprefix("/")
    with client.get(path, headers={"Host": HOST} | given) as answer:
        answer.get_data()
        return answer


def post(client: Any, **given: Any) -> Any:
    """What the workbench answers to a request for a callback."""
    return client.post(f"{access_of(client).path}_dash-update-component", **given)


def ask(
    client: Any, app: Any, output: str, values: dict[str, Any], headers: dict[str, str] | None = None
) -> Any:
    """Call the callback with an output, given values by "id.property"; what is not given is None."""
    key = next(key for key in app.callback_map if output in key)
    entry = app.callback_map[key]
    given = entry["output"]
    outputs = (
        [_many(one.component_id, one.component_property) for one in given]
        if isinstance(given, list)
        else None
    )
    body = {
        "output": key,
        "outputs": outputs or _many(given.component_id, given.component_property),
        "inputs": [_many(one["id"], one["property"], values) for one in entry["inputs"]],
        "state": [_many(one["id"], one["property"], values) for one in entry["state"]],
        "changedPropIds": list(values)[:1],
    }
    return post(client, json=body, headers=OWN_PAGE if headers is None else headers)


def _many(id_: Any, property_: str, values: dict[str, Any] | None = None) -> Any:
    """One component's property, or a list of them where the identifier stands for many."""
    pattern = id_ if isinstance(id_, dict) else json.loads(id_) if id_.startswith("{") else None
    if pattern is not None:
        return [_one(one, property_, values) for one in MANY.get(pattern["type"], [])]
    return _one(id_, property_, values)


def _one(id_: Any, property_: str, values: dict[str, Any] | None) -> dict[str, Any]:
    place = {"id": id_, "property": property_}
    return place if values is None else place | {"value": values.get(f"{id_}.{property_}")}
