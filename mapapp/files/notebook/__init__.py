"""Answers in a notebook: pandas and GeoPandas frames, maps, and HTML. Users import this from `commutemap`."""

from mapapp.files.notebook.release import Release, open_release

__all__ = ["Release", "open_release"]
