"""Kernels for NVIDIA GPUs, and what starts them."""
