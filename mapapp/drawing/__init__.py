"""Pictures as plain functions of frames; nothing here knows of a page."""
