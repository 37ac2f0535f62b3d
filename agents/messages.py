"""What an agent says, as messages."""

from collections.abc import Mapping

from ringlight.agents.obedience import Outcome
from ringlight.agents.ports import OpticalPower
from ringlight.fabric.circuits import CircuitTable, Fault, PortKey, digest
from ringlight.protos import codec
from ringlight.protos.v1 import agent_pb2 as pb


def light_message(node: str, port: PortKey, *, lit: bool) -> pb.AgentMessage:
    """Light came or went."""
    return pb.AgentMessage(light=pb.LightReport(node=node, changed=codec.light_to({port: lit})))


def opened_message(node: str, fault: Fault) -> pb.AgentMessage:
    """A fault opened."""
    return pb.AgentMessage(health=pb.HealthReport(node=node, opened=codec.fault_to(fault)))


def closed_message(node: str, fault_id: str) -> pb.AgentMessage:
    """A fault closed."""
    return pb.AgentMessage(health=pb.HealthReport(node=node, closed=fault_id))


def applied_message(
    outcome: Outcome, circuits: CircuitTable, light: Mapping[PortKey, bool], highest_epoch: int
) -> pb.AgentMessage:
    """The answer to a command. What could not be read back is left out: nothing is filled in from memory."""
    command = outcome.command
    was_read = outcome.readout is not None
    return pb.AgentMessage(
        applied=pb.Applied(
            node=command.node,
            transaction=command.transaction,
            epoch=command.epoch,
            generation=command.generation,
            code=pb.ApplyCode.ValueType(int(outcome.code)),
            bundles=[
                pb.BundleResult(bundle=bundle, code=pb.BundleCode.ValueType(int(code)))
                for bundle, code in sorted(outcome.bundles.items())
            ],
            circuits=codec.table_to(circuits) if was_read else None,
            digest=digest(circuits) if was_read else 0,
            light=codec.light_to(light) if was_read else (),
            switch_seconds=outcome.switch_seconds,
            reason=outcome.reason,
            highest_epoch=highest_epoch,
        )
    )


def measured_message(
    node: str,
    question: int,
    *,
    circuits: CircuitTable,
    light: Mapping[PortKey, bool],
    powers: Mapping[PortKey, OpticalPower],
    reason: str,
) -> pb.AgentMessage:
    """The answer to a question for a node's light."""
    return pb.AgentMessage(
        measured=pb.Measured(
            node=node,
            question=question,
            circuits=codec.table_to(circuits),
            light=codec.light_to(light),
            powers=codec.powers_to(powers),
            reason=reason,
        )
    )
