"""What the controller believes about a node, and from which evidence: pure functions, no clock of their own.

The agent's reachability and the node's health are two axes. Silence says something about the agent; only a report,
darkness at the neighbours or a second witness says something about the node.
"""
