from typing import Any

class Mark:
    line: int

class Node:
    value: Any
    start_mark: Mark

class MappingNode(Node): ...
class SequenceNode(Node): ...
class YAMLError(Exception): ...

class MarkedYAMLError(YAMLError):
    context: str | None
    context_mark: Mark | None
    problem: str | None
    problem_mark: Mark | None

class SafeLoader:
    def __init__(self, stream: str) -> None: ...
    def get_single_node(self) -> Node | None: ...
    def construct_object(self, node: Node) -> object: ...
    def dispose(self) -> None: ...
