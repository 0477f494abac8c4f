"""What an attacker learns from a release, and how useful it is: arrays in, arrays out.

Releases are compared with the schemes that an agency could use instead, on the same workers:

- :mod:`engine.audit.decomposition`: boxes with counts of the sensitive values (``Decomposition``);
- :mod:`engine.audit.criteria`: k-anonymity, l-diversity, t-closeness (``SplitRule``);
- :mod:`engine.audit.syntactic_tree`: trees whose leaves meet these criteria (``syntactic_tree``);
- :mod:`engine.audit.private_tree`: differentially private trees (``private_tree``);
- :mod:`engine.audit.private_tree` and :mod:`engine.audit.private_tree`: their budgets and their least-squares counts;
- :mod:`engine.audit.naive_bayes`: the attacker who sees only such boxes (``NaiveBayes``);
- :mod:`engine.audit.lookup`: attackers who look the victim up, and their controls (``lookup``, ``public_prior``);
- :mod:`engine.audit.informed`: the attacker who knows every other worker (``informed_attack``);
- :mod:`engine.audit.empirical`: how often an attacker is right, and knows it (``accuracy``, ``calibration``);
- :mod:`engine.audit.alarm`: whether likelihood ratios break the promise (``most_allowed``);
- :mod:`engine.audit.lookup`: the attacker who takes the most frequent value of a leaf (``lookup_in_leaf``);
- :mod:`engine.audit.membership`: whether draws with a worker and without can be told apart (``epsilon_shown``);
- :mod:`engine.audit.records_law`: the exact laws of that for worker records (``delta_of_tries``);
- :mod:`engine.audit.workplace_lookup`: those who look the victim up, in one pass (``look_up_homes``);
- :mod:`engine.audit.tally`: the same measures counted batch by batch (``BeliefTally``);
- :mod:`engine.audit.unit_shares`: the public prior by tract or county (``unit_shares``);
- :mod:`engine.audit.workload`: counting queries and their median relative error (``window_workload``);
- :mod:`engine.audit.coded_tables`: what every attacker returns (``Predictions``).

Codes of attributes and values are whole numbers from 0. Everything here reads confidential workers; results are for the
analyst and are never published.

Source: C13 (Cormode, Procopiuc, Shen, Srivastava and Yu 2013).
"""
