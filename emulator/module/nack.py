"""The one way in which a bus says no."""


class Nack(Exception):  # noqa: N818 - it is the bus's own word, and no error of the program
    """Nobody acknowledged.

    Attributes:
        of_address: whether nobody answered at all; otherwise a byte that was written was refused.
    """

    def __init__(self, *, of_address: bool) -> None:
        super().__init__("not acknowledged")
        self.of_address = of_address
