"""The settings of observers, conducts, control systems and compute jobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from annotated_types import Ge, Gt, Le
from pydantic import (
    model_validator,
)

from beamkeep.contexts.seams.routes import ControlRoute, table_findings
from beamkeep.parts.settings import (
    CoreSettings,
)

from .compute.job_directory import ComputeKind, JobProgram
from .observing import EnclosureSignal, SupplySignal


class ConductingSettings(CoreSettings):
    """The settings of observers, conducts, control systems and compute jobs."""

    observed_enclosures: tuple[EnclosureSignal, ...] = ()
    """Signals of control systems that report the permits of enclosures, as a JSON list of `{signal,
    enclosure_id, permitted, not_permitted}` with optional `substrate` (`epics_ca`, `epics_pva`,
    `tango` or `in_memory`; default `epics_ca`)."""
    observed_supplies: tuple[SupplySignal, ...] = ()
    """Signals of control systems that report the status of supplies, as a JSON list of `{signal,
    supply_id, recovering}` with optional `substrate`."""
    observer_repeat_seconds: Annotated[float, Ge(0.1)] = 20.0
    """Seconds after which an unchanged signal is reported again, so that it does not become stale;
    must be less than ENCLOSURE_STALE_AFTER_SECONDS."""
    observer_silence_seconds: Annotated[float, Gt(5)] = 15.0
    """Seconds of silence of a control system after which its signals are lost; more than 5."""
    conduct_slots: Annotated[int, Ge(0), Le(100)] = 4
    """Maximum number of conducts that one process carries out at the same time; 0 for none."""
    conduct_takeover_window_seconds: Annotated[float, Ge(0)] = 300.0
    """Seconds without any worker after which a conduct is interrupted and not continued; before the
    first worker, the age of the request."""
    control_routes: tuple[ControlRoute, ...] = ()
    """Addresses of the control system that conducts may read and write, as a JSON list of
    `{prefix, substrate}` with optional `writable`, `inline`, `simulated`, `asset_id` and `bounds`;
    the longest prefix of an address applies. Default: none."""
    control_silence_seconds: Annotated[float, Gt(5)] = 15.0
    """Seconds of silence of a control system after which a conduct takes it for disconnected."""
    control_connect_seconds: Annotated[float, Gt(0)] = 5.0
    """Seconds that a conduct or an observer waits for a connection to the control system."""
    tango_nodb_host: str | None = None
    """Host and port of a Tango device server that runs without a Tango database, such as
    127.0.0.1:45450. Default: devices are found by the database in TANGO_HOST."""
    compute_jobs: tuple[JobProgram, ...] = ()
    """Jobs that compute steps can run, as a JSON list of `{name, command}` with optional `inline`,
    `timeout`, `input_roots`, `output_roots` and `slurm_options`. `command` is a list of arguments,
    not a shell command."""
    compute_system: ComputeKind = ComputeKind.LOCAL_PROCESS
    """Where jobs run: `local_process` on the machine of the worker, `slurm` on a Slurm cluster."""
    compute_directory: Path | None = None
    """Directory of the jobs; every worker must see the same directory, and with Slurm every node.
    Required if COMPUTE_JOBS is not empty."""
    compute_at_once: Annotated[int, Ge(1), Le(1000)] = 2
    """Maximum number of jobs that run at once with `local_process`; further ones wait."""

    @property
    def observed_signals(self) -> Sequence[EnclosureSignal | SupplySignal]:
        """The signals of enclosures, then those of supplies."""
        return *self.observed_enclosures, *self.observed_supplies

    @model_validator(mode="after")
    def signals_have_one_substrate(self) -> Self:
        """Raise ValueError when one signal is observed through two control systems."""
        routes = {each.signal: each.substrate for each in self.observed_signals}
        for each in self.observed_signals:
            if routes[each.signal] is not each.substrate:
                raise ValueError(
                    f"The signal {each.signal!r} has the substrates {each.substrate} and"
                    f" {routes[each.signal]}. Name the same `substrate` wherever it is observed."
                )
        return self

    @model_validator(mode="after")
    def reports_outlast_their_pause(self) -> Self:
        """Raise ValueError when every report of an observer would be stale before the next."""
        if (
            self.observed_signals
            and self.observer_repeat_seconds >= self.enclosure_stale_after_seconds
        ):
            raise ValueError(
                f"OBSERVER_REPEAT_SECONDS is {self.observer_repeat_seconds:g} and"
                f" ENCLOSURE_STALE_AFTER_SECONDS is {self.enclosure_stale_after_seconds:g}: every"
                " report would be stale before the next. Set OBSERVER_REPEAT_SECONDS to at most"
                " half of ENCLOSURE_STALE_AFTER_SECONDS."
            )
        return self

    @model_validator(mode="after")
    def routes_are_sound(self) -> Self:
        """Raise ValueError with every fault of the route table."""
        if found := list(table_findings(self.control_routes)):
            raise ValueError(f"CONTROL_ROUTES: {' '.join(found)}")
        return self

    @model_validator(mode="after")
    def jobs_can_run(self) -> Self:
        """Raise ValueError when jobs have no directory, or two jobs have one name."""
        if self.compute_jobs and self.compute_directory is None:
            raise ValueError("COMPUTE_JOBS names jobs. Set COMPUTE_DIRECTORY to their directory.")
        names = [job.name for job in self.compute_jobs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"COMPUTE_JOBS has two jobs named {twice[0]!r}. Rename one of them.")
        return self
