"""An emulated optical matrix switch of the Polatis kind, at wire level: SCPI over TCP, for any client.

`matrix` is the optics, `syntax` reads what clients send, `commands` is the tree of commands, `instrument` carries them
out, `server` is the socket. All but the last are pure, under virtual time. Written from the command table of the real
switch, and from nothing of the driver.
"""
