"""Tables of counts in which unsafe cells are suppressed, decided so that the suppressed cells say nothing.

- :mod:`engine.suppression.rates`: priors as exact fractions (``Rates``);
- :mod:`engine.suppression.progress`: how computations report how far they are (``Progress``);
- :mod:`engine.suppression.suppressed`: the outcome of a table (``Decided``);
- :mod:`engine.suppression.cells`: independent cells of a yes-or-no value (``safe_intervals``, ``releasable``,
  ``suppress_cells``);
- :mod:`engine.suppression.rows`: rows of a value with many categories (``suppress_rows``, ``expected_rows``);
- :mod:`engine.suppression.sampled`: the same decisions by sampling, as the paper prints them;
- :mod:`engine.suppression.unsafe`: bounds of the chance that a value is unsafe;
- :mod:`engine.suppression.poisson_binomial`: the law of a sum of yes-or-no values, exact or between bounds (``Types``);
- :mod:`engine.suppression.safe_sums`: which sums over a set of people are safe, and the chance of an unsafe one;
- :mod:`engine.suppression.sum_tree`: totals, remainders, and tables that refine each other (``suppress_tree``);
- :mod:`engine.suppression.both_totals`: row totals and column totals at once (``suppress_two_way``);
- :mod:`engine.suppression.two_way`: the weights of such tables in whole numbers, and a sampler (``TwoWay``);
- :mod:`engine.suppression.two_rows`: two rows at real size, by bounds (``TwoRows``);
- :mod:`engine.suppression.two_rows_ways`: which tables of two rows are possible (``Ways``);
- :mod:`engine.suppression.sum_laws`: laws of sums with the shares of types in them (``SumLaw``).

The attack on tables whose cells were suppressed by an ordinary rule:

- :mod:`engine.suppression.tables_given`: such a table, and the equations over its suppressed cells (``GivenTable``);
- :mod:`engine.suppression.attack.consistent`: all tables that agree with it (``list_consistent``);
- :mod:`engine.suppression.attack.narrowing`: ranges by one row or column at a time, with every step (``narrow``);
- :mod:`engine.suppression.attack.ranges`: exact ranges with proofs in whole numbers (``exact_ranges``);
- :mod:`engine.suppression.attack.ordinary`: the rule itself, which protects nothing (``OrdinarySuppressor``);
- :mod:`engine.suppression.attack.rule_check`: which of the tables get the same stars (``agrees_with_rule``);
- :mod:`engine.suppression.attack.rule_ranges`: ranges under the rule where tables are too many (``ranges_under_rule``);
- :mod:`engine.suppression.attack.attack`: all of it for one table (``attack_table``).

Source: Nabar and Mishra, "Releasing Private Contingency Tables"; docs/theory/suppressed-tables.md.
"""
