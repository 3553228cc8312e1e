"""Who acts at the beamline of the example, what each may do, and how each calls the service."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.testing.calling import Calling, Mcp, Rest, SurfaceAnswer
from beamkeep.testing.waiting import until

ADMINISTRATOR, OPERATOR, OFFICER, AUTHOR = "ada", "olga", "sam", "alan"
VISITOR, NEXT_VISITOR = "grace", "lise"
INTERLOCK, RING, SCAN_SERVER = "pss-monitor", "ring-monitor", "scan-server"
STEWARD = "dana"
AGENT = "sweeper"
"""The login of the agent that calls over MCP."""
PATIENCE = 60.0

# fmt: off
PLANNING = ("define_plan", "add_asset_family", "get_plan_readiness", "list_cautions")
RUNNING = ("start_run", "hold_run", "resume_run", "complete_run", "truncate_run")
READING = ("get_run", "list_runs", "get_supply", "get_subject", "list_run_observations", "search")
JUDGING = ("list_proposals", "get_proposal", "approve_proposal", "get_decision",
    "list_decision_evidence", "promote_caution_proposal")
CAMPAIGNS = ("register_campaign", "start_campaign", "add_run_to_campaign", "close_campaign")
MENDING = ("fault_asset", "enter_asset_maintenance", "restore_asset", "exit_asset_maintenance")
SUBJECTS = ("register_subject", "mount_subject", "measure_subject", "remove_subject")
HOSTING = ("record_visit_arrival", "start_visit", "complete_visit", "return_subject")
SUPPLIES = ("register_supply", "mark_supply_available", "restore_supply")
REVIEWING = ("start_clearance_review", "append_clearance_review_step", "approve_clearance")
PROCEDURES = ("register_procedure", "start_procedure", "complete_procedure", "get_procedure",
    "start_iteration", "end_iteration", "list_procedure_iterations", "list_procedure_activities")
CONDUCTS = ("conduct_procedure", "conduct_or_hold_procedure", "conduct_from_procedure",
    "conduct_until_converged", "conduct_until_advised", "get_conduct")
CONTROL = ("take_visit_surface_control", "release_visit_surface_control", "get_visit",
    "get_board", "get_surface", "list_visits", "list_events", "search", "resolve_names")
FINDING = ("list_assets", "list_surfaces")
"""With these the console finds its beamline and the surface of that."""

DATASETS = ("register_dataset", "ingest_scan", "promote_dataset", "demote_dataset",
    "discard_dataset", "get_dataset", "get_acquisition", "get_provenance", "list_calibration_uses")
COPIES = ("register_distribution", "record_attestation", "discard_distribution",
    "record_distribution_removal", "get_distribution", "list_distributions", "list_custody",
    "get_custody_report", "get_custody_summary")
EDITIONS = ("register_edition", "seal_edition", "publish_edition", "assign_edition_external_id",
    "get_edition", "get_edition_manifest")

PERMITTED: Mapping[str, Sequence[str]] = {
    OPERATOR: (*PLANNING, *RUNNING, *READING, *CAMPAIGNS, *MENDING, *SUBJECTS, *HOSTING, *SUPPLIES,
        *PROCEDURES, *CONDUCTS, *JUDGING, "append_calibration_revision"),
    OFFICER: (*REVIEWING, "activate_clearance", "get_clearance"),
    AUTHOR: ("register_clearance", "amend_clearance", "submit_clearance", "get_clearance"),
    INTERLOCK: ("observe_enclosure_status",),
    # Its policy would let it; that it is a monitor does not.
    RING: ("observe_supply_status", "restore_supply"),
    SCAN_SERVER: ("append_observations",),
    STEWARD: (*DATASETS, *COPIES, *EDITIONS, "export_artifact", "search"),
}
"""Who may do what, over HTTP and over MCP; visitors only at the beamline's console."""
# fmt: on
LOOKING = tuple(question.name for question in CATALOGUE.questions)
"""What the staff may read at the beamline's console, which shows everything."""
NAMES = {
    STEWARD: "Dana",
    OPERATOR: "Olga",
    OFFICER: "Sam",
    AUTHOR: "Alan",
    VISITOR: "Grace",
    NEXT_VISITOR: "Lise",
}

