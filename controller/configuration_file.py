"""Reads the controller's configuration file."""

from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from ringlight.controller.configuration import mistakes
from ringlight.controller.settings import Settings
from ringlight.fabric.errors import InvalidError


def load_settings(path: Path | None) -> Settings:
    """Read settings from a YAML file; without one, the defaults.

    Raises:
        InvalidError: unreadable, not YAML, an unknown key or a value out of range; every mistake is listed.
    """
    if path is None:
        return Settings()
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidError(f"cannot read the configuration {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidError(f"{path} is not YAML: {error}") from error
    try:
        return TypeAdapter(Settings).validate_python({} if document is None else document)
    except ValidationError as error:
        found = "\n".join(f"  {mistake}" for mistake in mistakes(error))
        hint = "`ringlight config show` lists every key with its unit, default and reason"
        raise InvalidError(f"{path} has mistakes:\n{found}", hint=hint) from error
