"""Compiled code: what is kept on disk never makes a fit fail, and nobody else can put code there."""

import gc
import os
import signal
import threading
import time
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.extending import overload

from spexplain.kernels import jit as jit_module
from spexplain.kernels.jit import KernelCache, KernelFiles, jit, stamp_of_sources
from spexplain.threads import works_beside
from trust.programs import run, succeed

SOURCE = """
from spexplain.kernels.jit import jit

@jit
def doubled(x):
    return 2 * x
"""

CALL = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import kernel
    assert kernel.doubled(21) == 42 and kernel.doubled(1.5) == 3.0
stats = kernel.doubled.stats
print(sum(stats.cache_hits.values()), *[str(each.message) for each in caught], sep="|")
"""


@pytest.fixture
def kernel(tmp_path):
    """Call a kernel in a process of its own; returns the compiled versions found on disk, and warnings."""
    (tmp_path / "kernel.py").write_text(SOURCE)

    def call() -> tuple[int, list[str]]:
        told = succeed(CALL, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        hits, *said = told.strip().split("|")
        return int(hits), said

    call.files = lambda ending: list((tmp_path / "cache").rglob(f"*.{ending}"))
    return call


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "content"), [("nbi", b""), ("nbc", b"garbage"), ("nbi", None)])
def test_a_damaged_cache_has_warned_once_and_healed(kernel, ending, content):
    assert kernel() == (0, [])
    assert kernel() == (2, [])
    for path in kernel.files(ending):
        path.write_bytes(path.read_bytes()[:-20] if content is None else content)
    hits, said = kernel()
    assert hits == 0
    assert len(said) == 1
    assert said[0].startswith("Compiled code in ")
    assert said[0].endswith("it is compiled anew.")
    assert kernel() == (2, [])


def test_processes_that_compile_at_once_do_not_mix_up_their_types(tmp_path, monkeypatch):
    """Each has read an empty index before the other writes; Numba would give both files the same number."""
    ints, floats = (numba.int64,), (numba.float64,)
    folder = tmp_path / "files"
    folder.mkdir()
    first, second = (KernelFiles(str(folder), "doubled", "stamp") for _ in range(2))
    empty = first._load_index()
    for one, types in ((first, ints), (second, floats)):
        with monkeypatch.context() as patched:
            patched.setattr(one, "_load_index", lambda: dict(empty))
            patched.setattr(one, "_save_data", lambda name, data: None)  # not written yet
            one.save(types, "")
    index = second._load_index()
    for one, types, code in ((second, floats, "code of floats"), (first, ints, "code of ints")):
        with monkeypatch.context() as patched:
            patched.setattr(one, "_load_index", lambda: dict(empty))
            patched.setattr(one, "_save_index", lambda kept: None)
            one.save(types, code)
    third = KernelFiles(str(folder), "doubled", "stamp")
    assert set(index) == {floats}
    assert third.load(floats) == "code of floats"
    assert third.load(ints) is None


def test_a_change_of_any_source_is_seen(tmp_path):
    """Lines of one file are compiled into the kernels of another."""
    (tmp_path / "kernels").mkdir()
    one, other = (tmp_path / "kernels" / name for name in ("one.py", "other.py"))
    one.write_text("x = 1")
    other.write_text("y = 1")
    os.utime(one, (2_000_000_000, 2_000_000_000))

    def stamp():
        return stamp_of_sources.__wrapped__(tmp_path)

    before = stamp()
    assert stamp() == before
    os.utime(other, (1_000_000_000, 1_000_000_000))
    touched = stamp()
    other.write_text("y = 12")
    os.utime(other, (1_000_000_000, 1_000_000_000))
    assert len({before, touched, stamp()}) == 3
    assert stamp_of_sources() in KernelCache(jit_module.jit_inline)._cache_file._source_stamp


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_planted_files_are_not_run(kernel, tmp_path):
    assert kernel() == (0, [])
    (index,) = kernel.files("nbi")
    assert not index.stat().st_mode & 0o022
    assert not index.parent.stat().st_mode & 0o022
    marker = tmp_path / "pwned"
    index.write_bytes(b"cos\nsystem\n(S'touch " + os.fsencode(marker) + b"'\ntR.")
    index.chmod(0o666)  # anybody could have written it
    assert kernel() == (0, [])
    assert not marker.exists()
    assert kernel() == (2, [])
    index.parent.chmod(0o777)  # mended, for it is ours
    assert kernel() == (2, [])
    assert not index.parent.stat().st_mode & 0o022


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners of files")
def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    cache = KernelCache(jit_module.jit_inline)
    Path(cache.cache_path).mkdir(parents=True, exist_ok=True)
    assert cache._is_private()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not cache._is_private()
    assert cache.load_overload(None, None) is None


def test_a_full_disk_has_warned_once(tmp_path, monkeypatch):
    monkeypatch.setattr(KernelCache, "_has_warned", False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def full(*given):
        raise OSError(28, "No space left on device")

    from numba.core import caching

    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_index", full)

    def tripled(x):
        return 3 * x

    def halved(x):
        return x / 2

    first, second = jit(tripled), jit(halved)
    with pytest.warns(UserWarning, match="No space left on device.; it is compiled anew"):
        assert first(14) == 42
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (first(0.5), second(3.0)) == (1.5, 1.5)


def interrupting(x):
    """Stands for a part of a kernel during whose compilation the user presses Ctrl-C."""


def test_an_interrupt_does_not_break_off_the_compiler(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))  # an empty one
    compiled = numba.njit(lambda x: x)  # the compiler is loaded
    assert compiled(1) == 1
    goes_on, threads = threading.Event(), threading.active_count()

    @overload(interrupting)
    def compiled_interrupting(x):
        os.kill(os.getpid(), signal.SIGINT)
        assert goes_on.wait(60)
        return lambda x: x + 1

    def kernel(x):
        return interrupting(x)

    whole = jit(kernel)
    with pytest.raises(KeyboardInterrupt):
        whole(np.int64(1))
    assert whole.signatures == []  # nobody waited for it,
    assert works_beside()
    goes_on.set()
    assert whole(np.int64(1)) == 2  # but it was not broken off
    end = time.monotonic() + 60
    while threading.active_count() > threads:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert len(whole.signatures) == 1
    assert not works_beside()


IMPORT = """
import os, signal, sys
import numpy as np

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.typing.templates":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
        return None

