"""The protocol explains itself: every service, call, message, field and enum value has a comment."""

import re
from pathlib import Path

import pytest

PROTOS = sorted((Path(__file__).parents[2] / "protos" / "v1").glob("*.proto"))
DEFINITION = re.compile(r"^(message|service|enum) |^  rpc ")
FIELD = re.compile(r"^\s+(repeated )?(map<\w+, \w+>|[\w.]+) \w+ = \d+;|^  [A-Z][A-Z_0-9]+ = \d+;")


@pytest.mark.parametrize("proto", PROTOS, ids=lambda proto: proto.name)
def test_everything_is_explained(proto):
    lines = proto.read_text().splitlines()
    explained_above = {number for number, line in enumerate(lines) if lines[number - 1].strip().startswith("//")}
    silent = [
        f"{number + 1}: {line}"
        for number, line in enumerate(lines)
        if (DEFINITION.match(line) and number not in explained_above)
        or (FIELD.match(line) and "//" not in line and number not in explained_above)
    ]
    assert not silent
    assert any(FIELD.match(line) for line in lines)
