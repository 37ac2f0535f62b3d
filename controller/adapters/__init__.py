"""What connects the controller to the world: gRPC to agents and operators, SQLite, Prometheus and HTTP, the clock."""
