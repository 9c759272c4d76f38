"""Many fits at once: in threads, in forked and spawned processes, in joblib's and Dask's workers."""

import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import pytest

from trust.jobs import METHODS, fit_bits
from trust.programs import TIMEOUT, succeed

SOME = ["clique, refined", "knn", "imm", "exkmc", "best"]

FORK = """
import os, sys, time, warnings
warnings.simplefilter("ignore")  # newer Pythons warn of any fork beside threads
from trust.jobs import fit_bits, openmp_bits

def work():
    return [openmp_bits(), *(fit_bits(method, n_jobs=2) for method in sys.argv[1:])]

expected = work()
children = []
for number in range(2):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() == expected else 3
        finally:
            os._exit(status)
    children.append(child)
end = time.monotonic() + 80
while children:
    child, status = os.waitpid(children[0], os.WNOHANG)
    if child:
        children.pop(0)
        assert status == 0, f"a child ended with {status}"
    elif time.monotonic() > end:
        for child in children:
            os.kill(child, 9)
        raise SystemExit("a forked child hangs")
    else:
        time.sleep(0.02)
# The parent still works after its children have ended.
assert fit_bits(sys.argv[1], n_jobs=2) == expected[1]
print("same bits")
"""

RUN_FILE = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

SPAWN = """
import multiprocessing, sys
from trust.jobs import fit_bits

if __name__ == "__main__":
    methods = sys.argv[1:]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map_async(fit_bits, methods).get(timeout=80)
    assert found == [fit_bits(method, n_jobs=2) for method in methods]
    print("same bits")
"""

DASK = """
import sys
from distributed import Client, LocalCluster
from trust.jobs import fit_bits

if __name__ == "__main__":
    methods = sys.argv[1:]
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True}
    with LocalCluster(dashboard_address=None, **options) as cluster, Client(cluster) as client:
        jobs = [client.submit(fit_bits, method, n_jobs=-1) for method in methods]
        found = [job.result(timeout=80) for job in jobs]
    assert found == [fit_bits(method) for method in methods]
    print("same bits")
"""


@pytest.fixture(scope="module")
def expected():
    return {method: fit_bits(method) for method in METHODS}


def test_different_fits_at_once(expected):
    methods = list(METHODS)
    start = threading.Barrier(8)
    found: dict[str, str] = {}

    def work(number: int) -> None:
        start.wait(TIMEOUT)
        for method in methods[number::8]:
            found[method] = fit_bits(method, n_jobs=2)

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(work, number) for number in range(8)]:
            each.result(timeout=TIMEOUT)
    assert found == expected


@pytest.mark.parametrize("method", SOME)
def test_the_same_fit_eight_times_at_once(expected, method):
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(fit_bits, method, n_jobs=2) for _ in range(8)]
        assert {each.result(timeout=TIMEOUT) for each in jobs} == {expected[method]}


def test_no_thread_outlives_its_fit():
    before = set(threading.enumerate())
    for method in SOME:
        fit_bits(method, n_jobs=4)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) <= before


@pytest.mark.slow
def test_forked_processes():
    """OpenMP is switched on: its threads are what does not survive a fork."""
    assert "same bits" in succeed(FORK, *SOME[:4], OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")


@pytest.mark.slow
def test_spawned_processes(tmp_path):
    program = tmp_path / "spawning.py"  # children load it again, so it must be a file
    program.write_text(SPAWN)
    told = succeed(RUN_FILE, program, *SOME[:3])
    assert "same bits" in told


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_inside_joblib_workers(expected, backend):
    pool = joblib.Parallel(n_jobs=2, backend=backend, timeout=TIMEOUT)
    found = pool(joblib.delayed(fit_bits)(method, n_jobs=-1) for method in SOME)
    assert found == [expected[method] for method in SOME]


def nested(method: str) -> list[str]:
    """Return fits of a pool inside a pool."""
    pool = joblib.Parallel(n_jobs=2, timeout=TIMEOUT)
    return pool(joblib.delayed(fit_bits)(method, n_jobs=2) for _ in range(2))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_pools_inside_pools(expected, backend):
    pool = joblib.Parallel(n_jobs=2, backend=backend, timeout=TIMEOUT)
    found = pool(joblib.delayed(nested)(method) for method in SOME[:3])
    assert found == [[expected[method]] * 2 for method in SOME[:3]]


@pytest.mark.slow
def test_inside_dask_workers(tmp_path):
    pytest.importorskip("distributed")
    program = tmp_path / "clustered.py"
    program.write_text(DASK)
    told = succeed(RUN_FILE, program, *SOME[:4])
    assert "same bits" in told
