"""The public web page: its server, pages, callbacks and downloads."""
