"""What the exit codes of `ringlight` mean: the only mapping of errors to them.

Scripts depend on these numbers. Mistakes in the command's usage exit with 1, not with the 2 that is common for them,
because 2 tells a script that the fabric is degraded.
"""

from enum import IntEnum

from ringlight.fabric.errors import ErrorCode, RinglightError


class ExitCode(IntEnum):
    """Exit codes of every command."""

    FINE = 0  # done, and nothing to report
    ERROR = 1  # not done: wrong usage, wrong input, no answer, our own fault
    DEGRADED = 2  # done, and the answer is "degraded" or "there are differences"
    REFUSED = 3  # not done: a safety gate is shut
    INTERRUPTED = 130  # Ctrl-C


def exit_code_of(error: RinglightError) -> ExitCode:
    """The exit code an error stands for."""
    return ExitCode.REFUSED if error.code is ErrorCode.REFUSED else ExitCode.ERROR
