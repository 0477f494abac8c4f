"""`commutemap certify`: check a release from the release alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapapp.commands.options import STORE, json_option, print_result
from mapapp.errors import UsageError

if TYPE_CHECKING:
    from mapapp.certificate import CertificateCheck


@click.command()
@click.argument("release", type=STORE)
@click.option(
    "--prior-release",
    type=STORE,
    default=None,
    metavar="LAST_RELEASE",
    help="Also check that the prior holds the workers of this earlier release, as the certificate says.",
)
@json_option
def certify(release: Path, prior_release: Path | None, as_json: bool) -> None:
    """Check RELEASE again: its manifest, its tables and every claim of its certificate.

    Exit code 2 when anything does not hold. With --json, every accounting row is listed.

    \b
    Example:
      commutemap certify ri.release
    """
    from mapapp.pipeline.recheck import check_release

    checks = check_release(release)
    if prior_release is not None:
        from mapapp.pipeline.last_release import check_last_release

        checks.append(check_last_release(release, prior_release))
    failed = [check.check for check in checks if not check.ok]
    result = {"release": str(release), "holds": not failed, "checks": [check._asdict() for check in checks]}
    print_result(result, _lines(checks), as_json=as_json)
    if failed:
        raise UsageError(f"{release}: the certificate does not hold ({'; '.join(failed)}); do not publish it")


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
