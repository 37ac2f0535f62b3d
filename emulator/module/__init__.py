"""An emulated optical transceiver with a circuit switch inside, down to its registers.

Written from the public register tables alone; it shares no code with any driver. `module.Module` is the whole; the
other files are its parts.
"""
