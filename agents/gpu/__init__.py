"""Backends that report GPUs: implementations of `GpuHealth`, and what their codes mean for a ring."""
