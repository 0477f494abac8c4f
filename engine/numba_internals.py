"""Use of numba's internals, for kernels that compile and start faster and for cache files that are never stale.

Only `engine.jit` imports this module, and only for numba versions whose internals are known.

Compiling takes seconds, most of them numba's own work on each function. So a kernel has two forms. The form that
Python calls is wrapped for Python, compiled to machine code and kept in a file. The form that other kernels call is
only linked into its caller and optimized there together with it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numba
from numba.core import cgutils, codegen, compiler, types
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.typing.typeof import typeof_impl

from engine.garbage_collection import no_collection

# Libraries of code for numba: functions that callers link in, and kernels that link each of them in once.
#
# Only the other modules of numba's internals import this module.

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
                more = [linked for linked in called._linking_libraries if linked not in libraries]
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
def pause_lock_events() -> Iterator[None]:
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


_Function = TypeVar("_Function", bound=Callable[..., object])

_DIGEST_BYTES = hashlib.sha256().digest_size


def _kernel_digest() -> str:
    """Digest of every kernel source.

    Numba renews a cached function when its own file changes, but not when a function it calls changes in
    another file. A stale stream or urn would be a privacy fault, so the digest is part of every file's name.
    """
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for source in sorted((package / "jit.py", *package.glob("numba_*.py"), *package.glob("**/kernels/*.py"))):
        digest.update(source.read_bytes())
    return digest.hexdigest()


class KernelFiles:
    """The compiled forms of one kernel, one file for each, named after everything that they were made from.

    This class replaces numba's `IndexDataCacheFile`, which numbers its files and writes a list of them before the
    files. If the disk is full, or a second process reads in between, a new list can be paired with an old file, and
    the old kernel then runs instead of the new one. Also, two processes that compile for different types at the same
    time can both take number 1. Here the name of a file says which sources and types it is for, and the file repeats
    it.

    Parameters
    ----------
    function : callable
        The kernel as written.
    directory : Path
        Holds the files of other kernels, too.

    Raises
    ------
    OSError
        The sources cannot be read.
    """

    def __init__(self, function: Callable[..., object], directory: Path) -> None:
        code = function.__code__
        self._module = Path(code.co_filename)
        self._directory = directory
        self._sources = _sources(self._module, _KERNEL_DIGEST)
        kernel = f"{function.__qualname__}-{code.co_firstlineno}"
        self._name = f"{self._module.stem}.{kernel}.{sys.implementation.cache_tag}"

    def load(self, key: object) -> object:
        """The compiled form for some types; None if no complete file exists."""
        try:
            content = self._file(key).read_bytes()
            if hashlib.sha256(content[_DIGEST_BYTES:]).digest() != content[:_DIGEST_BYTES]:
                return None
            sources, stored_key, data = pickle.loads(content[_DIGEST_BYTES:])
        except Exception:  # no file, or not one of ours: either way there is no compiled form
            return None
        return data if (sources, stored_key) == (self._sources, key) else None

    def save(self, key: object, data: object) -> None:
        """Save a compiled form atomically; delete the module's files for other sources.

        A full disk does not stop a run: a form that cannot be saved is compiled again next time.
        """
        content = dumps((self._sources, key, data))
        file = self._file(key)
        partial = file.with_name(f"{file.name}.tmp.{secrets.token_hex(8)}")
        with suppress(OSError):
            # A module that was edited before it was imported differs from the sources that this process began with.
            if _sources(self._module, _kernel_digest()) != self._sources:
                return
            try:
                partial.write_bytes(hashlib.sha256(content).digest() + content)
                os.replace(partial, file)
            finally:
                partial.unlink(missing_ok=True)
            self._drop(lambda name: f".{self._sources[:16]}." not in name)

    def flush(self) -> None:
        """Delete every compiled form of this kernel."""
        self._drop(lambda name: name.startswith(f"{self._name}."))

    def mark(self, digest: str) -> Path:
        """Path of the mark for the compiled forms of these sources."""
        return self._directory / f"compiled.{self._sources[:16]}.{digest[:16]}.mark"

    def _file(self, key: object) -> Path:
        types = hashlib.sha256(repr(key).encode()).hexdigest()
        return self._directory / f"{self._name}.{self._sources[:16]}.{types[:16]}.nbc"

    def _drop(self, is_unwanted: Callable[[str], bool]) -> None:
        # Also partial files, and those of numba itself.
        for file in self._directory.glob(f"{self._module.stem}.*.nb[ci]*"):
            if is_unwanted(file.name):
                with suppress(OSError):
                    file.unlink()


def _sources(module: Path, kernels: str) -> str:
    """Digest of what a kernel of a module is made from: the module, every kernel, the compiler."""
    own = hashlib.sha256(module.read_bytes()).hexdigest()
    return hashlib.sha256(repr((own, kernels, numba.__version__)).encode()).hexdigest()


class KernelCache(FunctionCache):
    """Numba's cache, without getting numba ready to compile.

    Before it loads a compiled function, numba loads all that a compilation could need, which takes a third of a second.
    A compiled kernel needs numba's memory functions only, and a compilation gets ready by itself.
    """

    def load_overload(self, sig: object, target_context: object) -> object:
        """Called by numba for the compiled form for some types; None if it has not been compiled."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


