"""What catalogs read about a publication: DCAT-US 3.0, Croissant 1.0, and an entry for the registry of deployments.

All is taken from the publication, its certificate, and what the publisher says. What only the publisher can know and
has not said is marked `FILL IN`.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow
import pyarrow.parquet

from geodata.json_objects import JsonObject
from geodata.store.store import Store
from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.certificate_reader import read_certificate
from mapapp.answers.commutes.attributes import attributes_of
from mapapp.answers.commutes.prepared import attribute_columns
from mapapp.answers.promise.shown_counts import counts_sentence
from mapapp.answers.publication import RELEASED, full_title, is_of_records, is_published, open_publication
from mapapp.base.errors import UsageError
from mapapp.base.whole_files import new_place
from mapapp.show.exports.column_meanings import codes_in_words, column_meaning, table_meaning
from mapapp.show.exports.provenance import Provenance
from mapapp.show.exports.release_export import Exported

__all__ = ["LICENSES", "Publisher", "write_catalog"]

LICENSES: Final = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "us-government-work": "https://www.usa.gov/government-works",
}
"""Addresses of licenses by the names that `--licence` takes."""

DCAT: Final = "dcat-us.json"
CROISSANT: Final = "croissant.json"
REGISTRY: Final = "registry-entry.yaml"
_FILL_IN: Final = "FILL IN: "
_LONGEST: Final = 500
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_ADDRESS: Final = re.compile(r"https?://[^\s\"<>\\^`{|}]+")
_EMAIL: Final = re.compile(r"[^\s@:]+@[^\s@:]+\.[^\s@:.]+")
_PARQUET: Final = "application/vnd.apache.parquet"
_CROISSANT_TYPES: Final[tuple[tuple[Callable[[pyarrow.DataType], bool], str], ...]] = (
    (pyarrow.types.is_boolean, "sc:Boolean"),
    (pyarrow.types.is_integer, "sc:Integer"),
    (pyarrow.types.is_floating, "sc:Float"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """What the publisher says; what may be left out is empty.

    Attributes
    ----------
    name, email : str
        Organization, and where to ask.
    issued : date
        Day of publication.
    licence : str
        A name of `LICENSES`, or an address.
    version : str
    supersedes : str
        Digest of the publication that this one replaces.
    erratum : str
        What was wrong with that one.

    Raises
    ------
    UsageError
        On construction: one of them cannot be.
    """

    name: str
    email: str
    issued: datetime.date
    licence: str = ""
    version: str = ""
    supersedes: str = ""
    erratum: str = ""

    def __post_init__(self) -> None:
        texts = {"publisher": self.name, "version": self.version, "erratum": self.erratum}
        for option, text in texts.items():
            if text != text.strip() or not text.isprintable() or len(text) > _LONGEST:
                raise UsageError(f"--{option}: give one line of at most {_LONGEST} characters")
        if not self.name:
            raise UsageError("--publisher: give the name of the organization that publishes")
        if not _EMAIL.fullmatch(self.email):
            raise UsageError(
                f"--contact {self.email[:60]!r}: give an email address, such as data@example.org"
            )
        if self.licence and self.licence not in LICENSES and not _ADDRESS.fullmatch(self.licence):
            raise UsageError(
                f"--licence {self.licence[:60]!r}: give the address of a license, or one of {', '.join(LICENSES)}"
            )
        if self.supersedes and not _DIGEST.fullmatch(self.supersedes):
            raise UsageError(
                f"--supersedes {self.supersedes[:70]!r}: give the digest of the publication that this one replaces, 64 "
                "hexadecimal digits in lower case"
            )
        if self.erratum and not self.supersedes:
            raise UsageError(
                "--erratum is about an earlier publication; name that one with --supersedes DIGEST"
            )

    @property
    def licence_address(self) -> str:
        """Address of the license; empty without one."""
        return LICENSES.get(self.licence, self.licence)


def write_catalog(path: Path, target: Path, publisher: Publisher) -> Exported:
    """Write the metadata of a release, of worker records, or of published counts to a new folder.

    Raises
    ------
    UsageError
        The publication is not for release, or the target's parent is missing.
    StoreError
        It is no such publication, or the target exists.
    """
    store = open_publication(path, *RELEASED)
    about = _About.of(store)
    if not words.may_be_released(about.certificate):
        raise UsageError(f"{path}: {words.why_not_for_release(about.certificate)} No catalog should list it")
    files = {DCAT: _json(_dcat(about, publisher)), CROISSANT: _json(_croissant(about, publisher))}
    notes = [f"{DCAT}, {CROISSANT}: add the address at which the files can be downloaded"]
    if is_published(about.certificate):
        notes.append(f"no {REGISTRY}: these counts were not made private by CommuteMap")
    else:
        files[REGISTRY] = "\n".join(_yaml(_registry_entry(about, publisher))) + "\n"
        notes.append(f"{REGISTRY}: complete what is marked {_FILL_IN.strip()} before you send it")
    with new_place(target, folder=True) as place:
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf-8")
    return Exported(
        path=target, files={name: len(text.encode()) for name, text in files.items()}, notes=tuple(notes)
    )


def _json(document: JsonObject) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class _About:
    """What is read of a publication once."""

    store: Store
    certificate: Mapping[str, object]
    origin: Provenance
    titles: dict[str, str]

    @classmethod
    def of(cls, store: Store) -> _About:
        certificate = read_certificate(store)
        titles = {layer["column"]: str(layer["label"]) for layer in store.manifest.get("layers") or ()}
        attributes = attributes_of(certificate, attribute_columns(store), store.manifest)
        titles |= {
            attribute.name: codes_in_words(attribute.title, attribute.labels, attribute.first)
            for attribute in attributes
        }
        return cls(store, certificate, Provenance.of(store), titles)

    @property
    def title(self) -> str:
        """Title with year and jobs."""
        return full_title(self.origin.title, self.origin.year, self.origin.job_type)

    @property
    def abstract(self) -> str:
        """What it is, what is promised, and what is not, in sentences."""
        what = self.origin.what
        sentences = [f"{what[0].upper()}{what[1:]}."]
        if is_published(self.certificate):
            sentences.append(f"Published by {self.origin.publisher}.")
            return " ".join(sentences)
        sentences.append(f"{words.promise(self.certificate)}.")
        if not is_of_records(self.certificate):
            sentences.append(counts_sentence(self.store.manifest))
        sentences.append(f"What is protected: {self.certificate.get('unit_of_protection')}")
        return " ".join(sentences)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """West, south, east, and north of the blocks within the area, degrees."""
        blocks = self.store.table("blocks", ["lon_deg", "lat_deg", "elsewhere"])
        inside = blocks[~blocks["elsewhere"]]
        lon, lat = inside["lon_deg"], inside["lat_deg"]
        return float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max())

    def tables(self) -> Iterator[tuple[str, pyarrow.Schema, JsonObject]]:
        """Name, columns, and manifest entry of each Parquet file."""
        for file, entry in self.store.manifest["files"].items():
            if file.endswith(".parquet"):
                yield file, pyarrow.parquet.read_schema(self.store.path / file), entry


def _dcat(about: _About, publisher: Publisher) -> JsonObject:
    """Return the publication as a dataset of DCAT-US 3.0."""
    origin = about.origin
    edges = (
        "westBoundingLongitude",
        "southBoundingLatitude",
        "eastBoundingLongitude",
        "northBoundingLatitude",
    )
    box = {name: f"{value:.5f}" for name, value in zip(edges, about.box, strict=True)}
    described = {
        "@type": "Distribution",
        "title": "Data dictionary",
        "description": f"Croissant 1.0: {CROISSANT}",
    }
    files = [
        {
            "@type": "Distribution",
            "title": file,
            "description": table_meaning(Path(file).stem),
            "mediaType": f"https://www.iana.org/assignments/media-types/{_PARQUET}",
            "byteSize": str(entry["bytes"]),
            "checksum": {
                "@type": "Checksum",
                "algorithm": "http://spdx.org/rdf/terms#checksumAlgorithm_sha256",
                "checksumValue": entry["sha256"],
            },
            **({"license": publisher.licence_address} if publisher.licence else {}),
        }
        for file, _, entry in about.tables()
    ]
    document: JsonObject = {
        "@type": "Dataset",
        "title": about.title,
        "description": about.abstract,
        "publisher": {"@type": "Organization", "name": publisher.name, "prefLabel": publisher.name},
        "contactPoint": [{"@type": "Kind", "fn": publisher.name, "hasEmail": f"mailto:{publisher.email}"}],
        "identifier": [_identifier(origin.release_sha256)],
        "issued": publisher.issued.isoformat(),
        "keyword": "commuting, jobs, home and workplace",
        "geographicBoundingBox": [{"@type": "GeographicBoundingBox", **box}],
        "describedBy": described,
        "distribution": files,
    }
    if origin.year:
        document["temporal"] = [{"@type": "PeriodOfTime", "startDate": origin.year, "endDate": origin.year}]
    if places := _region(about):
        document["spatial"] = [{"@type": "Location", "prefLabel": places}]
    if publisher.version:
        document["version"] = publisher.version
    if publisher.supersedes:
        document["replaces"] = [_identifier(publisher.supersedes)]
    if publisher.erratum:
        document["versionNotes"] = publisher.erratum
    return document


def _identifier(digest: str) -> str:
    return f"urn:sha256:{digest}"


def _region(about: _About) -> str:
    """Names of the states whose workplaces are covered; of zones of another country, what the title says."""
    names = about.store.table("states", ["state_id", "name"]).set_index("state_id")["name"]
    return (
        list_names([str(names.get(state) or state) for state in about.origin.workplaces_in])
        or about.origin.title
    )


def _croissant(about: _About, publisher: Publisher) -> JsonObject:
    """Return a dictionary of the publication's own columns, in Croissant 1.0."""
    files, records = [], []
    for file, schema, entry in about.tables():
        table = Path(file).stem
        files.append(
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "encodingFormat": "application/x-parquet",
                "contentSize": f"{entry['bytes']} B",
                "sha256": entry["sha256"],
            }
        )
        fields = [
            {
                "@type": "cr:Field",
                "@id": f"{table}/{column.name}",
                "name": column.name,
                "description": column_meaning(table, column.name, about.titles),
                "dataType": next((name for fits, name in _CROISSANT_TYPES if fits(column.type)), "sc:Text"),
                "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
            }
            for column in schema
        ]
        records.append(
            {
                "@type": "cr:RecordSet",
                "@id": table,
                "name": table,
                "description": table_meaning(table),
                "field": fields,
            }
        )
    said = {"license": publisher.licence_address, "version": publisher.version}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.title,
        "description": about.abstract,
        **{name: text for name, text in said.items() if text},
        "identifier": _identifier(about.origin.release_sha256),
        "datePublished": publisher.issued.isoformat(),
        "publisher": {"@type": "sc:Organization", "name": publisher.name},
        "distribution": files,
        "recordSet": records,
    }


_CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "column": "cr:column",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "recordSet": "cr:recordSet",
    "source": "cr:source",
}


def _registry_entry(about: _About, publisher: Publisher) -> JsonObject:
    """Return an entry of tier 3 for the public registry of deployments of differential privacy."""
    certificate, origin = about.certificate, about.origin
    of_records = is_of_records(certificate)
    epsilon, delta = (words.number(certificate, name) for name in ("epsilon_final", "delta"))
    epsilon = words.number(certificate, "epsilon") if epsilon is None else epsilon
    amounts = {name: value for name, value in (("epsilon", epsilon), ("delta", delta)) if value is not None}
    exposed = [] if of_records else [counts_sentence(about.store.manifest)]
    caveats = certificate.get("caveats")
    exposed += [str(text) for text in caveats] if isinstance(caveats, list) else []
    unit = str(certificate.get("unit_of_protection") or f"{_FILL_IN}whose data may differ")
    return {
        "url_slug": re.sub("[^a-z0-9]+", "-", f"{publisher.name} {about.title}".lower()).strip("-"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": about.title,
                "data_curators": [publisher.name],
                "description": about.abstract,
                "intended_use": f"{_FILL_IN}what the publication is meant for",
                "data_product_type": "Synthetic data",
                "data_product_region": _region(about),
                "publication_date": publisher.issued.isoformat(),
                "data_product_sector": "Government",
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if delta else "Pure DP",
                "data_domain": f"{_FILL_IN}which worker records are possible"
                if of_records
                else "Every way in which the public numbers of workers could live.",
                "unprotected_quantities": " ".join(exposed) or f"{_FILL_IN}what is published exactly",
            },
            "privacy_loss": {
                "privacy_unit": unit,
                "privacy_unit_details": str(certificate.get("neighbours") or unit),
                "privacy_parameters": amounts,
                "privacy_parameters_details": f"{words.promise(certificate)} ({words.grounds(certificate)})",
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": f"{_FILL_IN}who sees the confidential data and who publishes; everybody sees the publication",
                "release_type": "One release",
                "release_type_details": f"{_FILL_IN}whether more will be published from the same data, and the budget",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": "What is shown of homes is computed from what was drawn, and from public numbers.",
                "composition": str(
                    certificate.get("composition") or f"{_FILL_IN}how several publications add up"
                ),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": f"{_FILL_IN}what was tried on the confidential data before",
                "mechanisms": f"{words.mechanism(certificate)}. Draws use whole numbers and a keyed stream cipher; no "
                f"number with a fraction decides one. Written by {origin.program}.",
                "justification": f"{_FILL_IN}why these settings were chosen, and by whom",
            },
            "administrative": {
                "registry_authors": [publisher.name],
                "notes": f"Digest (SHA-256): {origin.release_sha256}. `commutemap certify` recomputes every claim.",
            },
        },
    }


def _yaml(value: object, indent: str = "") -> Iterator[str]:
    """Yield a document of objects, lists of texts, texts, and numbers as lines of YAML."""
    if not isinstance(value, dict):
        raise TypeError(f"{type(value)} is no object")
    for name, part in value.items():
        if isinstance(part, dict):
            yield f"{indent}{name}:"
            yield from _yaml(part, f"{indent}  ")
        elif isinstance(part, list):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {json.dumps(text, ensure_ascii=False)}" for text in part)
        else:
            yield f"{indent}{name}: {json.dumps(part, ensure_ascii=False)}"
