"""Settings chosen from public data, and what they are expected to cost."""
