"""Numba's compiler with only the passes that kernels need, for kernels that make no arrays.

Numba runs 27 passes over every function, most of them for features that no kernel uses, and writes down, before each
of them, what it is about to do. It finds the meaning of a call again each time that it looks at it.

Only `engine._numba_internals` imports this module.
"""

from typing import Final

from numba.core import compiler, typed_passes, typeinfer, types, untyped_passes
from numba.core.errors import NumbaWarning, WarningsFixer  # type: ignore[attr-defined]  # numba lists no names
from numba.core.targetconfig import ConfigStack

from engine._numba_code import Internal
from engine._numba_lowering import Lower

__all__ = ["LeanCompiler"]


class _TypeInferer(typeinfer.TypeInferer):
    """Numba's type inference, which remembers what calls mean."""

    def resolve_call(self, fnty: Internal, pos_args: Internal, kw_args: Internal) -> Internal:
        """Called by numba for the signature of a call."""
        if kw_args or not isinstance(fnty, _REMEMBERED):
            return super().resolve_call(fnty, pos_args, kw_args)
        key = (id(self.context), fnty._code, *(kind._code for kind in pos_args))
        if key not in _SIGNATURES:
            _SIGNATURES[key] = super().resolve_call(fnty, pos_args, kw_args)
        return _SIGNATURES[key]


_REMEMBERED: Final[Internal] = (types.Function, types.NumberClass, types.Dispatcher)
_SIGNATURES: dict[Internal, Internal] = {}
"""Signatures found so far, by numba's context, function and types of arguments; all of them are kept by numba, too."""


class _TypeInference(typed_passes.NopythonTypeInference):
    _name = "lean_type_inference"

    def run_pass(self, state: Internal) -> bool:
        warnings = WarningsFixer(NumbaWarning)
        infer = _TypeInferer(state.typingctx, state.func_ir, warnings)
        called = state.typingctx.callstack.register(
            state.targetctx.target, infer, state.func_ir.func_id, state.args
        )
        with called, warnings:
            for index, (name, kind) in enumerate(zip(state.func_ir.arg_names, state.args, strict=True)):
                infer.seed_argument(name, index, kind)
            if state.return_type is not None:
                infer.seed_return(state.return_type)
            infer.build_constraint()
            infer.propagate()
            state.typemap, state.return_type, state.calltypes = infer.unify()
        return True


class _Lowering(typed_passes.NativeLowering):
    _name = "lean_lowering"

    @property
    def lowering_class(self) -> Internal:
        return Lower


_PASSES: Final = (
    untyped_passes.TranslateByteCode(),
    untyped_passes.IRProcessing(),
    untyped_passes.GenericRewrites(),
    untyped_passes.ReconstructSSA(),
    _TypeInference(),
    typed_passes.PreLowerStripPhis(),
    _Lowering(),
    typed_passes.NoPythonBackend(),
)

_LOADED: list[bool] = []
"""Not empty once numba's extensions have been looked for."""


def _do_nothing() -> None:
    pass


class LeanCompiler(compiler.CompilerBase):
    """Numba's compiler, with fewer passes."""

    code: type

    def __init__(self, typingctx: Internal, targetctx: Internal, *settings: Internal) -> None:
        """Called by numba, which would look again for extensions that were imported since the last time."""
        if _LOADED:
            typingctx.refresh = targetctx.refresh = _do_nothing
        try:
            super().__init__(typingctx, targetctx, *settings)
        finally:
            if _LOADED:
                del typingctx.refresh, targetctx.refresh
        _LOADED.append(True)

    def _compile_core(self) -> Internal:
        state = self.state
        state.nargs = len(state.args)
        state.library = self.code(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.type_annotation = None
        with ConfigStack().enter(state.flags.copy()):
            for one in _PASSES:
                one.run_pass(state)
        state.pipeline = None
        return state.cr
