"""Kernels for NVIDIA GPUs in CUDA C++; import what starts them from `spexplain.kernels.cuda.kernels`."""
