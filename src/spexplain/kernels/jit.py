"""How kernels are compiled: serially, without the interpreter lock, and kept on disk for the next process.

Numba compiles a kernel for every combination of types that it is called with, and the time that this
takes grows with the lines of Python: about 60 ms for a kernel, 15 ms for a loop, 30 ms for a row of a
table taken as an array, 50 ms for the first array of a kind that is made. Copying one array into
another (``a[:] = b``) costs 300 ms, because the message of the error that it could raise is put
together from strings; so do sums of arrays and other expressions. Hence kernels are plain loops over
single entries, written for few combinations of types; Python makes the arrays that they need as room
and calls them one after the other, rather than they each other.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from spexplain.exceptions import warn_caller
from spexplain.lazy import collector_paused
from spexplain.threads import beside

# An import that is broken off leaves Numba in pieces.
beside(collector_paused()(partial(import_module, "numba")))
import numba  # noqa: E402
from numba.core import types  # noqa: E402
from numba.core.caching import FunctionCache, IndexDataCacheFile  # noqa: E402
from numba.core.compiler import CompilerBase, DefaultPassBuilder  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402
from numba.extending import register_jitable  # noqa: E402

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])
_OTHERS_MAY_WRITE = 0o022


@cache
def stamp_of_sources(package: Path = Path(__file__).parents[1]) -> str:
    """Return a text that changes with any of the files whose lines are compiled."""
    folders = [package / "kernels", package / "objectives", package / "engines" / "histogram"]
    paths = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    stamps = [(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in paths]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()


class KernelFiles(IndexDataCacheFile):
    """The files of one kernel: an index, and the code for each combination of types in a file of its own.

    Numba numbers these files. Two processes that compile at once then give the same number to the code for
    different types, and the index may lead to the wrong one ever after; a name made from the types cannot.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep the code for the types of `key`."""
        kept = self._load_index()  # type: ignore[no-untyped-call]
        if key not in kept:
            stem = Path(self._index_name).stem
            kept[key] = f"{stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
            self._save_index(kept)  # type: ignore[no-untyped-call]
        self._save_data(kept[key], data)  # type: ignore[no-untyped-call]


class KernelCache(FunctionCache):
    """Compiled code on disk, which never makes a fit fail.

    Whoever can write to the folder can run code in this process: code is taken only from files that
    belong to the user and that nobody else can write, in a folder of which that is true.
    """

    _has_warned: ClassVar[bool] = False

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        # Numba looks at the file of the kernel alone, though lines of other files are compiled into it.
        stamp = self._impl.locator.get_source_stamp(), stamp_of_sources()
        self._cache_file = KernelFiles(self.cache_path, self._impl.filename_base, stamp)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, None where there is none that can be used."""
        try:
            if not self._is_private():
                return None
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:
            self._say(error)
            try:
                # So that the next process finds an empty one.
                self.flush()  # type: ignore[no-untyped-call]
            except Exception:  # a disk that is full or cannot be written to
                self.disable()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code for the next process, if that is possible."""
        try:
            self._impl.locator.ensure_cache_path()
            if not self._is_private():
                return
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            for path in self._files():
                os.chmod(path, path.stat().st_mode & ~_OTHERS_MAY_WRITE)
        except Exception as error:
            self._say(error)
            self.disable()  # type: ignore[no-untyped-call]

    def _files(self) -> list[Path]:
        stem = Path(self._cache_file._index_path).stem
        return list(Path(self.cache_path).glob(f"{stem}.*"))

    def _is_private(self) -> bool:
        """Whether only this user can have written the files; those that others could write are removed."""
        if not hasattr(os, "getuid"):  # Windows: folders of users are theirs
            return True
        folder = Path(self.cache_path)
        if not folder.exists():
            return True
        is_private = _is_own(folder)
        if not is_private and folder.stat().st_uid == os.getuid():
            os.chmod(folder, folder.stat().st_mode & ~_OTHERS_MAY_WRITE)
            is_private = _is_own(folder)
        if is_private:
            for path in self._files():
                if not _is_own(path):
                    path.unlink()
        return is_private

    def _say(self, error: Exception) -> None:
        if not KernelCache._has_warned:
            KernelCache._has_warned = True
            warn_caller(
                f"Compiled code in {self.cache_path} cannot be used ({type(error).__name__}: {error}); it is "
                "compiled anew.",
                UserWarning,
            )


def _is_own(path: Path) -> bool:
    found = path.lstat()
    return found.st_uid == os.getuid() and not found.st_mode & _OTHERS_MAY_WRITE


# What Numba does for closures, generators, ``with``, loops over tuples of literals, expressions of whole arrays,
# and for those who ask for the types of a function: kernels have none of these, and each looks at all lines.
_PASSES_FOR_OTHERS = {
    "AnnotateTypes",
    "DumpParforDiagnostics",
    "FindLiterallyCalls",
    "InlineClosureLikes",
    "InlineOverloads",
    "LiteralPropagationSubPipelinePass",
    "LiteralUnroll",
    "MakeFunctionToJitFunction",
    "NopythonRewrites",
    "RewriteDynamicRaises",
    "WithLifting",
}


class KernelCompiler(CompilerBase):
    """Numba's compiler without the passes that no kernel needs."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes, in order."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
        pipeline.passes = [
            each for each in pipeline.passes if each[0].__name__ not in _PASSES_FOR_OTHERS
        ]
        pipeline.finalize()
        return [pipeline]


