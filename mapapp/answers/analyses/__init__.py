"""The analyses: how each is computed, and what its answer says."""
