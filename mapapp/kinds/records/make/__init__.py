"""From worker records to a model, seeds, and synthetic records."""
