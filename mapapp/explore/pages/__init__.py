"""The content of the pages, as functions from values to components, without callbacks."""
