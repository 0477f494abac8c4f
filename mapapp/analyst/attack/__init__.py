"""The attack on a published table with suppressed cells: its file, its findings in words, and its files."""
