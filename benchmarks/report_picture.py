"""The picture in docs/reports.md, taken anew: `python -m benchmarks.report_picture --release DIR [--output FILE]`.

Of a release of the demo country (`commutemap demo metro.dataset --size metro`): the first three pages of a PDF report.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pypdfium2
from PIL import Image

from benchmarks.readme_picture import slimmed
from mapapp.answers.release import open_releases
from mapapp.question.question import Question
from mapapp.show.reports import Part, write_report

MAX_BYTES = 200 * 1024
GAP = 14
PART = Part(Question(areas=("county:81011",), side="home"), "areas")
SMALLEST = ("--release", "{release}", "--output", "{folder}/report.png")


def pages(release: Path) -> bytes:
    """Three pages beside each other, as PNG."""
    stream = io.BytesIO()
    write_report(list(open_releases([release]).values()), [PART], "pdf", stream)
    document = pypdfium2.PdfDocument(stream.getvalue())
    shown = [document[place].render(scale=1.0).to_pil().convert("RGB") for place in range(3)]
    width, height = shown[0].size
    sheet = Image.new("RGB", (3 * width + 4 * GAP, height + 2 * GAP), "#d5dae0")
    for place, page in enumerate(shown):
        sheet.paste(page, (GAP + place * (width + GAP), GAP))
    out = io.BytesIO()
    sheet.save(out, "png")
    return slimmed(out.getvalue())


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, required=True, help="a release of the demo country")
    images = Path(__file__).parents[1] / "docs" / "images"
    parser.add_argument("--output", type=Path, default=images / "report.png")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = argument_parser().parse_args(arguments)
    picture = pages(chosen.release)
    if len(picture) > MAX_BYTES:
        sys.exit(f"{len(picture):,} bytes; {MAX_BYTES:,} are the most")
    chosen.output.write_bytes(picture)
    print(f"{chosen.output}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
