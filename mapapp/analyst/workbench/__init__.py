"""The analyst's workbench: a web app of its own that reads a confidential dataset, on this machine only.

Nothing that `serve` is made of imports it. What it shows is not for publication, and it keeps nothing: no address,
log, file or cache ever holds what it counted.
"""
