"""YAML as a fabric file uses it: to plain lists, mappings and scalars, with the mistakes YAML itself lets pass.

A key that is written twice, which YAML silently lets win, is a mistake here; so is a key that is no text, and a list
that holds itself. Dates are text: a fabric file has no use for them, and a node may be called ``2026-01-07``. Tags
of programs are not understood. A value that is wrong or absent is reported and becomes None, so
that the rest of the file can be judged.
"""

from typing import Any

import yaml

from ringlight.fabric.problem import Problem, shown, under

_PREFIX = "tag:yaml.org,2002:"
_MERGE = _PREFIX + "merge"
_SCALARS = frozenset(_PREFIX + kind for kind in ("str", "int", "float", "bool", "null"))


class _Loader(yaml.SafeLoader):
    """YAML without dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - typed by the library as it is
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _SCALARS or tag == _MERGE]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def read_document(text: str) -> tuple[Any, list[Problem]]:
    """The document a text holds, and the mistakes in its YAML. The document is None when it is not YAML at all."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        reader = _Reader(loader)
        return (None if root is None else reader.value(root, "")), reader.problems
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}"
        return None, [Problem(line, f"is not YAML: {error.problem}")]
    except yaml.reader.ReaderError as error:
        line = f"line {text.count(chr(10), 0, error.position) + 1}"
        return None, [Problem(line, f"is not YAML: the character {chr(int(error.character))!r} is not allowed")]
    except RecursionError:
        return None, [Problem("", "is nested too deeply")]


class _Reader:
    """Turns YAML nodes into plain values."""

    def __init__(self, loader: _Loader) -> None:
        self.problems: list[Problem] = []
        self._loader = loader
        self._done: dict[yaml.Node, Any] = {}  # an anchor is read once, however often it is used
        self._open: set[yaml.Node] = set()

    def value(self, node: yaml.Node, path: str) -> Any:
        """The value of a node, which may be used in several places."""
        if node in self._open:
            self._problem(path, "holds itself")
            return None
        if node not in self._done:
            self._open.add(node)
            match node:
                case yaml.MappingNode(tag=tag) if tag == _PREFIX + "map":
                    self._done[node] = self._mapping(node, path)
                case yaml.SequenceNode(tag=tag) if tag == _PREFIX + "seq":
                    self._done[node] = [self.value(child, under(path, i)) for i, child in enumerate(node.value)]
                case yaml.ScalarNode():
                    self._done[node] = self._scalar(node, path)
                case _:
                    self._problem(path, f"the tag {node.tag} is not understood")
                    self._done[node] = None
            self._open.remove(node)
        return self._done[node]

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        lines: dict[str, int] = {}
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _MERGE:  # what is merged in may be written again
                merged = self._merged(value_node, under(path, key_node.value)) | merged
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self._problem(path, f"the key in line {line} is not text")
                continue
            key = key_node.value
            if key in lines:
                self._problem(under(path, key), f"is written twice, in lines {lines[key]} and {line}")
                continue
            lines[key] = line
            found[key] = self.value(value_node, under(path, key))
        return merged | found

    def _merged(self, node: yaml.Node, path: str) -> dict[str, Any]:
        """What ``<<`` brings in: a mapping, or a list of them of which the first wins."""
        value = self.value(node, path)
        merged: dict[str, Any] = {}
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                merged = part | merged
            elif part is not None:
                self._problem(path, f"expected a mapping to merge, found {shown(part)}")
        return merged

    def _scalar(self, node: yaml.Node, path: str) -> Any:
        if node.tag == _PREFIX + "null":
            self._problem(path, "has no value")
            return None
        if node.tag in _SCALARS:
            try:
                return self._loader.construct_object(node)
            except (ValueError, KeyError):  # of a value whose tag was written by hand, such as !!int abc
                pass
        self._problem(path, f"{node.value!r} cannot be read as {node.tag.removeprefix(_PREFIX)}")
        return None
