"""Benchmarks: speed beside scikit-learn and NumPy, and fidelity of all methods."""