class _Flags(compiler.Flags):
    """Numba's flags with a faster comparison: numba compares them at every lookup of types, a fifth of its time."""

    def __eq__(self, other: object) -> bool:
        # An option set to its default and one not set count as different here: no more than a type compiled twice.
        if isinstance(other, _Flags):
            return bool(self._values == other._values)
        return bool(super().__eq__(other))

    def __hash__(self) -> int:
        return _HASH_OF_FLAGS


_HASH_OF_FLAGS = hash(compiler.Flags())  # the same for all flags: numba hashes the names of the options


class _PartCompiler(compiler.Compiler):
    """Numba's compiler, stopped at the code that callers link in."""

    def define_pipelines(self) -> object:
        self.state.flags.no_compile = True
        name = self.state.func_id.func_qualname
        self.state.library = LinkedCode(self.state.targetctx.codegen(), name)
        return super().define_pipelines()


class _KernelCompiler(compiler.Compiler):
    """Numba's compiler for what Python calls."""

    def define_pipelines(self) -> object:
        code = KernelCode if self.state.flags.nrt else LeanKernelCode
        self.state.library = code(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class _Part(CPUDispatcher):
    """A function as kernels call it."""

    def __init__(self, function: Callable[..., object], flags: Mapping[str, object]) -> None:
        flags = {**flags, "no_cpython_wrapper": True}
        super().__init__(function, targetoptions=flags, pipeline_class=_PartCompiler)
        _compare_flags_faster(self)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Called by numba for a form that takes arguments of these types."""
        widest = {name: _widen_type(type_) for name, type_ in kws.items()}
        return super().get_call_template(tuple(_widen_type(type_) for type_ in args), widest)

    def add_overload(self, compiled: Any) -> None:
        """Called by numba when a form has been compiled; the entry point is only a name, without machine code."""
        compiled = compiled._replace(entry_point=object())
        context: Any = self.targetctx
        context.insert_user_function(compiled.entry_point, compiled.fndesc, [compiled.library])
        self.overloads[tuple(compiled.signature.args)] = compiled


def _widen_type(type_: types.Type) -> types.Type:
    """Type under which to compile: numba widens literal numbers and every signed integer, so one form serves all."""
    plain: types.Type = types.unliteral(type_)
    return types.int64 if plain in types.signed_domain else plain


class _Kernel(CPUDispatcher):
    """A function as Python calls it; `part` is the same for kernels."""

    def __init__(self, function: Callable[..., object], flags: Mapping[str, object]) -> None:
        super().__init__(function, targetoptions={**flags}, pipeline_class=_KernelCompiler)
        _compare_flags_faster(self)
        self.part = _Part(function, flags)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self.part)

    def compile(self, sig: Any) -> Any:
        """Compile, or load, the form for some types.

        Numba makes millions of small objects; searching them for garbage would take a sixth of the time.
        """
        with no_collection(), pause_lock_events():
            return super().compile(sig)

    def typeof_pyval(self, val: object) -> types.Type:
        """Called by numba for the type of an argument.

        `functools.singledispatch` would search all abstract classes for those that a new class of tuples belongs to.
        """
        if isinstance(val, tuple) and type(val) not in typeof_impl.registry:
            typeof_impl.register(type(val), typeof_impl.dispatch(tuple))
        return super().typeof_pyval(val)


def _compare_flags_faster(dispatcher: Any) -> None:
    dispatcher._compiler._customize_flags = _Flags


def kernels_mark(kernel: Callable[..., object], what: str) -> Path | None:
    """Path of the file that marks `what` as compiled, for these sources, this numba and this processor.

    It lies beside the compiled kernels. None if `kernel` is not kept in files.
    """
    files = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    if not isinstance(kernel, _Kernel) or not isinstance(files, KernelFiles):
        return None
    context: Any = kernel.targetctx
    machine = repr((what, sys.implementation.cache_tag, context.codegen().magic_tuple()))
    return files.mark(hashlib.sha256(machine.encode()).hexdigest())


def compile_kernel(function: _Function, flags: Mapping[str, object]) -> _Function:
    """Compile a function as a kernel, kept in files if possible."""
    kernel: Any = _Kernel(function, {**flags, "nopython": True, "no_cfunc_wrapper": True})
    # No directory can hold a cache (RuntimeError), sources cannot be read (OSError), or this numba keeps its
    # files elsewhere (AttributeError): no cache is better than one that can be stale.
    with suppress(RuntimeError, OSError, AttributeError):
        if _KERNEL_DIGEST:
            cache: Any = KernelCache(function)
            del cache._cache_file
            cache._cache_file = KernelFiles(function, Path(cache.cache_path))
            kernel._cache = cache
    return kernel  # type: ignore[no-any-return]  # it is called like the function


try:
    _KERNEL_DIGEST = _kernel_digest()
except OSError:
    _KERNEL_DIGEST = ""  # sources cannot be read (zipped installation): compile without a cache
