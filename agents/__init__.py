"""The agent: serves one or several nodes, drives their bundles as the controller says, and reports what it sees.

Reading order: `ports` (what it needs of hardware), `fencing` (whom it obeys), `obedience` (one command, decided step
by step), `executor` (those steps on hardware), `node` (one served node), `session` (the stream to the controller),
`agent` (all of it, kept running).

An agent is fail-static: by itself it changes nothing, but for a planned change that nobody confirmed.
"""
