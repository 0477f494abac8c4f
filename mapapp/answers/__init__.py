"""Questions to a release, and their answers as frames and numbers; nothing here knows of a page.

`analyses` asks (:class:`~mapapp.answers.analyses.Release`), `results` is what it answers. `areas` says which blocks an
area has, `outlines` its shape; `flows` is the database, `prepared` the files it reads; `answer_errors` says how sure a
count is, `request` puts one question to many areas and releases. `served_release` is what a server keeps of each.
"""
