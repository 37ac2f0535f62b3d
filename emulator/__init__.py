"""A fabric in software: modules, fibre plant, GPUs and node power, behind the socket real agents drive.

`plant` and `faults` are the pure model: what every part does, what is broken, and where light therefore is.
`hardware` lets agents drive it over a Unix socket, `agents` hosts real agents in this process (they dial the
controller like any other), `control` is the gRPC service that breaks, repairs and traces, and `daemon` wires it all.

Agents never import this package: they know the emulated hardware only through its socket.
"""
