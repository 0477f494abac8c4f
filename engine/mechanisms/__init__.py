"""The exponential mechanism: a draw with a proof of its own, which needs no prior weights.

- :mod:`engine.mechanisms.exponential`: its draw and its promise (``exponential``, ``exponential_promise``);
- :mod:`engine.mechanisms.prices` and :mod:`engine.mechanisms.thetas`: its noise (``law_of``);
- :mod:`engine.mechanisms.cascade`: small units drawn over clusters that larger ones suggest;
- :mod:`engine.mechanisms.unit`: cells pooled into units and dealt out again;
- :mod:`engine.mechanisms.chances`: chances such as e^-x, digit by digit and exactly.
"""
