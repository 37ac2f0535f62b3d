"""What can be wrong with one module, as the driver finds it. One module's trouble is never that of a whole node."""

from enum import StrEnum

from ringlight.fabric.errors import UnavailableError


class Trouble(StrEnum):
    """Codes: they are those of the faults that the controller hears of."""

    DEAD = "module-dead"  # nobody answers, or only nonsense
    FOREIGN = "module-foreign"  # it is no module that this driver may write to
    DOWN = "module-down"  # it does not come up
    PAGE = "module-page"  # it does not select the page that it is told to
    SWITCH_FAILED = "switch-failed"  # the switch did not move, or did not say so in time
    SWITCH_REFUSED = "switch-refused"  # the module refused the path
    SWITCH_STUCK = "switch-stuck"  # the module says that its switch does not move
    HOT = "module-hot"  # its temperature is above its own alarm limit
    DARK_LANES = "lanes-dark"  # some lanes of a path see light, others do not


class ModuleTroubleError(Exception):
    """Something about one module; caught by the driver, and told as a fault.

    Attributes:
        code: what it is.
    """

    def __init__(self, code: Trouble, text: str) -> None:
        super().__init__(text)
        self.code = code


class NotAcknowledgedError(Exception):
    """Nobody answered at a module's address, or a byte was refused. May be over in a moment."""


def in_use(what: str) -> UnavailableError:
    """There is a way to a module, and somebody else is on it: a module has one page select for everybody."""
    return UnavailableError(
        f"{what} is in use by another process", hint="two hosts would use each other's page: stop the agent first"
    )
