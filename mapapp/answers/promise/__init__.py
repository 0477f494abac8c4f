"""What a release promises, in words for its readers."""
