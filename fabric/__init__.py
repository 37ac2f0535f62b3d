"""The pure model all of Ringlight shares: fabric files, wiring, circuits, rings and the trace of light.

No I/O but reading a fabric file's text, no clock, no event loop. Everything else imports this package; it imports
none of the others.
"""
