"""The `ringlight` command: asks the daemons and shows what they answer; runs the daemons in the foreground.

Thin by rule: every decision is the controller's or the emulator's. What is here reads options, makes one request
and renders the reply. `main` is the entry point, `exit_codes` the one mapping of errors to exit codes, `client` the
connections, `output` the three output forms, and each command has a module of its own, loaded only when it is used.
"""
