"""Published counts: jobs as somebody else published them, with their sources and what their publisher says of them."""
