"""The public page: its server, pages, callbacks and downloads."""
