"""Tests: folders mirror the packages; `properties`, `simulation` and `e2e` (real processes) go across them."""