PARAMETERS: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "energy": {
            "type": "number",
            "minimum": 5,
            "maximum": 35,
            "description": "Photon energy, 5 to 35 keV",
            "unit": {"system": "udunits", "code": "keV"},
        },
        "exposure": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 10,
            "description": "Exposure of one projection, above 0 to 10 s",
            "unit": {"system": "udunits", "code": "s"},
        },
        "projections": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100000,
            "description": "Number of projections, 1 to 100000",
            "unit": {"system": "udunits", "code": "1"},
        },
    },
    "additionalProperties": False,
    "unevaluatedProperties": False,
}
DEFAULTS: Mapping[str, Any] = {"energy": 25.0, "exposure": 0.05, "projections": 1501}
type Steps = Sequence[Mapping[str, Any]]


@dataclass
class Day:
    """A service on which the day takes place, who calls it, and what has come about so far."""

    http: httpx2.AsyncClient
    token: Callable[[str], str]
    """An access token for a subject."""
    issuer: str
    put: Callable[[str, float], None]
    """Changes a value of the control system by hand."""
    data: Path
    """The folder with the disks of the beamline, which the service may read."""
    at_partner: "Day | None" = None
    """The service of a partner facility, if there is one."""
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """What the day speaks of, by what it calls it."""
    touched: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    """The streams that a command has named or begun, by the aggregate's name and the id."""
    position_token: str = "0-0"

    def __post_init__(self) -> None:
        self.rest, self.mcp = Rest(self.http), Mcp(self.http)

    async def send(
        self,
        name: str,
        arguments: Mapping[str, Any],
        as_: str = OPERATOR,
        over: Calling | None = None,
        **options: Any,
    ) -> SurfaceAnswer:
        """Make one call, whatever comes of it."""
        if as_ in {VISITOR, NEXT_VISITOR}:
            options["surface_id"] = self.ids["console"]
        answer = await (over or self.rest).send(self.token(as_), name, arguments, **options)
        self.position_token = answer.position_token or self.position_token
        row = CATALOGUE.named[name]
        if answer.ok and row in CATALOGUE.operations:
            body: Mapping[str, Any] = answer.body or {}
            # An approval tells what the approved command answered.
            for named in (arguments, body, body.get("answer") or {}):
                self.touch(named)
            # A seal has the id of its facility, and few facilities have a seal.
            if row.aggregate.id_name:
                self.touched[row.aggregate.name, arguments[row.aggregate.id_name]] = None
        return answer

    @property
    def partner(self) -> "Day":
        """The service of the partner facility."""
        assert self.at_partner, "there is a partner facility"
        return self.at_partner

    def touch(self, named: Mapping[str, Any]) -> None:
        """Take note of the streams whose ids are named."""
        for kind, aggregate in CATALOGUE.aggregates.items():
            if not aggregate.id_name and (id := named.get(aggregate.id_field)):
                self.touched[kind, id] = None

    async def do(self, name: str, arguments: Mapping[str, Any], **options: Any) -> Any:
        """Make one call that must succeed, and give back its body."""
        answer = await self.send(name, arguments, **options)
        assert answer.ok, (name, answer)
        return answer.body

    async def made(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Let the administrator make something, and give back its id."""
        answer = await self.do(name, arguments, as_=ADMINISTRATOR)
        return answer[CATALOGUE.named[name].aggregate.id_field]

    async def recipe(self, name: str, steps: Steps, closing: Steps = (), **about: Any) -> str:
        """Let the administrator define a recipe and its capability, and give back its id."""
        capability = {
            "code": f"beamkeep.capability.{name}",
            "name": name,
            "required_affordances": [],
            "executor_shapes": ["PROCEDURE"],
            **about,
        }
        made = await self.made("define_capability", capability)
        written = {"steps": steps, "closing_steps": closing}
        recipe = {"name": name, "capability_id": made, **written}
        self.ids[name] = await self.made("define_recipe", recipe)
        self.ids[f"capability of {name}"] = made
        return self.ids[name]

    async def procedure(self, name: str, kind: str, **more: Any) -> Mapping[str, str]:
        """Let the operator register a procedure, and give back its id."""
        return await self.do("register_procedure", {"name": name, "kind": kind, **more})

    async def conducted(
        self, verb: str, procedure: Mapping[str, str], outcome: str = "Completed", **more: Any
    ) -> Mapping[str, Any]:
        """Have a procedure conducted, and give back the conduct once it has ended so."""
        accepted = await self.send(verb, {**procedure, **more})
        assert accepted.status == 202, (verb, accepted)
        about = {**procedure, "conduct_id": accepted.body["conduct_id"]}

        async def ended() -> Mapping[str, Any] | None:
            conduct = await self.do("get_conduct", about)
            return conduct if conduct["status"] == "Ended" else None

        conduct = await until(ended, f"{verb} has ended")
        assert conduct["outcome"] == outcome, conduct
        assert conduct["succeeded"] == (outcome == "Completed")
        return conduct

    async def refused(
        self, code: str, name: str, arguments: Mapping[str, Any], **options: Any
    ) -> Mapping[str, Any]:
        """Make one call that must be refused so, and give back what is said about it."""
        answer = await self.send(name, arguments, **options)
        assert not answer.ok, (name, answer)
        assert answer.body["code"] == code, (name, answer)
        return answer.body

    async def listed(self, name: str, **options: Any) -> list[Mapping[str, Any]]:
        """The first page of a list, once it shows what was written last."""
        as_ = options.pop("as_", ADMINISTRATOR)
        asked = {"limit": 100, "min_token": self.position_token, **options}
        async with asyncio.timeout(PATIENCE):
            while (answer := await self.send(name, asked, as_=as_)).status == 503:
                pass
        assert answer.ok, (name, answer)
        return answer.body["items"]

    async def decided(
        self, agent_id: UUID, choice: str, kind: str, id: str, by: str | None = None
    ) -> None:
        """Find what an agent of the service has decided about something.

        With `by`, the last event of that type must name the decision.
        """
        row = CATALOGUE.aggregates[kind]

        async def recorded() -> Sequence[Mapping[str, Any]]:
            return await self.listed("list_decisions", actor_id=str(agent_id))

        # The list follows what others write at its own time.
        (last, *_) = await until(recorded, f"a decision of {agent_id} is listed")
        decision = await self.do("get_decision", {"decision_id": last["decision_id"]})
        assert (decision["choice"], decision["inputs"][row.id_field]) == (choice, id)
        self.touch({"decision_id": decision["decision_id"]})
        if by:
            about = {row.id_field: id, "limit": 100}
            history = await self.do(f"get_{kind.lower()}_history", about, as_=ADMINISTRATOR)
            (event,) = [each for each in history["items"] if each["event_type"] == by]
            assert event["payload"]["decided_by_decision_id"] == decision["decision_id"]

    async def would_start(self, plan: str = "plan", **more: Any) -> Sequence[str]:
        """The events that a start would write, as a dry run tells."""
        start = {"name": "Rehearsal", "plan_id": self.ids[plan], **more}
        preview = await self.do("start_run", start, dry_run=True)
        return [event["event_type"] for event in preview["events"]]

    async def not_started(self, code: str, plan: str = "plan", **options: Any) -> Mapping[str, Any]:
        """What a start is refused with."""
        start = {"name": "Too early", "plan_id": self.ids[plan]}
        return await self.refused(code, "start_run", start, **options)

    async def permits(self, status: str, *names: str) -> None:
        """Let the interlock report these enclosures."""
        for name in names:
            report = {"permit_status": status, "reason": "Search", "monitor_ref": f"PSS:{name}"}
            about = {"enclosure_id": self.ids[name]}
            await self.do("observe_enclosure_status", {**about, **report}, as_=INTERLOCK)

    async def beam(self, status: str) -> None:
        """Let the ring report its beam."""
        report = {"status": status, "reason": "Stored current", "monitor_ref": "SR:DCCT"}
        about = {"supply_id": self.ids["photon_beam"]}
        await self.do("observe_supply_status", {**about, **report}, as_=RING)

    async def restore_beam(self) -> None:
        """Let the operator declare that there is beam again."""
        about = {"supply_id": self.ids["photon_beam"], "reason": "200 mA, orbit is good"}
        await self.do("restore_supply", about)
