"""The page of worker records."""
