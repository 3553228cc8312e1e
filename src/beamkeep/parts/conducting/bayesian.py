"""The advisor `bayesian`: a Gaussian process of what was measured chooses the next point."""

import hashlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from beamkeep.contexts.operation.loop import (
    AdviceVerdict,
    Coordinate,
    Evidence,
    ObjectiveKind,
    SteeringAdvice,
    SteeringAxis,
    at_share,
)
from beamkeep.contexts.recipe.criteria import equal
from beamkeep.contexts.seams.routes import is_number
from beamkeep.schemas import Json

from .bodies import AdvisorEvidenceRejectedError

type Numbers = NDArray[np.float64]

MOST_PASSES = 300
"""How many of the last passes the model is made of: its cost grows with their cube."""
CANDIDATES, NEIGHBOURS = 4096, 512
PASSES_PER_LENGTH = 10
OPTIONS: Mapping[str, float] = {"least_improvement": 0.005, "tolerance": 0.0, "first_passes": 0.0}


class _Guess(NamedTuple):
    """The best of some candidates, by its place in the unit cube."""

    place: Numbers
    score: float
    """What is expected to be gained, as a share of the spread of the values."""
    others: Sequence[Numbers]
    fit: float
    """How much of the spread the model explains of values that it has not seen, from 0 to 1."""
    kernel: str


def bayesian(evidence: Evidence) -> SteeringAdvice:
    """Return the point with the largest expected improvement; the same for the same evidence.

    Options: `least_improvement` (default 0.005): stop when less is expected, as a share of the
    spread of the values. `tolerance` (default 0): how far from the target value Satisfy is met.
    `first_passes` (default: two for each axis, and one): how many passes fill the space first.
    Raise `AdvisorEvidenceRejectedError` when an option or a measured value cannot be used.
    """
    options, axes, passes = _options(evidence), evidence.space.axes, evidence.passes
    values = _values(evidence)
    losses = _losses(evidence, values)
    best = min(range(len(losses)), key=losses.__getitem__, default=None)
    note = "" if best is None else _best_so_far(evidence, best)
    time = evidence.remaining_time
    if evidence.remaining_iterations <= 0 or (time is not None and time <= 0):
        return SteeringAdvice(AdviceVerdict.STOP, rationale=f"The budget is used up.{note}")
    is_met = best is not None and losses[best] <= options["tolerance"]
    if evidence.objective.kind is ObjectiveKind.SATISFY and is_met:
        return SteeringAdvice(AdviceVerdict.STOP, rationale=f"The target value was reached.{note}")
    first = int(options["first_passes"]) or 2 * len(axes) + 1
    if len(passes) < first:
        filling = _coordinate(axes, _filling(len(passes), len(axes)))
        why = f"Pass {len(passes) + 1} of the first {first}, which fill the space evenly.{note}"
        return SteeringAdvice(AdviceVerdict.MEASURE, next_coordinate=filling, rationale=why)
    guess = _guess(evidence, values)
    gain = f"{guess.score:.3g} of the spread of the values"
    if guess.score < options["least_improvement"] and len(passes) >= 2 * first:
        why = f"Nowhere is more expected to be gained than {gain}.{note}"
        return SteeringAdvice(
            AdviceVerdict.STOP,
            rationale=why,
            confidence=guess.fit,
            confidence_source="leave-one-out of the model",
            model_ref=guess.kernel,
        )
    return SteeringAdvice(
        AdviceVerdict.MEASURE,
        next_coordinate=_coordinate(axes, guess.place),
        rationale=f"By the model of {len(passes)} passes, this point may gain {gain}.{note}",
        confidence=guess.fit,
        confidence_source="leave-one-out of the model",
        alternatives=tuple(dict(_coordinate(axes, each)) for each in guess.others),
        model_ref=guess.kernel,
    )


def _options(evidence: Evidence) -> Mapping[str, float]:
    if unknown := evidence.options.keys() - OPTIONS.keys():
        raise AdvisorEvidenceRejectedError(f"There is no option {min(unknown)!r}.")
    found = dict(OPTIONS)
    for name, value in evidence.options.items():
        if not is_number(value) or value < 0:
            raise AdvisorEvidenceRejectedError(f"{name} must be a number of at least 0.")
        found[name] = value
    return found


