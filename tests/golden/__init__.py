"""Figures that tests compare with; README.md says where each file comes from."""

import json
from pathlib import Path


def golden(name):
    """Figures of one file, such as "pdp"."""
    return json.loads((Path(__file__).with_name(f"{name}.json")).read_text(encoding="utf-8"))
