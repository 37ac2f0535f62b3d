"""Reads the controller's configuration file: YAML whose sections are the groups of settings.

Every mistake is reported, not only the first, each with its key and what would be right. What YAML itself lets pass, a
key that is written twice, is a mistake too: the one that loses may be the one that somebody counts on.
"""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ringlight.controller.configuration import mistakes
from ringlight.controller.settings import Settings
from ringlight.fabric.document import read_document
from ringlight.fabric.problem import Problem, WrongFileError, by_path

_NOTHING = (read_document(""), read_document("---"))  # what a file without any key reads as


class ConfigurationError(WrongFileError):
    """A configuration file is wrong."""

    advice = "`ringlight config show` lists every key with its unit, default and reason"


def load_settings(path: Path | None) -> Settings:
    """Read settings from a YAML file; without one, the defaults.

    Raises:
        ConfigurationError: unreadable, not YAML, an unknown key or a value out of range; every mistake is listed.
    """
    if path is None:
        return Settings()
    read = read_document(ConfigurationError.read(path))
    if read in _NOTHING:
        return Settings()
    document, problems = read
    found = _check(document) if document is not None else []
    if isinstance(found, Settings) and not problems:
        return found
    further = [] if isinstance(found, Settings) else found
    raise ConfigurationError(str(path), by_path([*problems, *further]))


def _check(document: object) -> Settings | list[Problem]:
    try:
        return TypeAdapter(Settings).validate_python(document)
    except ValidationError as error:
        return mistakes(error)
