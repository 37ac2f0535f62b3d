"""Drives transceivers with a circuit switch inside over their management interface, CMIS. See docs/ocstrx.md."""