@contextmanager
def types_found_once() -> Iterator[None]:
    """Remember the types that calls of Numba's own functions have while a kernel is compiled.

    Numba looks for them in every round of its inference and again when it writes code. For every ``a[i]`` it then
    asks fourteen other containers first whether that is theirs.
    """
    with global_compiler_lock:  # nobody else compiles meanwhile
        functions: Any = types.BaseFunction
        find = functions.get_call_type
        found: dict[Any, Any] = {}

        def find_once(function: Any, context: Any, args: Any, kws: Any) -> Any:
            asked = function, context, tuple(args), tuple(dict(kws).items())
            if asked not in found:
                found[asked] = find(function, context, args, kws)
            return found[asked]

        functions.get_call_type = find_once
        try:
            yield
        finally:
            functions.get_call_type = find


def jit(function: _Kernel, *, fastmath: bool | set[str] = False) -> _Kernel:
    """Compile a kernel when it is first called; type checkers still see the plain function."""
    compile_with = partial(
        numba.njit,
        nogil=True,
        error_model="numpy",
        fastmath=fastmath,
        no_cfunc_wrapper=True,
        pipeline_class=KernelCompiler,
    )
    compiled: Any = compile_with()(function)
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # kernels run as plain Python, for example to measure coverage
        return function
    compile_for = compiled.compile

    def compile_whole(sig: Any) -> Any:
        # What is half compiled cannot be compiled again.
        return beside(collector_paused()(types_found_once()(partial(compile_for, sig))))

    compiled.compile = compile_whole
    # Where no folder to keep compiled code in can be written to, every process compiles anew.
    with suppress(RuntimeError):
        compiled._cache = KernelCache(function)
    return cast(_Kernel, compiled)


def jit_inline(function: _Kernel) -> _Kernel:
    """Put the lines of a small part into every kernel that calls it; a large one is better a kernel of its own."""
    compiled = numba.njit(nogil=True, error_model="numpy", inline="always")(function)
    return cast(_Kernel, compiled)


def jit_called(function: _Kernel) -> _Kernel:
    """Let kernels call a function, which stays as it is: without wrappers for Python and C, which take longer."""
    register_jitable(no_cfunc_wrapper=True, no_cpython_wrapper=True, pipeline_class=KernelCompiler)(
        function
    )
    return function


def jit_any_order(function: _Kernel) -> _Kernel:
    """Compile a kernel whose floats are whole numbers below 2**53, so that any order of adding them is exact."""
    return jit(function, fastmath={"reassoc", "nsz", "nnan"})
