"""Ringlight: heals GPU rings with light.

The packages of the project live at the top of the repository (``fabric/``, ``controller/``, ...); the links in
this folder give them one import name, ``ringlight.*``, so that an installed Ringlight adds a single package to
its environment. See ``docs/decisions/0001-one-import-name.md``.
"""

__version__ = "0.1.0"
