"""Answers to questions about a release, as frames and numbers. Nothing here depends on a page.

`release` has the analyses as methods of :class:`~mapapp.answers.release.Release`, and `results` the types of their
answers. `areas` finds the blocks of an area and `outlines` its shape. `flows` is the database and `prepared` the files
that it reads. `errors` computes expected errors. `asking` answers one question for many areas and releases.
"""
