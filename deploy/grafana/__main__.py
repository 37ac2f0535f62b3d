"""Write the boards: `python -m deploy.grafana [DIRECTORY]`."""

import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from deploy.grafana.boards.controller import CONTROLLER_BOARD
from deploy.grafana.boards.fabric import FABRIC_BOARD
from deploy.grafana.boards.healing import HEALING_BOARD
from deploy.grafana.boards.node import NODE_BOARD
from deploy.grafana.boards.panels import build

BOARDS = (FABRIC_BOARD, HEALING_BOARD, NODE_BOARD, CONTROLLER_BOARD)
DIRECTORY = Path(__file__).parent / "dashboards"


def main(directory: Path) -> None:
    """Write every board as a file of its name."""
    for board in BOARDS:
        text = JSONEncoder(sort_keys=True, indent=2).encode(build(board))
        (directory / f"{board.uid}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DIRECTORY)
