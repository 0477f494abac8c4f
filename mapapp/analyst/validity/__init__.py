"""How far a setting or a release is from the real workers."""
