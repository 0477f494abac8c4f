"""Settings of the engine's tests."""

from hypothesis import settings

# The first example of a property may compile a kernel, which takes seconds.
settings.register_profile("compiled", deadline=None)
settings.load_profile("compiled")
