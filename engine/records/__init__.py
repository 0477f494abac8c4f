"""Synthetic worker records under plausible deniability: arrays in, arrays out.

A generative model, a Bayesian network with noisy tables, draws records, either from nothing (seedless) or from a prefix
of attributes that are kept from a confidential record, the seed:

- :mod:`engine.records.structure`: parents of every attribute, and the public structure (``Structure``);
- :mod:`engine.records.cells`: the cells of a table, without most structural zeros;
- :mod:`engine.records.learned`: a structure learned by noisy entropies (``learn_structure``);
- :mod:`engine.records.entropy`: entropies with noise, and what one record changes in them;
- :mod:`engine.records.composition`: advanced composition;
- :mod:`engine.records.tables`: noisy tables of a structure (``Model``, ``learn_model``);
- :mod:`engine.records.drawing`: records of the model (``draw_records``);
- :mod:`engine.records.splitting`: disjoint subsets by independent draws (``split_records``);
- :mod:`engine.records.topping_up`: records of the model in place of candidates that failed (``top_up``);
- :mod:`engine.records.expected`: expected errors of counts, from the private model alone (``expected_errors``).

Which records are released, and what that promises:

- :mod:`engine.records.acceptance`: the test of a candidate (``Acceptance``);
- :mod:`engine.records.groups`: plausible seeds counted by a look-up (``GroupTable``, ``Seeds``);
- :mod:`engine.records.candidates`: candidates from seeds, tried (``draw_candidates``);
- :mod:`engine.records.divergence`: what one try can show about one worker (``OneTry``, ``worst_delta``);
- :mod:`engine.records.tries`: the sound accountant, which charges every try (``seed_promise``);
- :mod:`engine.records.choosing`: the least number of plausible seeds that keeps an epsilon (``find_min_seeds``);
- :mod:`engine.records.theorem_one`: the paper's accountant (``paper_promise``).

Records are int32[n, m], one row a worker, with columns in the order in which attributes are drawn; codes of an
attribute are whole numbers from 0.

Source: P17 (Bindschaedler, Shokri and Gunter 2017).
"""