def _values(evidence: Evidence) -> list[float]:
    """Return what was measured as numbers that the model learns."""
    target = evidence.objective.target_value
    if evidence.objective.kind is ObjectiveKind.SATISFY and not is_number(target):
        # Of a text or a boolean the model learns only whether it is the target.
        return [0.0 if equal(target, each.value) else 1.0 for each in evidence.passes]
    sign = -1.0 if evidence.objective.kind is ObjectiveKind.MAXIMIZE else 1.0
    found = list[float]()
    for each in evidence.passes:
        if not is_number(each.value):
            why = f"Pass {each.iteration_index} measured {each.value!r:.100}, which is no number."
            raise AdvisorEvidenceRejectedError(why)
        found.append(sign * float(each.value))
    return found


def _target(evidence: Evidence) -> float | None:
    """Return what the learnt values should be near to; None if they should be small."""
    if evidence.objective.kind is not ObjectiveKind.SATISFY:
        return None
    target = evidence.objective.target_value
    return float(target) if is_number(target) else 0.0


def _losses(evidence: Evidence, values: Sequence[float]) -> list[float]:
    target = _target(evidence)
    return [value if target is None else abs(value - target) for value in values]


def _best_so_far(evidence: Evidence, best: int) -> str:
    if evidence.objective.kind is ObjectiveKind.EXPLORE:
        return ""
    found = evidence.passes[best]
    return f" The best value so far, {found.value!r:.100}, is of pass {found.iteration_index}."


def _guess(evidence: Evidence, values: Sequence[float]) -> _Guess:
    axes, passes = evidence.space.axes, evidence.passes[-MOST_PASSES:]
    places = np.array([[_place(axis, each.coordinate) for axis in axes] for each in passes])
    seen = np.array(values[-MOST_PASSES:])
    # Halved, so that the largest floats have a difference and a mean.
    size = float(np.max(np.abs(seen / 2))) or 1.0
    middle, spread = float(np.mean(seen / 2 / size)), float(np.ptp(seen / 2 / size))
    deviation = float(np.std(seen / 2 / size)) or 1.0
    learnt = (seen / 2 / size - middle) / deviation
    target = _target(evidence)
    aim = None if target is None else (target / 2 / size - middle) / deviation
    known = msgspec.json.encode(
        (evidence.space, [(each.coordinate, each.value) for each in passes])
    )
    seed = int.from_bytes(hashlib.sha256(known).digest()[:4])
    features = _features(axes)
    model = _model(features(places), learnt, seed)
    order = np.argsort(learnt if aim is None else np.abs(learnt - aim))
    candidates = _candidates(places[order[:4]], np.random.default_rng(seed))
    mean, doubt = _predicted(model, features(candidates))
    if evidence.objective.kind is ObjectiveKind.EXPLORE:
        scores = doubt
    else:
        # The best prediction where something was measured, not the luckiest measurement.
        at_passes, _ = _predicted(model, features(places))
        loss, least = (mean, np.min(at_passes))
        if aim is not None:
            loss, least = np.abs(mean - aim), np.min(np.abs(at_passes - aim))
        scores = _expected_improvement(float(least) - loss, doubt)
    first, *others = np.argsort(-scores, kind="stable")[:4]
    return _Guess(
        place=candidates[first],
        score=float(scores[first]) * deviation / spread if spread else math.inf,
        others=[candidates[each] for each in others],
        fit=_fit(model, features(places), learnt),
        kernel=f"scikit-learn {sklearn.__version__} GaussianProcessRegressor {model.kernel_}"[:500],
    )


