"""The socket layer of our web apps: which clients may connect, how much they may send, how long they may take.

waitress parses requests and runs them in threads. This package subclasses its server, channel and parser, so that
limits apply as soon as a connection is accepted or a request's head is complete, before any body is stored.
"""
