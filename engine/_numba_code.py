"""Libraries of code for numba: functions that callers link in, and kernels that link each of them in once.

Only the other modules of numba's internals import this module.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from numba.core import cgutils, codegen

__all__ = ["Internal", "KernelCode", "LeanKernelCode", "LinkedCode", "without_lock_events"]

Internal: TypeAlias = Any
"""An object of numba's compiler, which has few types."""

binding: Internal = codegen.ll  # type: ignore[attr-defined]  # llvmlite's, as numba imports it


class LinkedCode(codegen.JITCodeLibrary):
    """Code that callers link in and optimize as their own; by itself it is neither linked, optimized nor compiled."""

    def add_ir_module(self, ir_module: Internal) -> None:
        """Called by numba with the code of a function."""
        module = binding.parse_assembly(cgutils.normalize_ir_text(str(ir_module)))
        module.name = ir_module.name
        module.verify()
        for function in module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module = module

    def finalize(self) -> None:
        """Called by numba when all code has been added."""
        self._finalize_dynamic_globals()
        self._finalized = True


class KernelCode(codegen.JITCodeLibrary):
    """Code of a kernel; what the functions that it calls call is linked in as well."""

    def finalize(self) -> None:
        """Called by numba when all code has been added."""
        libraries = dict.fromkeys(self._linking_libraries)
        pending = list(libraries)
        while pending:
            called = pending.pop()
            if isinstance(called, LinkedCode):  # others have linked in what they call
                more = [one for one in called._linking_libraries if one not in libraries]
                libraries.update(dict.fromkeys(more))
                pending += more
        self._linking_libraries = list(libraries)
        super().finalize()


class LeanKernelCode(KernelCode):
    """Code of a kernel without reference counts, which is optimized once instead of three times."""

    def _optimize_functions(self, ll_module: Internal) -> None:
        """Called by numba for each function; all functions are optimized together."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Called by numba when all code is linked in; there are no reference counts that a first round could drop."""
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


@contextmanager
def without_lock_events() -> Iterator[None]:
    """Pause numba's events at each call of LLVM, of which there are tens of thousands.

    Nothing in the program listens to them.
    """
    callbacks = binding.ffi.lib._lock._cblist
    paused = callbacks[:]
    del callbacks[:]
    try:
        yield
    finally:
        callbacks[:0] = paused
