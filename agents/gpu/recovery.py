"""What the GPU's driver wants done about a GPU, in the controller's words.

The numbers are those of `nvmlDeviceGpuRecoveryAction_t` in NVIDIA's public headers, which DCGM exports unchanged.
"""

NONE = "none"
UNKNOWN = ""

ACTIONS = {
    0: NONE,
    1: "gpu-reset",
    2: "node-reboot",
    3: "drain-p2p",
    4: "drain-and-reset",
    5: "recover-imex-domain",
    6: "gpu-reset-bus",
    7: "node-reboot",  # of the whole system, which is what a node can do about it
}


def action_of(number: int) -> str:
    """The word for a recovery action; one that is not known here is something all the same."""
    return ACTIONS.get(number, f"action-{number}")
