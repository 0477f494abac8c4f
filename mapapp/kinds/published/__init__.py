"""Published counts: jobs as somebody else published them, opened with nothing drawn."""
