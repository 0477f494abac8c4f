"""What stands on the pages, as functions from values to components; no callbacks here."""
