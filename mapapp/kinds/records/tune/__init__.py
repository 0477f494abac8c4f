"""The Records panel of the workbench."""
