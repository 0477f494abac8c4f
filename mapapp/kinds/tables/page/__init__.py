"""The page of a published table."""
