"""The expected errors of a publication, by its kind: each kind has a formula of its own."""

from __future__ import annotations

from geodata.json_objects import JsonObject
from geodata.store import Store
from mapapp.answers.areas import Areas
from mapapp.answers.errors.answer_errors import Errors
from mapapp.answers.errors.record_errors import RecordErrors
from mapapp.answers.flows import Flows
from mapapp.answers.publication import is_of_records


def errors_of(store: Store, areas: Areas, flows: Flows, certificate: JsonObject) -> Errors:
    """Return the expected errors of a release, or of worker records."""
    of_kind = RecordErrors if is_of_records(certificate) else Errors
    return of_kind(store, areas, flows, certificate)
