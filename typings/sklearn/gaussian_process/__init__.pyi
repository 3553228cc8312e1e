from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .kernels import Sum

type _Numbers = NDArray[np.float64]

class GaussianProcessRegressor:
    kernel_: Sum
    def __init__(
        self, kernel: Sum, *, n_restarts_optimizer: int = 0, random_state: int | None = None
    ) -> None: ...
    def fit(self, x: _Numbers, y: _Numbers, /) -> GaussianProcessRegressor: ...
    def predict(self, x: _Numbers, /, return_std: Literal[True]) -> tuple[_Numbers, _Numbers]: ...
