"""What only an analyst may see: validity of a setting or a release, and sweeps."""
