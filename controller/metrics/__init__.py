"""What the controller counts and shows of itself and of the fabric: `families` is the list, and the rest follows it."""
