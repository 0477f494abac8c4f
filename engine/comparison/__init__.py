"""Six mechanisms that no release is drawn with: benchmarks and tests compare them with those of the product.

- :mod:`engine.comparison.accept_reject`: unrepresentative outputs drawn again (``certify_accepted``,
  ``synthesize_accepted``);
- :mod:`engine.comparison.laplace`: noise on every support point (``laplace_histogram``);
- :mod:`engine.comparison.sparse`: noise on occupied points and a threshold (``sparse_histogram``);
- :mod:`engine.comparison.randomizing`: each worker kept or redrawn (``keep_or_redraw``), and geometric noise projected
  on the public total (``geometric_histogram``);
- :mod:`engine.comparison.plug_in`: draws from the counts themselves, not private (``plug_in_multinomial``).

Each takes a key, the synthesizers and their support points, and returns one support point for every synthetic
worker, as :func:`engine.mechanisms.dirichlet_multinomial.synthesize` does.
"""
