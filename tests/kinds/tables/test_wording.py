"""`certify` compares the texts of a table's certificate word for word, so they belong to its schema version."""

import hashlib
from fractions import Fraction

from mapapp.answers.publication import CLAIMS_SCHEMA
from mapapp.kinds.tables.make.certificate import _PRIOR_DECLARED, _SAMPLED, DOES_NOT_PROMISE, promise_in_words

WORDING = {1: "6df859efd592dd516a2dde6ad2cffbe6f5a82abcbaf806c800bd5853254f6a9d"}
"""SHA-256 of the texts, by schema version of the claims.

Other texts would let `certify` refuse every table that was published with these. So whoever changes a text gives the
certificate a new schema version, keeps the old texts for tables of the old one, and adds a line here.
"""


def test_the_texts_of_a_published_table_stay_as_they_were() -> None:
    texts = [*DOES_NOT_PROMISE, _PRIOR_DECLARED, _SAMPLED, promise_in_words(Fraction(1, 2), Fraction(1, 100))]
    assert hashlib.sha256("\n".join(texts).encode()).hexdigest() == WORDING[CLAIMS_SCHEMA]
