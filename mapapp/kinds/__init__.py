"""The kinds of publications, a folder each: how it is made, checked, read, and shown."""
