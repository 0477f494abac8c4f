"""`commutemap certify`: check a release from the release alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapapp.answers.publication import CERTIFICATE, UNBOUND_NOTE, is_bound
from mapapp.commands.options import STORE, json_option, print_result
from mapapp.errors import UsageError

if TYPE_CHECKING:
    from mapapp.publishing.certificate.certificate import CertificateCheck


def _digest(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """The digest in lower case; a part of one is refused, because a forger could match it."""
    if given is not None and not re.fullmatch("[0-9a-f]{64}", given.lower()):
        raise UsageError(
            f"--digest {given!r}: a release digest is 64 hexadecimal digits; copy the publisher's whole digest"
        )
    return None if given is None else given.lower()


@click.command()
@click.argument("release", type=STORE)
@click.option(
    "--prior-release",
    type=STORE,
    default=None,
    metavar="LAST_RELEASE",
    help="Also check that the prior holds the workers of this earlier release, as the certificate says.",
)
@click.option(
    "--digest",
    callback=_digest,
    default=None,
    metavar="SHA256",
    help="Also check that RELEASE has this digest, which its publisher gives in another place: 64 hexadecimal digits.",
)
@json_option
def certify(release: Path, prior_release: Path | None, digest: str | None, as_json: bool) -> None:
    """Check RELEASE again: its manifest, its tables and every claim of its certificate.

    Exit code 2 when anything does not hold. With --json, every accounting row is listed. A certificate vouches for
    what is published beside it, but somebody who changes a release can write a new certificate. Only the release
    digest, compared with one published elsewhere, shows that a release is the publisher's.

    \b
    Examples:
      commutemap certify ri.release
      commutemap certify ri.release --digest SHA256
    """
    from geodata.store import open_store, store_digest
    from mapapp.publishing.certificate.recheck import check_release

    checks = check_release(release)
    found = store_digest(release)
    if digest is not None:
        checks.append(_compared(found, digest))
    if prior_release is not None:
        from mapapp.publishing.last_release import check_last_release

        checks.append(check_last_release(release, prior_release))
    failed = [check.check for check in checks if not check.ok]
    bound = is_bound(open_store(release, "release", verify=False).document(CERTIFICATE))
    result = {
        "release": str(release),
        "release_digest": found,
        "holds": not failed,
        "binds_facts": bound,
        "checks": [check._asdict() for check in checks],
    }
    notes = [] if bound else [f"note  {UNBOUND_NOTE}"]
    print_result(result, [*_lines(checks), *notes, f"release digest  {found}"], as_json=as_json)
    if failed:
        raise UsageError(f"{release}: does not hold: {'; '.join(failed)}; do not publish or use this release")


def _compared(found: str, wanted: str) -> CertificateCheck:
    """Whether the release has the digest that its publisher gives."""
    from mapapp.publishing.certificate.certificate import CertificateCheck

    detail = "as given" if found == wanted else f"it is {found}, --digest says {wanted}"
    return CertificateCheck("release digest", found == wanted, detail)


def _lines(checks: list[CertificateCheck]) -> list[str]:
    """A line a check; the hundreds about accounting rows are one line where they hold."""
    rows = [check for check in checks if check.check.startswith("n = ")]
    lines = [
        f"{'ok  ' if check.ok else 'FAIL'}  {check.check}: {check.detail}"
        for check in checks
        if check not in rows or not check.ok
    ]
    if rows and all(check.ok for check in rows):
        lines.append(f"ok    accounting rows: all {len(rows)} claims about weights and pruning redone")
    return lines
