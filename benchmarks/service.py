"""How many requests examples/service.py answers: the real server, asked by a real client.

    python benchmarks/service.py [--quick]

The server runs in a process of its own, with one worker; the client keeps some requests under way. Every
answer is compared with `predict`.
"""

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from data import mixture
from machine import describe, save, table
from spexplain import CART

SERVICE = Path(__file__).parents[1] / "examples" / "service.py"
N_COLUMNS, N_LEAVES = 20, 12


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError("the server ended")
        try:
            httpx.get(url).raise_for_status()
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the server did not start")


async def load(
    url: str, bodies: list[bytes], wanted: list[list[int]], n_at_once: int
) -> dict[str, Any]:
    """Send all requests, some of them at once, and return how long they took."""
    places, times = iter(range(len(bodies))), []
    headers = {"content-type": "application/json"}
    async with httpx.AsyncClient(timeout=60) as client:

        async def work() -> None:
            for at in places:
                start = time.perf_counter()
                reply = await client.post(url, content=bodies[at], headers=headers)
                times.append(time.perf_counter() - start)
                assert reply.json()["leaves"] == wanted[at], reply.text

        start = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(n_at_once)))
        seconds = time.perf_counter() - start
    milliseconds = 1000 * np.array(times)
    return {
        "requests_per_second": len(bodies) / seconds,
        "milliseconds": {q: float(np.percentile(milliseconds, q)) for q in (50, 95, 99)},
    }


def measure(n_requests: dict[int, int], runs: int) -> list[dict[str, Any]]:
    case = mixture(20_000, N_COLUMNS)
    X = np.round(case.X.astype(np.float64), 4)
    model = CART(n_leaves=N_LEAVES, feature_names=[f"c{j}" for j in range(N_COLUMNS)])
    model.fit(X, case.labels)
    names = model.explanation_.names
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(model.to_json())
        port = free_port()
        server = subprocess.Popen([sys.executable, str(SERVICE), str(path), "--port", str(port)])
        url = f"http://127.0.0.1:{port}"
        try:
            wait_for(f"{url}/rules", server)
            for n_rows, n in n_requests.items():
                parts = [np.arange(at * n_rows, (at + 1) * n_rows) % len(X) for at in range(n)]
                bodies = [
                    json.dumps(
                        {"rows": [dict(zip(names, row, strict=True)) for row in X[part].tolist()]}
                    ).encode()
                    for part in parts
                ]
                wanted = [model.labels_[part].tolist() for part in parts]
                asyncio.run(load(f"{url}/predict", bodies[:20], wanted[:20], 1))  # warm
                for n_at_once in (1, 16):
                    found = [
                        asyncio.run(load(f"{url}/predict", bodies, wanted, n_at_once))
                        for _ in range(runs)
                    ]
                    best = max(found, key=lambda each: each["requests_per_second"])
                    results.append({"rows": n_rows, "at_once": n_at_once, "requests": n, **best})
        finally:
            server.terminate()
            server.wait()
    return results


def markdown(results: dict[str, Any]) -> str:
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    rows = [
        [
            f"{each['rows']:,}", str(each["at_once"]), f"{each['requests']:,}",
            f"{each['requests_per_second']:,.0f}", f"{each['requests_per_second'] * each['rows']:,.0f}",
            *(f"{each['milliseconds'][q]:.1f}" for q in (50, 95, 99)),
        ]
        for each in results["loads"]
    ]  # fmt: skip
    header = [
        "rows a request",
        "at once",
        "requests",
        "requests/s",
        "rows/s",
        "median ms",
        "95 % ms",
        "99 % ms",
    ]
    return "\n".join(
        [
            "# A model as a web service",
            "",
            f"Made by `python benchmarks/service.py`. {machine}.",
            "",
            f"`examples/service.py` (FastAPI, uvicorn, one worker) with a tree of {N_LEAVES} leaves over {N_COLUMNS} "
            "columns, asked by httpx from another process of the same machine; the best of several runs. "
            "Every answer was compared with `predict`.",
            "",
            table(header, rows),
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few requests, nothing is saved")
    quick = parser.parse_args().quick
    loads = measure({1: 40, 100: 10} if quick else {1: 500, 100: 100, 1000: 20}, 1 if quick else 3)
    results = {"machine": describe(), "loads": loads}
    print(markdown(results))
    if not quick:
        save("service", results, markdown(results))


if __name__ == "__main__":
    main()
