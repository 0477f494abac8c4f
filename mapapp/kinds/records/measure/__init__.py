"""Worker records measured against the real ones. Confidential: for the analyst."""
