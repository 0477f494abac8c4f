"""Settings of the engine's tests."""

from hypothesis import settings

from tests.engine.examples import examples

# The first example of a property may compile a kernel, which takes seconds.
settings.register_profile("engine", deadline=None, max_examples=examples(100))
settings.load_profile("engine")
