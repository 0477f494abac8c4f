"""From published files to published counts."""
