"""What is needed to run Ringlight at a site. Nothing of the product imports this."""
