"""The boards. Each module describes one; `panels` knows how they look."""
