"""Entry point of `ringlight`: the list of commands, and how errors end the process.

A `RinglightError` becomes `error: ...` and `hint: ...` on standard error and an exit code (`exit_codes`). Anything
else is a bug and shows its traceback.
"""

import sys
from collections.abc import Iterator, Sequence

import click

from ringlight import __version__
from ringlight.cli.exit_codes import ExitCode, exit_code_of
from ringlight.cli.lazy import LazyCommand, LazyGroup
from ringlight.fabric.errors import RinglightError

COMMANDS = {
    "status": LazyCommand("ringlight.cli.status:status", "The fabric at a glance."),
    "nodes": LazyCommand("ringlight.cli.nodes:nodes", "List the nodes in fabric order."),
    "rings": LazyCommand("ringlight.cli.rings:rings", "List the rings with their chains."),
    "jobs": LazyCommand("ringlight.cli.jobs:jobs", "Submit, list, show, resize and release jobs."),
    "cordon": LazyCommand("ringlight.cli.cordon:cordon", "Keep nodes out of every ring that does not have them."),
    "uncordon": LazyCommand("ringlight.cli.cordon:uncordon", "Give nodes back that were cordoned or drained."),
    "drain": LazyCommand("ringlight.cli.drain:drain", "Take nodes out of their rings, and cordon them."),
    "maintenance": LazyCommand("ringlight.cli.maintenance:maintenance", "Take nodes out of their rings for a time."),
    "quarantine": LazyCommand(
        "ringlight.cli.quarantine:quarantine",
        "Nodes that no ring may have until a person releases them.",
    ),
    "hops": LazyCommand("ringlight.cli.hops:hops", "Fibres that were found dark."),
    "declare-dead": LazyCommand(
        "ringlight.cli.witness:declare_dead",
        "Say that silent nodes are dead, so that they are bypassed.",
    ),
    "pause": LazyCommand("ringlight.cli.gates:pause", "Let the controller observe, and change nothing."),
    "resume": LazyCommand("ringlight.cli.gates:resume", "End a pause: the present state is healed afresh."),
    "breaker": LazyCommand(
        "ringlight.cli.gates:breaker",
        "Look at the breaker, and reset it after it tripped.",
    ),
    "events": LazyCommand("ringlight.cli.events:events", "What happened, oldest first."),
    "explain": LazyCommand("ringlight.cli.explain:explain", "Why a node, ring or job is as it is."),
    "plan": LazyCommand("ringlight.cli.plan:plan", "What the controller would do, now or if something failed."),
    "metrics": LazyCommand("ringlight.cli.metrics:metrics", "List every metric family, with its labels and meaning."),
    "config": LazyCommand("ringlight.cli.config:config", "Check and show configuration files and settings."),
    "fabric": LazyCommand("ringlight.cli.fabric:fabric", "Check, show and generate fabric files; audit the cabling."),
    "controller": LazyCommand("ringlight.cli.controller:controller", "Run the controller in the foreground."),
    "agent": LazyCommand("ringlight.cli.agent:agent", "Run an agent in the foreground."),
    "demo": LazyCommand("ringlight.cli.demo:demo", "Break 64 emulated nodes, and watch the rings heal."),
    "module": LazyCommand("ringlight.cli.module:module", "Look at a transceiver's registers, at the bench."),
    "study": LazyCommand("ringlight.cli.study:study_group", "Measure what planning achieves on random fabrics."),
    "simulate": LazyCommand(
        "ringlight.cli.simulate:simulate",
        "Run whole fabrics in virtual time, and judge what happens.",
    ),
    "emulator": LazyCommand("ringlight.cli.emulator:emulator", "Run an emulated fabric, break it and repair it."),
}


# A line of only \b keeps click from filling the lines below it.
EXIT_CODES = """\b
Exit codes:
  0    fine
  1    error, wrong usage included
  2    degraded, or there are differences
  3    refused by a safety gate
  130  interrupted
"""


@click.group(cls=LazyGroup, lazy=COMMANDS, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ringlight")
def ringlight() -> None:
    """Ringlight heals GPU rings with light."""


def run(arguments: Sequence[str]) -> ExitCode:
    """Run one command; report its errors on standard error."""
    try:
        outcome = ringlight.main(args=list(arguments), prog_name="ringlight", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.ERROR
    except click.ClickException as error:
        _report(error.format_message(), _usage_hint(error))
        return ExitCode.ERROR
    except click.Abort:
        return ExitCode.INTERRUPTED
    except RinglightError as error:
        _report(str(error), error.hint)
        return exit_code_of(error)
    except ExceptionGroup as group:  # from a daemon whose tasks failed together
        if group.split(RinglightError)[1] is not None:
            raise
        leaves = list(_leaves(group))
        for leaf in leaves:
            _report(str(leaf), leaf.hint)
        return max(exit_code_of(leaf) for leaf in leaves)
    # A command returns its exit code; click hands back the number of an early exit such as --help.
    return ExitCode.FINE if outcome is None else ExitCode(outcome)


def main() -> None:
    """Entry point of the installed command."""
    sys.exit(run(sys.argv[1:]))


def _report(message: str, hint: str) -> None:
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


def _usage_hint(error: click.ClickException) -> str:
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"see '{error.ctx.command_path} --help'"
    return ""


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[RinglightError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        elif isinstance(error, RinglightError):
            yield error


if __name__ == "__main__":
    main()
