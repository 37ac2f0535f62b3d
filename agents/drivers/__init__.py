"""Backends that switch and read bundles: implementations of `CircuitDriver`."""
