"""The loops that observe the control system and carry out conducts."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache

from uuid_utils.compat import uuid7

from beamkeep.adapters.postgres.lease import PostgresLease
from beamkeep.contexts.seams.routes import ControlRoute
from beamkeep.parts.wiring import Core
from beamkeep.workers.leases import CONDUCT
from beamkeep.workers.reporting import Monitor
from beamkeep.workers.supervision import Loop, while_held

from .channels.routed import RoutedControl, control_systems, simulated
from .compute.job_directory import ComputeKind
from .compute.local_process import LocalProcessCompute
from .compute.seam import ComputeSystem
from .compute.slurm import SlurmCompute
from .control import ControlSystem
from .effects import Effects
from .facts import ConductReader
from .observing import Observer
from .registered import registered_actions, registered_advisors
from .settings import ConductingSettings
from .walking import Walker

type Simulator = Callable[[], ControlSystem]
"""Returns the control system in memory, which observers and conducts share."""


def loops(core: Core, own: ConductingSettings) -> Sequence[Loop]:
    """Return the loops that observe the control system and carry out conducts."""
    simulator = cache(simulated)
    conductors = [conductor(core, own, simulator)] if own.conduct_slots else []
    return [*_observers(core, own, simulator), *conductors]


def conductor(core: Core, own: ConductingSettings, simulator: Simulator) -> Loop:
    """Return the loop that carries out conducts."""
    control = _control(own, own.control_routes, own.control_silence_seconds, simulator)
    reader = ConductReader(
        service=core.service,
        store=core.store,
        codec=core.codec,
        routes=own.control_routes,
        takeover_window=timedelta(seconds=own.conduct_takeover_window_seconds),
    )
    effects = Effects(
        control, compute_system(own), actions=registered_actions(), routes=own.control_routes
    )
    walker = Walker(
        service=core.service,
        reader=reader,
        queue=core.queue,
        effects=effects,
        advisors=registered_advisors(),
        telemetry=core.telemetry,
    )
    holder = core.holder(CONDUCT, walker.walk, own.lease_times(own.conduct_slots))
    return holder.loop("conductor", control.close)


def compute_system(own: ConductingSettings) -> ComputeSystem | None:
    """Return where compute jobs run, if the settings name any job."""
    directory, jobs = own.compute_directory, own.compute_jobs
    if directory is None:
        return None
    if own.compute_system is ComputeKind.SLURM:
        return SlurmCompute(directory, jobs)
    return LocalProcessCompute(directory, jobs, own.compute_at_once)


def _observers(core: Core, own: ConductingSettings, simulator: Simulator) -> list[Loop]:
    """Return the loop that follows the signals the settings name, if they name any."""
    if not (signals := own.observed_signals):
        return []
    routes = [signal.route for signal in signals]
    observer = Observer(
        Monitor(core.service.sender, uuid7),
        _control(own, routes, own.observer_silence_seconds, simulator),
        signals,
        repeat_seconds=own.observer_repeat_seconds,
    )
    return [while_held(PostgresLease(core.url, "observer", [0]), "observers", observer.run)]


def _control(
    own: ConductingSettings,
    routes: Sequence[ControlRoute],
    silence: float,
    simulator: Simulator,
) -> RoutedControl:
    return control_systems(
        routes,
        silence_seconds=silence,
        connect_seconds=own.control_connect_seconds,
        tango_nodb_host=own.tango_nodb_host,
        simulator=simulator,
    )
