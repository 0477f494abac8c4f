"""Questions as sentences: what a sentence asks, which of its words were understood, and which were not."""
