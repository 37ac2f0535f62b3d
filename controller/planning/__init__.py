"""Where rings go: pure and deterministic decisions from availability and wishes to chains of nodes, with reasons.

Reading order: `cabling` and `marks` (which hops there are, and sets of positions), `order` (the fabric as the planner
keeps it), `strip` (where rings fit into a stretch), `zones` (what a job gains when neighbouring rings move together),
`outlook` (the index that finds such zones), `packing` (the whole order, when no neighbourhood suffices), `layout` and
`shaping` (which chains), `spreading` (new jobs), `reasons` (all of it in words), and `planner` (the whole decision for
one job, and why it is exact).
"""
