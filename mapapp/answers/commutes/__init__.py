"""The commutes of a release: prepared files, and the few queries of which every analysis is built."""
