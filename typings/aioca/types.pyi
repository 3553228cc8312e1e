class AugmentedValue:
    ok: bool
    severity: int
    status: int
    timestamp: float
    datatype: int
    enums: list[str]
