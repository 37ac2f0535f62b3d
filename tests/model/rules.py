"""The rules the model plays by: those that hold, and each mistake that the explorer must catch."""

from typing import NamedTuple


class Rules(NamedTuple):
    """The defaults are the rules; each field that differs is one mistake, on purpose.

    `outranks` says who raises its epoch over a higher one that an agent has obeyed: the `owner` of the store that has
    not commanded yet, whoever is `uncommanded`, or `all`. Others are deposed by it.
    """

    fences: bool = True  # an agent refuses lower epochs and generations
    keeps_epoch: bool = True  # an epoch is on disk before it is obeyed
    stays_put: bool = True  # an agent that starts changes no circuit
    forgets_commands: bool = True  # an agent forgets with its session what it was told and has not begun
    silent_start: bool = True  # a start commands nothing
    new_epoch_at_start: bool = True  # a start is a new term
    reserves_generations: bool = True  # a start numbers its commands above all that its store ever allowed
    follows_generations: bool = True  # and above all that agents have applied
    answers_by_generation: bool = True  # an answer counts for the command it answers, and for no later one
    answers_by_epoch: bool = True  # nor for one of another controller that happens to have its number
    counts_in_flight: bool = True  # a node is in place when it answered for the last command, not when it looks so
    damaged_is_not_active: bool = True  # a damaged ring that cannot be planned yet is called ACTIVE no more
    outranks: str = "owner"
    outranks_equals: bool = True  # an epoch equal to ours that we never told an agent is somebody else's


RULES = Rules()
