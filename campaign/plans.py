"""What is mutated, and the tests that should notice: quick ones first, for the first failure ends a run."""

_SLOW = (
    "dask", "threads", "random", "contract", "compiler", "large", "order_of", "names_of", "scale_of",
    "monotone", "number_type", "truncated", "bounded", "on_average",
)  # fmt: skip
# Changed kernels run as plain Python, so tests of the compiler have nothing to compile.
_QUICK = " and ".join(f"not {each}" for each in (*_SLOW, "test_jit", "test_readiness"))
_NUMPY_TESTS = (
    "tests/estimators/test_centers.py", "tests/estimators/test_pairs.py", "tests/test_definitions.py",
    "tests/test_properties.py",
)  # fmt: skip
PLANS: dict[str, tuple[tuple[str, ...], str]] = {
    "src/spexplain/objectives/bounds.py": (
        (
            "tests/objectives/test_objectives.py",
            "tests/engines/test_scoring.py",
            "tests/engines/histogram",
        ),
        _QUICK,
    ),
    "src/spexplain/objectives/": (
        ("tests/objectives/test_objectives.py", "tests/test_grow.py", *_NUMPY_TESTS),
        _QUICK,
    ),
    "src/spexplain/grow.py": (
        ("tests/test_grow.py", "tests/facts/test_path.py", *_NUMPY_TESTS),
        f"{_QUICK} and not histogram",
    ),
    "src/spexplain/kernels/agreement.py": (
        ("tests/kernels", "tests/refine/test_refine.py", "tests/refine/test_exchanges.py"),
        f"{_QUICK} and not python and not repetition",
    ),
    "src/spexplain/kernels/intervals.py": (
        (
            "tests/kernels",
            "tests/estimators/test_kernel_imm.py",
            "tests/estimators/test_kernel_expansions.py",
        ),
        f"{_QUICK} and not python",
    ),
    "src/spexplain/kernels/groups.py": (("tests/table/test_table.py",), _QUICK),
    "src/spexplain/kernels/mistakes.py": (("tests/engines/test_mistakes.py",), _QUICK),
    "src/spexplain/kernels/nearest.py": (("tests/graphs/test_neighbors.py",), _QUICK),
    "src/spexplain/engines/histogram/scores.py": (
        ("tests/engines/test_scoring.py",),
        "python",  # its bodies, uncompiled
    ),
    "src/spexplain/kernels/": (
        (
            "tests/kernels",
            "tests/refine/test_kernel_moves.py",
            *_NUMPY_TESTS,
            "tests/refine/test_refine.py",
            "tests/refine/test_exchanges.py",
        ),
        f"{_QUICK} and not python and not numpy and not repetition",
    ),
}


def plan_of(path: str) -> tuple[tuple[str, ...], str]:
    """Return the tests for a file, and which of them."""
    return next(plan for start, plan in PLANS.items() if path.startswith(start))
