"""Questions to a release, and their answers as frames and numbers; nothing here knows of a page."""
