"""Questions to a release, and their answers as frames and numbers; nothing here knows of a page.

`analyses` asks (:class:`~mapapp.queries.analyses.Release`), `results` is what it answers. `area_text` is how an area is
written, `areas` which blocks it has, `outlines` its shape; `flows` is the database, `prepared` the files it reads;
`errors` says how sure a count is, `request` puts one question to many areas and releases. `release` is what a server
keeps of each.
"""
