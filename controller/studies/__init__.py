"""Studies of planning: questions answered by planning many random fabrics, without any controller running."""
