"""Topics, as functions. A fabric's topics are all below ``ringlight/<fabric>``.

Names become levels of a topic. One that would change its shape, with a slash or a wildcard in it, is refused.
"""

from dataclasses import dataclass

from ringlight.fabric.errors import InvalidError

_ROOT = "ringlight"
_SPECIAL = frozenset("/+#$")


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one fabric.

    Raises:
        InvalidError: its name cannot be part of a topic.
    """

    fabric: str

    def __post_init__(self) -> None:
        _level(self.fabric, "fabric")

    @property
    def events(self) -> str:
        """Where the controller tells what happens."""
        return f"{_ROOT}/{self.fabric}/events"

    @property
    def controller(self) -> str:
        """Whether the controller is there, retained. A hint: its last will says so, too."""
        return f"{_ROOT}/{self.fabric}/controller"

    @property
    def every_job(self) -> str:
        """What to subscribe to for the states of all jobs."""
        return f"{_ROOT}/{self.fabric}/jobs/+"

    @property
    def every_heartbeat(self) -> str:
        """What to subscribe to for the heartbeats of all agents."""
        return f"{_ROOT}/{self.fabric}/agents/+/heartbeat"

    def job(self, name: str) -> str:
        """The state of a job, retained."""
        return f"{_ROOT}/{self.fabric}/jobs/{_level(name, 'job')}"

    def heartbeat(self, agent: str) -> str:
        """The heartbeats of an agent, for all its nodes."""
        return f"{_ROOT}/{self.fabric}/agents/{_level(agent, 'agent')}/heartbeat"

    def job_of(self, topic: str) -> str | None:
        """The job whose state is told at a topic; None when it is another's."""
        return _between(topic, f"{_ROOT}/{self.fabric}/jobs/", "")

    def agent_of(self, topic: str) -> str | None:
        """The agent whose heartbeats come at a topic; None when it is another's."""
        return _between(topic, f"{_ROOT}/{self.fabric}/agents/", "/heartbeat")


def _level(name: str, what: str) -> str:
    if not name or _SPECIAL & set(name) or not name.isprintable():
        raise InvalidError(
            f"the {what} {name!r} cannot be told over MQTT", hint="use a name without any of / + # $ in it"
        )
    return name


def _between(topic: str, start: str, end: str) -> str | None:
    if not topic.startswith(start) or not topic.endswith(end):
        return None
    name = topic[len(start) : len(topic) - len(end)]
    return name if name and "/" not in name else None
