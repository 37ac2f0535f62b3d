"""The live page on the HTTP port: the fabric drawn, why it is as it is, and what would be if. Read-only."""
