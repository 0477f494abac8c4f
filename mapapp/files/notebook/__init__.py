"""Answers in a notebook: as pandas and GeoPandas frames, as maps, and as HTML. Users import it from `commutemap`."""

from mapapp.files.notebook.release import Release, open_release

__all__ = ["Release", "open_release"]
