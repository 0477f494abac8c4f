"""How small a prior weight may be: the two accountants, their theorems, and the oracle."""
