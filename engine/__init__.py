"""The privacy and synthesis engine: arrays in, arrays out.

From confidential home-to-work counts to formally private synthetic counts, in the order of use:

- :mod:`engine.support.coarsening`: support points of each destination tract (``coarsen``, ``Coarsening``);
- :mod:`engine.support.prior`: public prior shares and exact prior weights (``flow_mass``, ``fill_missing_mass``,
  ``support_mass``, ``prior_share``, ``uniform_share``, ``prior_weight``, ``redraw_weight``,
  ``quantise_weight_up``);
- :mod:`engine.support.gravity`: the built-in prior (``fit_gravity_decay``, ``gravity_mass``, ``GravityDecay``);
- :mod:`engine.support.editing`: domain editing (``edit_domain``, ``EditedDomain``);
- :mod:`engine.support.pruning`: retention probabilities as integers (``retention_threshold``,
  ``effective_retention``, ``retention_probability``);
- :mod:`engine.support.support_table`: the support points of a batch as integers (``SupportTable``), for the two that
follow;
- :mod:`engine.accountant.sound` and :mod:`engine.accountant.paper`: prior weights that keep a promise, and the evidence
for them
  (``certify_sound``, ``certify_classes``, ``SynthesizerClasses``);
- :mod:`engine.mechanisms.dirichlet_multinomial`: pruning and the exact draw (``Synthesizers``, ``synthesize``,
  ``redraw_remainder``, ``SyntheticPoints``);
- :mod:`engine.mechanisms`: the exponential mechanism (``exponential``);
- :mod:`engine.placement.placement`: home blocks for synthetic workers (``BlockTable``, ``place_blocks``);
- :mod:`engine.audit`: what an attacker would learn, from releases and from other schemes (``naive_bayes``,
  ``lookup``, ``informed``, ``syntactic_tree``, ``private_tree``);
- :mod:`engine.comparison`: six other mechanisms, for benchmarks alone;
- :mod:`engine.streams`: the key and its streams (``SecretKey``, ``Stage``, ``stream_words``);
- :mod:`engine.errors`: errors about unusable input.

Modules are imported by name; importing the package compiles nothing.
"""
