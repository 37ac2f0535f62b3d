"""Southbound messages to the engine's events, and its commands to messages."""

from ringlight.controller.engine.effects import SendCircuits, SendConfirm, SendQuestion
from ringlight.controller.engine.events import (
    AgentHello,
    Applied,
    Event,
    FaultCleared,
    FaultReported,
    Heartbeat,
    LightReported,
    Measured,
    NodeBeat,
    NodeHello,
)
from ringlight.fabric.outcomes import ApplyCode, BundleCode
from ringlight.protos import codec
from ringlight.protos.v1 import agent_pb2 as pb


def hello_from(session: str, message: pb.Hello) -> AgentHello:
    """An agent's introduction."""
    return AgentHello(
        session=session,
        agent=message.agent,
        agent_boot=message.agent_boot,
        protocol=message.protocol,
        fabric=message.fabric,
        highest_epoch=message.highest_epoch,
        nodes=tuple(_node_from(node) for node in message.nodes),
    )


def _node_from(message: pb.NodeHello) -> NodeHello:
    return NodeHello(
        node=message.node,
        hardware_boot=message.hardware_boot,
        inventory=codec.inventory_from(message.inventory),
        circuits=codec.table_from(message.circuits),
        light=codec.light_from(message.light),
        faults=tuple(codec.fault_from(fault) for fault in message.faults),
        applied_generation=message.applied_generation,
        unconfirmed=message.unconfirmed,
    )


def event_from(session: str, message: pb.AgentMessage) -> Event | None:
    """What a message after the hello means; None when it means nothing to us."""
    match message.WhichOneof("body"):
        case "heartbeat":
            beats = (NodeBeat(beat.node, beat.applied_generation, beat.digest) for beat in message.heartbeat.nodes)
            return Heartbeat(session, tuple(beats))
        case "health":
            return _health_from(session, message.health)
        case "light":
            return LightReported(session, message.light.node, codec.light_from(message.light.changed))
        case "applied":
            return _applied_from(session, message.applied)
        case "measured":
            return _measured_from(session, message.measured)
        case _:
            return None


def _health_from(session: str, message: pb.HealthReport) -> Event | None:
    match message.WhichOneof("change"):
        case "opened":
            return FaultReported(session, message.node, codec.fault_from(message.opened))
        case "closed":
            return FaultCleared(session, message.node, message.closed)
        case _:
            return None


def _applied_from(session: str, message: pb.Applied) -> Applied:
    return Applied(
        session=session,
        node=message.node,
        transaction=message.transaction,
        epoch=message.epoch,
        generation=message.generation,
        code=_apply_code(message.code),
        bundles={result.bundle: _bundle_code(result.code) for result in message.bundles},
        circuits=codec.table_from(message.circuits),
        light=codec.light_from(message.light),
        switch_seconds=message.switch_seconds,
        reason=message.reason,
        highest_epoch=message.highest_epoch,
    )


def _measured_from(session: str, message: pb.Measured) -> Measured:
    return Measured(
        session=session,
        node=message.node,
        question=message.question,
        circuits=codec.table_from(message.circuits),
        light=codec.light_from(message.light),
        powers=codec.powers_from(message.powers),
        reason=message.reason,
    )


def _apply_code(value: int) -> ApplyCode:
    try:
        return ApplyCode(value)
    except ValueError:
        return ApplyCode.UNSPECIFIED


def _bundle_code(value: int) -> BundleCode:
    try:
        return BundleCode(value)
    except ValueError:
        return BundleCode.UNSPECIFIED


def circuits_to(command: SendCircuits) -> pb.ControllerMessage:
    """A command to bring a node to a table."""
    return pb.ControllerMessage(
        set_circuits=pb.SetCircuits(
            epoch=command.epoch,
            generation=command.generation,
            transaction=command.transaction,
            node=command.node,
            table=codec.table_to(command.table),
            revert_after=command.revert_after,
        )
    )


def confirm_to(confirmation: SendConfirm) -> pb.ControllerMessage:
    """A confirmation of a planned change."""
    return pb.ControllerMessage(
        confirm=pb.Confirm(epoch=confirmation.epoch, transaction=confirmation.transaction, node=confirmation.node)
    )


def question_to(question: SendQuestion) -> pb.ControllerMessage:
    """A question for a node's light."""
    return pb.ControllerMessage(measure=pb.Measure(question=question.question, node=question.node))
