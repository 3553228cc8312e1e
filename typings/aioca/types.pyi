class AugmentedValue:
    ok: bool
    severity: int
    status: int
