"""`commutemap certify`: check a publication using only the publication itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geodata.store.regular_files import read_object
from mapapp.answers.publication import CERTIFICATE, DIGEST_NOTE, UNBOUND_NOTE, is_bound
from mapapp.base.errors import UsageError
from mapapp.commands.options import STORE, json_option, print_result

if TYPE_CHECKING:
    from geodata.store.schema import StoreKind
    from mapapp.kinds.base.certificate import CertificateCheck

_ARITHMETIC_NOTE = "These checks show that the arithmetic is right, not where the publication comes from."
_THIS = {
    "release": "this release",
    "table": "this table",
    "records": "these records",
    "published": "these counts",
}


def _digest(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """Return the digest in lower case; part of a digest is refused, because a forger could match it."""
    if given is not None and not re.fullmatch("[0-9a-f]{64}", given.lower()):
        raise UsageError(
            f"--digest {given!r}: a release digest has 64 hexadecimal digits; copy the publisher's whole digest"
        )
    return None if given is None else given.lower()


@click.command()
@click.argument("release", type=STORE)
@click.option(
    "--prior-release",
    type=STORE,
    default=None,
    metavar="LAST_RELEASE",
    help="Also check that the prior was made from the workers of this earlier release, as the certificate states. For "
    "a table, make its rates again.",
)
@click.option(
    "--digest",
    callback=_digest,
    default=None,
    metavar="SHA256",
    help="Also check that RELEASE has this digest (64 hexadecimal digits), which its publisher states elsewhere.",
)
@json_option
def certify(release: Path, prior_release: Path | None, digest: str | None, as_json: bool) -> None:
    """Check RELEASE, a table, records, or published counts, again: manifest, tables, and every claim of the
    certificate.

    The exit code is 2 if any check fails. With --json, every accounting row is listed. A certificate vouches for what
    is published with it, but anyone who changes a release can also write a new certificate. Only the release digest,
    compared with the one published elsewhere, shows that a release comes from its publisher.

    \b
    Examples:
      commutemap certify ri.release
      commutemap certify ri.release --digest SHA256
      commutemap certify ri.table --prior-release ri-2017.release
    """
    from geodata.store.store import store_digest

    kind = _kind(release)
    checks = _checks(release, kind)
    actual = store_digest(release)
    if digest is not None:
        checks = [*_bind_by_digest(checks, actual == digest), _digest_check(actual, digest)]
    if prior_release is not None:
        checks.append(_prior_check(release, kind, prior_release))
    failed = [check.check for check in checks if not check.ok]
    bound = is_bound(read_object(release / CERTIFICATE))
    result = {
        kind: str(release),
        f"{kind}_digest": actual,
        "holds": not failed,
        "binds_facts": bound,
        "checks": [check._asdict() for check in checks],
    }
    notes = [] if bound else [f"note  {UNBOUND_NOTE}"]
    if digest is None:
        notes.append(f"note  {_ARITHMETIC_NOTE} {DIGEST_NOTE}")
    print_result(result, [*_lines(checks), *notes, f"{kind} digest  {actual}"], as_json=as_json)
    if failed:
        raise UsageError(
            f"{release}: failed checks: {'; '.join(failed)}; do not publish or use {_THIS[kind]}"
        )


def _kind(path: Path) -> StoreKind:
    """Return what is to be checked; a release if it is nothing that can be."""
    from geodata.store.manifest import read_manifest

    kind = read_manifest(path).get("kind")
    return kind if kind in _THIS else "release"


def _checks(path: Path, kind: StoreKind) -> list[CertificateCheck]:
    if kind == "table":
        from mapapp.kinds.tables.make.recheck import check_table

        return check_table(path)
    if kind == "published":
        from mapapp.kinds.published.make.recheck import check_published

        return check_published(path)
    if kind == "records":
        from mapapp.kinds.records.make.recheck import check_records

        return check_records(path)
    from mapapp.kinds.release.certificate.recheck import check_release

    return check_release(path)


def _prior_check(path: Path, kind: StoreKind, prior_release: Path) -> CertificateCheck:
    if kind == "table":
        from mapapp.kinds.tables.make.recheck import check_prior

        return check_prior(path, prior_release)
    if kind in ("records", "published"):
        what = "records have" if kind == "records" else "published counts have"
        raise UsageError(f"--prior-release {prior_release}: {what} no prior; leave it out")
    from mapapp.kinds.release.make.last_release import check_last_release

    return check_last_release(path, prior_release)


def _digest_check(actual: str, wanted: str) -> CertificateCheck:
    """Compare the release's digest with the one its publisher states."""
    from mapapp.kinds.base.certificate import CertificateCheck

    detail = "matches --digest" if actual == wanted else f"it is {actual}, not {wanted} as in --digest"
    return CertificateCheck("release digest", actual == wanted, detail)


def _bind_by_digest(checks: list[CertificateCheck], matches: bool) -> list[CertificateCheck]:
    """Let a certificate lack the fields of later versions if its digest shows that nobody deleted them."""
    from mapapp.kinds.base.certificate import LATER_FIELDS_CHECK

    return [
        check._replace(ok=True) if matches and check.check == LATER_FIELDS_CHECK else check
        for check in checks
    ]


def _lines(checks: list[CertificateCheck]) -> list[str]:
    """Return one line per check; if all accounting rows pass, one line for all of them."""
    rows = [check for check in checks if check.check.startswith("n = ")]
    lines = [
        f"{'ok  ' if check.ok else 'FAIL'}  {check.check}: {check.detail}"
        for check in checks
        if check not in rows or not check.ok
    ]
    if rows and all(check.ok for check in rows):
        lines.append(f"ok    accounting rows: all {len(rows)} claims about weights and pruning recomputed")
    return lines
