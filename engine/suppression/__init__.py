"""Tables of counts in which unsafe cells are suppressed, decided so that the suppressed cells say nothing.

- :mod:`engine.suppression.rates`: priors as exact fractions (``Rates``);
- :mod:`engine.suppression.suppressed`: the outcome of a table (``Decided``);
- :mod:`engine.suppression.cells`: independent cells of a yes-or-no value (``safe_intervals``, ``releasable``,
  ``suppress_cells``);
- :mod:`engine.suppression.rows`: rows of a value with many categories (``suppress_rows``, ``expected_rows``);
- :mod:`engine.suppression.sampled`: the same decisions by sampling, as the paper prints them;
- :mod:`engine.suppression.unsafe`: bounds of the chance that a value is unsafe.

Source: Nabar and Mishra, "Releasing Private Contingency Tables"; docs/tables.md.
"""
