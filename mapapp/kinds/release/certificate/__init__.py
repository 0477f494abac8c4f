"""What a release promises, as its certificate says it, and how that is checked again."""