def _model(places: Numbers, values: Numbers, seed: int) -> GaussianProcessRegressor:
    passes, count = places.shape
    # A length for each axis is learnt from many passes only: from few, an axis that matters is
    # taken for one that does not, and the search ends next to the optimum.
    lengths = np.full(count, 0.3) if passes >= PASSES_PER_LENGTH * count else 0.3
    kernel = (
        ConstantKernel(1.0, (0.05, 20.0)) * Matern(lengths, (0.05, 1.0), nu=2.5)
    ) + WhiteKernel(1e-2, (1e-6, 0.3))
    model = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=seed)
    with warnings.catch_warnings():
        # It tells of every parameter at its bound, which is no fault.
        warnings.simplefilter("ignore")
        return model.fit(places, values)


def _predicted(model: GaussianProcessRegressor, places: Numbers) -> tuple[Numbers, Numbers]:
    """Return the mean and the deviation of the function itself, without the noise."""
    mean, deviation = model.predict(places, return_std=True)
    noise = model.kernel_.k2.noise_level
    return mean, np.sqrt(np.maximum(deviation**2 - noise, 1e-12))


def _expected_improvement(gain: Numbers, doubt: Numbers) -> Numbers:
    ratio = gain / doubt
    below = np.array([0.5 * (1 + math.erf(each / math.sqrt(2))) for each in ratio])
    return gain * below + doubt * np.exp(-(ratio**2) / 2) / math.sqrt(2 * math.pi)


def _fit(model: GaussianProcessRegressor, places: Numbers, values: Numbers) -> float:
    inverse = np.linalg.inv(model.kernel_(places) + 1e-9 * np.eye(len(places)))
    missed = (inverse @ values) / np.diag(inverse)
    return float(np.clip(1 - np.mean(missed**2), 0, 1))


def _candidates(best: Numbers, rng: np.random.Generator) -> Numbers:
    everywhere = rng.random((CANDIDATES, best.shape[1]))
    near = np.repeat(best, NEIGHBOURS // len(best), axis=0)
    reach = rng.choice([0.1, 0.03, 0.01], (len(near), 1))
    return np.vstack([everywhere, np.clip(near + reach * rng.standard_normal(near.shape), 0, 1)])


def _filling(number: int, axes: int) -> Numbers:
    """Return the next point of the additive sequence that fills a cube evenly (R_d by Roberts)."""
    root = 2.0
    for _ in range(50):
        root = (1 + root) ** (1 / (axes + 1))
    return (0.5 + number * root ** -np.arange(1.0, axes + 1)) % 1


def _features(axes: Sequence[SteeringAxis]) -> Callable[[Numbers], Numbers]:
    """Return what the model sees of places: numbers between 0 and 1, and which choice it is."""

    def seen(places: Numbers) -> Numbers:
        columns = list[Numbers]()
        for axis, column in zip(axes, places.T, strict=True):
            numbers = [float(each) for each in axis.choices or () if is_number(each)]
            if not axis.choices:
                columns.append(column[:, None])
                continue
            indexes = np.minimum((column * len(axis.choices)).astype(int), len(axis.choices) - 1)
            if len(numbers) == len(axis.choices):
                scaled = [_share(each, min(numbers), max(numbers)) for each in numbers]
                columns.append(np.array(scaled)[indexes][:, None])
            else:
                columns.append(np.eye(len(axis.choices))[indexes] / math.sqrt(2))
        return np.hstack(columns)

    return seen


def _place(axis: SteeringAxis, coordinate: Coordinate | None) -> float:
    value = (coordinate or {}).get(axis.name)
    if axis.choices:
        index = next((n for n, each in enumerate(axis.choices) if equal(each, value)), 0)
        return (index + 0.5) / len(axis.choices)
    return _share(value, axis.lower or 0.0, axis.upper or 0.0)


def _share(value: Json, lower: float, upper: float) -> float:
    width = upper / 2 - lower / 2
    return (float(value) / 2 - lower / 2) / width if is_number(value) and width else 0.5


def _coordinate(axes: Sequence[SteeringAxis], place: Numbers) -> Coordinate:
    found = dict[str, Json]()
    for axis, share in zip(axes, map(float, place), strict=True):
        if axis.choices:
            found[axis.name] = axis.choices[
                min(int(share * len(axis.choices)), len(axis.choices) - 1)
            ]
        else:
            found[axis.name] = at_share(axis, share)
    return found
