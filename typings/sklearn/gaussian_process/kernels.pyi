import numpy as np
from numpy.typing import NDArray

type _Numbers = NDArray[np.float64]
type _Bounds = tuple[float, float]

class Kernel:
    def __call__(self, x: _Numbers, /) -> _Numbers: ...
    def __add__(self, other: Kernel) -> Sum: ...
    def __mul__(self, other: Kernel) -> Kernel: ...

class Sum(Kernel):
    k1: Kernel
    k2: WhiteKernel

class ConstantKernel(Kernel):
    def __init__(self, constant_value: float, constant_value_bounds: _Bounds) -> None: ...

class Matern(Kernel):
    def __init__(
        self, length_scale: float | _Numbers, length_scale_bounds: _Bounds, nu: float
    ) -> None: ...

class WhiteKernel(Kernel):
    noise_level: float
    def __init__(self, noise_level: float, noise_level_bounds: _Bounds) -> None: ...
