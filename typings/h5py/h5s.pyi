ALL: int
NULL: int
UNLIMITED: int
SEL_HYPERSLABS: int

class SpaceID:
    shape: tuple[int, ...]
    def get_simple_extent_type(self) -> int: ...
    def get_select_type(self) -> int: ...
    def is_regular_hyperslab(self) -> bool: ...
    def get_regular_hyperslab(
        self,
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]: ...
    def select_hyperslab(
        self,
        start: tuple[int, ...],
        count: tuple[int, ...],
        stride: tuple[int, ...] = ...,
        block: tuple[int, ...] = ...,
    ) -> None: ...

def create_simple(shape: tuple[int, ...], most: tuple[int, ...] = ...) -> SpaceID: ...
