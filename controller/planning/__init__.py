"""Where rings go: pure and deterministic functions from availability and wishes to chains of nodes, with reasons.

Reading order: `terrain` (what may be used), `reach` (the shortest chain from a node), `packing` (how many rings fit,
and which surviving ones can stay), `shaping` (the cheapest or best spread chains inside a free stretch), `planner`
(the whole decision for one job).
"""
