"""``python -m ringlight.cli``: the same as the command ``ringlight``."""

from ringlight.cli.main import main

main()
