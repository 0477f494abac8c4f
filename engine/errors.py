"""The engine's errors. Each message is one line: what is wrong, the value, what is allowed, and the remedy."""

__all__ = [
    "CertificateError",
    "EngineError",
    "OverflowRefusedError",
    "ParameterError",
    "SupportError",
]


class EngineError(ValueError):
    """Base of every error the engine raises about its input."""


class ParameterError(EngineError):
    """A parameter or an input array is outside what the method allows."""


class SupportError(EngineError):
    """A synthesizer, a destination tract or a support point has nothing to draw from."""


class OverflowRefusedError(EngineError):
    """Exact integer arithmetic would leave 64 bits, or a random stream would run past its end."""


class CertificateError(EngineError):
    """A privacy certificate cannot be issued, or does not cover the weights."""
