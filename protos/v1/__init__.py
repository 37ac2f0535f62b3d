"""Version 1 of the protocol: .proto files and the Python that `make protos` generates from them."""
