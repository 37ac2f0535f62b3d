"""Reads a fabric file: YAML, checked as a whole, to a `FabricSpec`.

Every mistake is reported, not only the first, each with its path in the file and what was expected there. A file that
passes describes a fabric that can be built: ports exist and are used once, ends of fibres agree, bundles sit on edges
of their own, and a closed order is long enough for its hops to be distinct.

Three stages each collect their mistakes and pass on what is right: `document` (YAML), `form` (keys and single values)
and `assembly` (whether it makes sense together).
"""

from pathlib import Path as FilePath

from ringlight.fabric.assembly import assemble
from ringlight.fabric.document import read_document
from ringlight.fabric.form import read_form
from ringlight.fabric.problem import Problem, WrongFileError, shown
from ringlight.fabric.schema import FABRIC_KEYS
from ringlight.fabric.spec import FabricSpec


class FabricFileError(WrongFileError):
    """A fabric file is wrong."""

    advice = "docs/fabric-file.md explains its keys"


def load_fabric(path: FilePath) -> FabricSpec:
    """Read a fabric file.

    Raises:
        FabricFileError: unreadable or wrong; lists every mistake.
    """
    return parse_fabric(FabricFileError.read(path), source=str(path))


def parse_fabric(text: str, *, source: str) -> FabricSpec:
    """Read the text of a fabric file; `source` names it in errors.

    Raises:
        FabricFileError: wrong; lists every mistake.
    """
    document, problems = read_document(text)
    if not isinstance(document, dict):
        expected = f"expected keys such as {', '.join(FABRIC_KEYS[:4])}, found {shown(document)}"
        raise FabricFileError(source, problems or [Problem("", expected)])
    entry, of_form = read_form(document)
    spec, problems = assemble(entry, [*problems, *of_form])
    if spec is None:
        raise FabricFileError(source, problems)
    return spec
