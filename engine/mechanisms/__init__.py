"""Other mechanisms, for comparison with the Dirichlet-multinomial: same input, same output, different promises.

- :mod:`engine.mechanisms.laplace`: noise on every support point (``laplace_histogram``);
- :mod:`engine.mechanisms.sparse`: noise on occupied points and a threshold (``sparse_histogram``);
- :mod:`engine.mechanisms.plug_in`: draws from the counts themselves, not private (``plug_in_multinomial``);
- :mod:`engine.mechanisms.promise`: what each of them promises (``MechanismPromise``);
- :mod:`engine.mechanisms.chances`: chances such as e^-x, digit by digit and exactly.

Each takes a key, the synthesizers and their support points, and returns one support point for every synthetic
worker, as :func:`engine.synthesis.synthesize` does.
"""
