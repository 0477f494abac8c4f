"""The Explore page without a browser: what its callbacks have made of its components so far."""

from __future__ import annotations

import copy
from typing import Any

NAV = [{"id": {"page": page, "type": "nav"}, "property": "href"} for page in ("/", "/method")]
FIRST = ("look.data", "answered.data")
"""Values that the page's scripts or its callbacks change, and on which others wait."""


class PageInProcess:
    """A page, its components as `id.property`, and the server that answers its callbacks.

    Parameters
    ----------
    client : flask.testing.FlaskClient
    search : str
        The query that the page is opened with.
    """

    def __init__(self, client: Any, search: str) -> None:
        self._client = client
        listed = client.get("/_dash-dependencies").get_json()
        self._callbacks = [each for each in listed if not each["clientside_function"]]
        self.state: dict[str, Any] = {"url.pathname": "/", "url.search": search}
        self._run("url.pathname")
        self._keep_components(self.state["page.children"])
        self._answer(search)

    def choose(self, control: str, value: object) -> None:
        """Set a control, as a visitor does, and show what it leads to."""
        choice = {"trigger": control, "value": value, "read": {}}
        self.state["choices.data"] = {"n": 1, "search": self.search, "choices": [choice]}
        self._run("choices.data")
        search = self.state["followed.data"]["search"]
        if search is not None:
            self._answer(search)

    @property
    def search(self) -> str:
        """The query of the page."""
        return str(self.state["url.search"])

    @property
    def figure(self) -> dict[str, Any]:
        """The map as it is drawn."""
        figure: dict[str, Any] = self.state["map.figure"]
        return figure

    def _answer(self, search: str) -> None:
        self.state["url.search"] = search
        self.state["look.data"] = {"search": search, "width": 700, "height": 800, "moved_by": "other"}
        for part in ("url.search", *FIRST):
            self._run(part)

    def _run(self, part: str) -> None:
        """Ask every callback that has a part as an input, and apply its answers."""
        name, _, prop = part.rpartition(".")
        for callback in self._callbacks:
            if {"id": name, "property": prop} not in callback["inputs"]:
                continue
            if "page.children" in callback["output"] and part != "url.pathname":
                continue
            answer = self._client.post("/_dash-update-component", json=self._body(callback, part))
            assert answer.status_code in (200, 204), answer.get_data(as_text=True)
            if answer.status_code == 200:
                self._apply(answer.get_json()["response"])

    def _body(self, callback: dict[str, Any], part: str) -> dict[str, Any]:
        names = [
            name.split("@")[0].rpartition(".")
            for name in callback["output"].removeprefix("..").removesuffix("..").split("...")
        ]
        outputs: list[Any] = [
            [{**link, "property": prop} for link in NAV]
            if component.startswith("{")
            else {"id": component, "property": prop}
            for component, _, prop in names
        ]
        return {
            "output": callback["output"],
            "outputs": outputs if callback["output"].startswith("..") else outputs[0],
            "inputs": [self._given(each) for each in callback["inputs"]],
            "state": [self._given(each) for each in callback["state"]],
            "changedPropIds": [part],
        }

    def _given(self, each: dict[str, str]) -> Any:
        if each["id"].startswith("{"):
            return []
        return each | {"value": self.state.get(f"{each['id']}.{each['property']}")}

    def _apply(self, response: dict[str, dict[str, Any]]) -> None:
        for component, props in response.items():
            for prop, value in props.items():
                place = f"{component}.{prop}"
                is_patch = isinstance(value, dict) and "__dash_patch_update" in value
                self.state[place] = _patched(self.state[place], value["operations"]) if is_patch else value

    def _keep_components(self, part: Any) -> None:
        """The properties of the components of a layout that have an identifier."""
        if isinstance(part, list):
            for each in part:
                self._keep_components(each)
        elif isinstance(part, dict) and "props" in part:
            props = part["props"]
            if isinstance(props.get("id"), str):
                known = {f"{props['id']}.{name}": value for name, value in props.items() if name != "id"}
                self.state |= {name: value for name, value in known.items() if name != "page.children"}
            self._keep_components(props.get("children"))


def _patched(value: Any, operations: list[dict[str, Any]]) -> Any:
    """A value after the changes of a Dash patch, which only assigns."""
    changed = copy.deepcopy(value)
    for operation in operations:
        assert operation["operation"] == "Assign"
        *path, last = operation["location"]
        holder = changed
        for step in path:
            holder = holder[step]
        holder[last] = operation["params"]["value"]
    return changed
