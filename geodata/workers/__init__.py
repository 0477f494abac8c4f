"""Files of worker records, and what their columns mean."""