sys.meta_path.insert(0, Interrupting())
import spexplain
X = np.random.default_rng(0).normal(size=(400, 3))
y = (X[:, 0] > 0).astype(int)
try:
    spexplain.SpexClique(engine="histogram").fit(X, y)
except KeyboardInterrupt:
    print("interrupted")
print(spexplain.SpexClique(engine="histogram").fit(X, y).n_leaves_)
"""


@pytest.mark.slow
def test_an_interrupt_does_not_break_off_the_import_of_the_compiler():
    done = run(IMPORT)
    assert done.stdout.split() == ["interrupted", "2"], done.stderr


@pytest.mark.parametrize("is_enabled", [True, False])
def test_garbage_is_not_collected_while_a_kernel_is_compiled(monkeypatch, tmp_path, is_enabled):
    """And afterwards as before, also if the kernel cannot be compiled."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    seen = []

    def seen_while_compiling():
        pass

    @overload(seen_while_compiling)
    def _look():
        seen.append(gc.isenabled())
        return lambda: 1

    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        assert jit(lambda: seen_while_compiling() + 1)() == 2
        assert gc.isenabled() == is_enabled
        with pytest.raises(numba.TypingError):
            jit(lambda x: x.nothing)(1)
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert seen
    assert not any(seen)


def test_numba_has_the_passes_that_kernels_do_without():
    """A pass of another name would run again, unnoticed but for the time it takes."""
    state = numba.core.compiler.StateDict()
    state.flags, state.func_ir = numba.core.compiler.Flags(), None
    passes = numba.core.compiler.DefaultPassBuilder.define_nopython_pipeline(state).passes
    assert {each.__name__ for each, _ in passes} >= jit_module._PASSES_FOR_OTHERS


def test_types_are_looked_for_once_while_a_kernel_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    find = numba.types.BaseFunction.get_call_type
    asked = []

    def counted(function, context, args, kws):
        asked.append((function, tuple(args), tuple(dict(kws).items())))
        return find(function, context, args, kws)

    monkeypatch.setattr(numba.types.BaseFunction, "get_call_type", counted)

    @jit
    def lagged(values, total):
        for i in range(1, len(values)):
            values[i] += values[i - 1] * total
        return values[0] + values[-1]

    assert lagged(np.array([1.0, 2.0, 3.0]), 2.0) == 1.0 + (3.0 + 4.0 * 2.0)
    assert asked
    assert len(asked) == len(set(asked))
    assert numba.types.BaseFunction.get_call_type is counted


def test_threads_that_compile_at_once_leave_the_compiler_as_it_was(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    find = numba.types.BaseFunction.get_call_type

    @jit
    def doubled(x):
        return x + x

    @jit
    def squared(x):
        return x * x

    kernels = [doubled, squared] * 2
    given = [3, 3, 1.5, 1.5]
    results = [None] * 4

    def call(place):
        results[place] = kernels[place](given[place])

    threads = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [6, 9, 3.0, 2.25]
    assert numba.types.BaseFunction.get_call_type is find
