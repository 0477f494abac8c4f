"""The Tables panel of the workbench."""
