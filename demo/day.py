"""A day at a tomography beamline: steps of a few calls each, made by those who would make them.

Every step checks what it is answered, so the same day is a test of the service and the data of
the demonstration. Agents have a part in it: those of the service, and one that calls over MCP.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from uuid_utils.compat import uuid7

from beamkeep.contexts.access.profile import CLEARANCE_EXPIRER, RUN_SUPERVISOR
from beamkeep.contexts.catalogue import CATALOGUE
from beamkeep.contexts.trust import seeded
from beamkeep.testing.waiting import until
from demo import agent, data, debrief, partner
from demo.acting import (
    ADMINISTRATOR,
    AUTHOR,
    CONTROL,
    DEFAULTS,
    FINDING,
    INTERLOCK,
    LOOKING,
    NAMES,
    NEXT_VISITOR,
    OFFICER,
    OPERATOR,
    PARAMETERS,
    PERMITTED,
    RING,
    SCAN_SERVER,
    VISITOR,
    Day,
    Steps,
)


def setpoint(address: str, value: Any, **more: Any) -> Mapping[str, Any]:
    """A step that writes a value."""
    return {"kind": "setpoint", "address": address, "value": value, **more}


def capture(address: str, name: str) -> Mapping[str, Any]:
    """A step that reads a value and keeps it."""
    return {"kind": "capture", "address": address, "capture_name": name}


def near(expected: Any, tolerance: float) -> Mapping[str, Any]:
    """A criterion of a number."""
    return {"kind": "within_tolerance", "expected": expected, "tolerance": tolerance}


REBOOT: Steps = (
    setpoint("TOMO:HEX:REBOOT", 1, repeatable=False),
    {"kind": "action", "name": "pause", "params": {"duration": 0}},
    {"kind": "check", "address": "TOMO:HEX:Y", "criterion": near(0.0, 0.01)},
    capture("TOMO:HEX:Y", "dial"),
)
ENERGY = {"$binding": "energy"}
SET_ENERGY: Steps = (
    setpoint("TOMO:MONO:ENERGY", ENERGY, verify=True),
    {"kind": "check", "address": "TOMO:MONO:ENERGY_RBV", "criterion": near(ENERGY, 0.01)},
    capture("TOMO:MONO:ENERGY_RBV", "energy"),
)
CENTER: Steps = (
    setpoint("TOMO:ROT:CORRECT", 1, repeatable=False),
    capture("TOMO:ROT:CENTER", "center"),
)
FOCUS: Steps = (
    setpoint("TOMO:FOCUS", {"$steering": "focus"}),
    capture("TOMO:FOCUS:SHARPNESS", "sharpness"),
)
VOXELS = 4096
COMPUTE = {"kind": "compute", "job": "reconstruct"}
RECONSTRUCT: Steps = (
    {
        **COMPUTE,
        "parameters": {"voxels": VOXELS},
        "output_uri": "volume.raw",
        "output_name": "volume",
    },
    {**COMPUTE, "input_uris": [{"$output": "volume"}], "capture_name": "volume_size"},
)
HAZARDS = ({"scheme": "ghs", "code": "H317", "mitigation": "Gloves"},)
WIRED = ("optics.shutter", "sample.rotation", "sample.hexapod", "detector.camera")


async def yesterday(day: Day) -> None:
    """What stands there, who comes, and what was written down before the day begins."""
    await let_in(day)
    await found(day)
    await plan_ahead(day)
    await write_recipes(day)
    await bring_papers(day)
    await debrief.suspended(day)
    # Readiness finds clearances and cautions by their lists.
    for name in ("list_clearances", "list_cautions", "list_supplies"):
        assert await day.listed(name), name


async def found(day: Day) -> None:
    """The beamline that was imported, put into service."""
    (site,) = await day.listed("list_facilities")
    day.ids["site"] = site["code"]
    day.touched["Facility", site["facility_id"]] = None
    for kind, name in (("Family", "list_families"), ("Enclosure", "list_enclosures")):
        id_field = CATALOGUE.aggregates[kind].id_field
        for row in await day.listed(name):
            day.ids[row["name"]] = row[id_field]
            day.touched[kind, row[id_field]] = None
    for row in await day.listed("list_assets"):
        (mark,) = [i["value"] for i in row["alternate_identifiers"] if "import:" in i["value"]]
        day.ids[mark.rpartition(":")[2]] = row["asset_id"]
        day.touched["Asset", row["asset_id"]] = None
        if row["tier"] == "Device":
            await day.do("activate_asset", {"asset_id": row["asset_id"]}, as_=ADMINISTRATOR)


async def let_in(day: Day) -> None:
    """Everybody with a login, each under a policy of their own; the visitors at the console."""
    entry = str(seeded.ENTRY)
    (beamline,) = await day.listed("list_assets", tier="Unit")
    console = {"name": "Tomography console", "kind": "HTTP", "conduit_id": entry}
    console["unit_asset_id"] = beamline["asset_id"]
    made = await day.do("define_surface", console, as_=ADMINISTRATOR)
    day.ids["console"] = made["surface_id"]

    async def known(subject: str) -> str:
        named = NAMES.get(subject, subject)
        kind = "human" if subject in NAMES else "service_account"
        login = {"issuer": day.issuer, "subject": subject}
        actor = {"name": named, "kind": kind, "identities": [login]}
        made = await day.do("register_actor", actor, as_=ADMINISTRATOR)
        day.ids[subject] = made["actor_id"]
        return made["actor_id"]

    async def permit(subject: str, surface_id: str, commands: Iterable[str]) -> str:
        policy = {
            "name": f"{subject} at the beamline",
            "conduit_id": entry,
            "surface_id": surface_id,
            "permitted_principal_ids": [day.ids[subject]],
            "permitted_commands": sorted({*commands, "get_self"}),
            "object_scope": "All",
        }
        made = await day.do("define_policy", policy, as_=ADMINISTRATOR)
        return made["policy_id"]

    for subject, commands in PERMITTED.items():
        await known(subject)
        for calling in (day.rest, day.mcp):
            await permit(subject, calling.surface_id, (*commands, *FINDING))
        if subject in NAMES:
            await permit(subject, day.ids["console"], (*commands, *LOOKING))
    now = datetime.now(UTC)
    for subject, proposal in ((VISITOR, "2030-117"), (NEXT_VISITOR, "2030-204")):
        await known(subject)
        visit = {
            "policy_id": await permit(subject, day.ids["console"], (*CONTROL, *FINDING)),
            "parent_surface_id": day.ids["console"],
            "type": "user",
            "planned_start_at": now.isoformat(),
            "planned_end_at": (now + timedelta(days=2)).isoformat(),
            "external_refs": {"proposal": proposal, "esaf": f"E-{proposal}"},
        }
        made = await day.do("register_visit", visit, as_=ADMINISTRATOR)
        day.ids[f"visit of {subject}"] = made["visit_id"]


async def plan_ahead(day: Day) -> None:
    """The recipe, a plan by it, the beam it needs, and the constant it rests on."""
    capability = {
        "code": "beamkeep.capability.tomography",
        "name": "Tomography",
        "required_affordances": ["Rotatable", "Imageable"],
        "executor_shapes": ["METHOD"],
        "parameters_schema": PARAMETERS,
    }
    method = {
        "name": "Fly scan",
        "capability_id": await day.made("define_capability", capability),
        "needed_family_ids": [day.ids["Rotary stage"]],
        "needed_supplies": ["photon_beam"],
        "parameters_schema": PARAMETERS,
    }
    practice = {
        "name": "Fly scan here",
        "method_id": await day.made("define_method", method),
        "facility_code": day.ids["site"],
        "family_ids": [day.ids["Rotary stage"]],
    }
    day.ids["practice"] = await day.made("define_practice", practice)
    plan = {
        "name": "Scan of every day",
        "practice_id": day.ids["practice"],
        "asset_ids": [day.ids[name] for name in WIRED],
        "default_parameters": DEFAULTS,
    }
    day.ids["plan"] = await day.made("define_plan", plan)
    beam = {"kind": "photon_beam", "name": "Ring beam", "facility_code": day.ids["site"]}
    day.ids["photon_beam"] = await day.made("register_supply", beam)
    lost = {"supply_id": day.ids["photon_beam"], "reason": "Machine studies"}
    await day.do("mark_supply_unavailable", lost, as_=ADMINISTRATOR)
    center = {
        "asset_id": day.ids["detector.camera"],
        "quantity": "rotation_center",
        "operating_point": {"energy": 25.0, "optics_config": "5x"},
    }
    day.ids["rotation_center"] = await day.made("define_calibration", center)
    day.ids["phantom"] = await day.made("register_subject", {"name": "Alignment phantom"})


async def write_recipes(day: Day) -> None:
    """The recipes that procedures follow, and a plan that computes without beam."""
    await day.recipe("hexapod_reboot", REBOOT, [setpoint("TOMO:HEX:REBOOT", 0)])
    bound = {"parameters_schema": {**PARAMETERS, "required": ["energy"]}}
    closed = [setpoint("TOMO:SHUTTER", "Closed")]
    await day.recipe("energy_setting", SET_ENERGY, closed, **bound)
    await day.recipe("reconstruction", RECONSTRUCT, executor_shapes=["METHOD", "PROCEDURE"])
    method = {
        "name": "Reconstruction",
        "capability_id": day.ids["capability of reconstruction"],
        "needed_family_ids": [],
        "needed_supplies": ["ComputePool"],
    }
    practice = {
        "name": "Reconstruction here",
        "method_id": await day.made("define_method", method),
        "facility_code": day.ids["site"],
    }
    plan = {
        "name": "Reconstruction of every day",
        "practice_id": await day.made("define_practice", practice),
        "asset_ids": [day.ids["detector.camera"]],
    }
    day.ids["plan of the reconstruction"] = await day.made("define_plan", plan)
    pool = {"kind": "ComputePool", "name": "Cluster", "facility_code": day.ids["site"]}
    ready = {"supply_id": await day.made("register_supply", pool), "reason": "All nodes are up"}
    await day.do("mark_supply_available", ready, as_=ADMINISTRATOR)


async def bring_papers(day: Day) -> None:
    """A clearance handed in for review, and two cautions about the sample's stages."""
    form = {
        "kind": "experiment_safety",
        "facility_code": day.ids["site"],
        "title": "Fossils in resin",
        "bindings": [{"kind": "Asset", "id": day.ids["tomography"]}],
        "hazards": HAZARDS,
        "risk_band": "Yellow",
    }
    made = await day.do("register_clearance", form, as_=AUTHOR)
    day.ids["clearance"] = made["clearance_id"]
    await day.do("submit_clearance", {"clearance_id": day.ids["clearance"]}, as_=AUTHOR)
    entries = (
        ("Warning", "The rotary stage misses its index on the first home after power-up"),
        ("Caution", "The hexapod's Y dial is wrong after a reboot"),
    )
    for severity, text in entries:
        caution = {
            "target": {"kind": "Asset", "id": day.ids["sample"]},
            "category": "OperationalWindow",
            "severity": severity,
            "text": text,
            "workaround": "Home twice and look at the reading",
            "propagate_to_children": True,
        }
        made = await day.do("register_caution", caution, as_=ADMINISTRATOR)
        day.ids[severity] = made["caution_id"]


async def board(day: Day) -> None:
    """The operator opens the console, and three things stand against a run."""
    readiness = await day.do("get_plan_readiness", {"plan_id": day.ids["plan"]})
    against = {
        check["check"]: (check["error"], {fact["id"]: fact["state"] for fact in check["facts"]})
        for check in readiness["checks"]
        if not check["passed"]
    }
    hutches = {day.ids[name]: "Unknown, Active" for name in HUTCHES}
    assert not readiness["ready"]
    assert against == {
        "clearance": ("RunClearanceCoverageMismatchError", {day.ids["clearance"]: "Submitted"}),
        "supply": ("RunRequiresAvailableSupplyError", {day.ids["photon_beam"]: "Unavailable"}),
        "enclosure": ("RunRequiresPermittedEnclosureError", hutches),
    }
    await day.not_started("RunClearanceCoverageMismatchError", dry_run=True)


HUTCHES = ("Optics hutch", "Experiment hutch")


async def observers(day: Day) -> None:
    """Monitors that are bound report; that there is beam again is for a person to say."""
    for name in HUTCHES:
        interlock = {"enclosure_id": day.ids[name], "monitor_id": day.ids[INTERLOCK]}
        await day.do("bind_enclosure_monitor", interlock, as_=ADMINISTRATOR)
    ring = {"supply_id": day.ids["photon_beam"], "monitor_id": day.ids[RING]}
    await day.do("bind_supply_monitor", ring, as_=ADMINISTRATOR)
    await day.permits("Permitted", *HUTCHES)
    await day.permits("Permitted", *HUTCHES)
    await day.beam("Recovering")
    about = {"supply_id": day.ids["photon_beam"], "reason": "Current is back"}
    await day.refused("MonitorTriggerNotPermittedError", "restore_supply", about, as_=RING)
    await day.restore_beam()
    supply = await day.do("get_supply", {"supply_id": day.ids["photon_beam"]}, over=day.mcp)
    assert (supply["status"], supply["last_trigger"]) == ("Available", "Operator")
    gas = {"kind": "nitrogen", "name": "Nitrogen line", "facility_code": day.ids["site"]}
    line = await day.do("register_supply", gas)
    await day.do("mark_supply_available", {**line, "reason": "Pressure is right"})


async def arrival(day: Day) -> None:
    """The visitors are here; their names are kept apart from what is written down for good."""
    for subject in (VISITOR, NEXT_VISITOR):
        await day.do("record_visit_arrival", {"visit_id": day.ids[f"visit of {subject}"]})
    await day.do("start_visit", {"visit_id": day.ids[f"visit of {VISITOR}"]})
    about = {"actor_id": day.ids[VISITOR]}
    actor = await day.do("get_actor", about, as_=ADMINISTRATOR)
    history = await day.do("get_actor_history", about, as_=ADMINISTRATOR)
    assert actor["name"] == NAMES[VISITOR]
    assert NAMES[VISITOR] not in json.dumps(history)


async def safety(day: Day) -> None:
    """The officer reviews the clearance and puts it into force; its author cannot."""
    about = {"clearance_id": day.ids["clearance"]}
    await reviewed(day, about)
    until = {"valid_until": (datetime.now(UTC) + timedelta(hours=12)).isoformat()}
    await day.refused("UnauthorizedError", "approve_clearance", {**about, **until}, as_=AUTHOR)
    of = {"conduit_id": str(seeded.ENTRY)}
    denials = await day.do("list_conduit_denials", of, as_=ADMINISTRATOR)
    denied = denials["items"][0]
    assert (denied["command_name"], denied["principal_id"]) == (
        "approve_clearance",
        day.ids[AUTHOR],
    )
    await day.do("approve_clearance", {**about, **until}, as_=OFFICER)
    await day.do("activate_clearance", about, as_=OFFICER, over=day.mcp)
    shown = await day.do("get_clearance", about, as_=AUTHOR)
    assert (shown["status"], shown["in_force"]) == ("Active", True)


async def reviewed(day: Day, about: Mapping[str, str]) -> None:
    """The officer has reviewed a clearance."""
    await day.do("start_clearance_review", about, as_=OFFICER)
    step = {"role": "Safety officer", "decision": "Approved", "notes": "Seen in person"}
    await day.do("append_clearance_review_step", {**about, **step}, as_=OFFICER)


async def control(day: Day) -> None:
    """The visit takes control of the console; the next one must wait."""
    take, first = "take_visit_surface_control", day.ids[f"visit of {VISITOR}"]
    await day.do(take, {"visit_id": first}, as_=VISITOR)
    second = {"visit_id": day.ids[f"visit of {NEXT_VISITOR}"]}
    problem = await day.refused("VisitCannotTakeControlError", take, second, as_=NEXT_VISITOR)
    assert problem["held_by_visit_id"] == first


async def cautions(day: Day) -> None:
    """What is known of the stages above is shown for the hexapod, and before a start."""
    both = {day.ids["Warning"], day.ids["Caution"]}
    readiness = await day.do("get_plan_readiness", {"plan_id": day.ids["plan"]}, over=day.mcp)
    assert readiness["ready"]
    assert {each["caution_id"] for each in readiness["cautions"]} == both
    asked = {"covering_asset_id": day.ids["sample.hexapod"], "in_effect": True}
    listed = await day.listed("list_cautions", as_=OPERATOR, **asked)
    assert {each["caution_id"] for each in listed} == both


async def fault(day: Day) -> None:
    """The hexapod fails and is taken in hand: two axes, and neither stands against a start."""
    hexapod = {"asset_id": day.ids["sample.hexapod"]}
    await day.do("fault_asset", {**hexapod, "reason": "It does not answer"})
    await day.do("enter_asset_maintenance", hexapod)
    mount = {"subject_id": day.ids["phantom"], **hexapod, "reason": "Alignment"}
    await day.refused("SubjectMountTargetUnavailableError", "mount_subject", mount)
    assert await day.would_start() == ["RunStarted"]


async def recovery(day: Day) -> None:
    """The hexapod is rebooted by its recipe; its dial is wrong once, and set by hand."""
    hexapod = {"asset_id": day.ids["sample.hexapod"]}
    follows = {"recipe": {"recipe_id": day.ids["hexapod_reboot"]}}
    about = await day.procedure(
        "Reboot the hexapod", "recovery", target_asset_ids=[*hexapod.values()], **follows
    )
    closing = {**about, "phase": "Closing"}
    held = await day.conducted("conduct_or_hold_procedure", about, "Held")
    failure = held["failure"]
    assert (failure["step_index"], failure["error_class"]) == (2, "CheckFailedError")
    assert (await day.do("get_procedure", about))["status"] == "Held"
    assert not (await day.do("list_procedure_activities", closing))["items"]
    day.put("TOMO:HEX:Y", 0.0)
    done = await day.conducted("conduct_from_procedure", about, from_step_index=2)
    assert done["captures"] == {"dial": 0.0}
    assert (await day.do("list_procedure_activities", closing, over=day.mcp))["items"]
    await day.do("restore_asset", {**hexapod, "reason": "Rebooted"})
    await day.do("exit_asset_maintenance", hexapod)


async def energy(day: Day) -> None:
    """The energy is set by its recipe; a value that the capability does not know binds nothing."""

    def by(energy: float) -> Mapping[str, Any]:
        return {"recipe": {"recipe_id": day.ids["energy_setting"], "bindings": {"energy": energy}}}

    wrong = {"name": "Set 60 keV", "kind": "energy_setting", **by(60.0)}
    await day.refused("InvalidProcedureBindingsError", "register_procedure", wrong)
    about = await day.procedure("Set 25 keV", "energy_setting", **by(25.0))
    done = await day.conducted("conduct_procedure", about)
    assert done["captures"] == {"energy": 25.0}
    assert (done["actuation_kind"], done["closing_failures"]) == ("Simulated", [])


async def hutch_opened(day: Day) -> None:
    """While a hutch is open nothing starts; once both are searched, the same starts pass."""
    optics, experiment = HUTCHES
    assets = [day.ids["optics.shutter"], day.ids["sample.rotation"]]
    about = await day.procedure("Look at the beam", "beam_check", target_asset_ids=assets)
    await day.permits("NotPermitted", experiment)
    await day.not_started("RunEnclosureCoverageMismatchError")
    mixed = "ProcedureEnclosureCoverageMismatchError"
    problem = await day.refused(mixed, "start_procedure", about)
    assert {fact["id"] for fact in problem["facts"]} == {day.ids[name] for name in HUTCHES}
    await day.permits("NotPermitted", optics)
    problem = await day.not_started("RunRequiresPermittedEnclosureError", over=day.mcp)
    assert {fact["id"] for fact in problem["facts"]} == {day.ids[name] for name in HUTCHES}
    await day.permits("Permitted", *HUTCHES)
    assert await day.would_start() == ["RunStarted"]
    await day.do("start_procedure", about)
    await day.do("complete_procedure", about)


async def levelled(day: Day) -> None:
    """The stage is levelled in one pass, by hand."""
    asset = day.ids["sample.rotation"]
    about = await day.procedure("Level the stage", "stage_levelling", target_asset_ids=[asset])
    await day.do("start_procedure", about)
    await day.do("start_iteration", {**about, "iteration_index": 1})
    tilt = {"iteration_index": 1, "converged": True, "value": 0.02}
    await day.do("end_iteration", {**about, **tilt}, over=day.mcp)
    await day.do("complete_procedure", about)


async def centered(day: Day) -> None:
    """The rotation axis is corrected until it is found where it belongs: the fourth time."""
    asset = day.ids["sample.rotation"]
    about = await day.procedure("Centre the axis", "center_alignment", target_asset_ids=[asset])
    loop: Mapping[str, Any] = {
        "steps": CENTER,
        "capture_name": "center",
        "criterion": near(1024.0, 0.05),
    }
    await day.conducted("conduct_until_converged", about, **loop)
    passes = (await day.do("list_procedure_iterations", about))["items"]
    assert [each["converged"] for each in passes] == [False, False, False, True]
    revision = {
        "calibration_id": day.ids["rotation_center"],
        "value": {"center": passes[-1]["value"], "uncertainty": 0.05},
        "status": "Verified",
        "source": {"kind": "Measured", **about},
    }
    made = await day.do("append_calibration_revision", revision)
    day.ids["revision"] = made["revision_id"]


async def focused(day: Day) -> None:
    """An advisor walks a grid of focus positions until it has seen them all."""
    asset = day.ids["detector.focus"]
    about = await day.procedure("Focus the camera", "focus_search", target_asset_ids=[asset])
    search: Mapping[str, Any] = {
        "steps": FOCUS,
        "advisor": {"name": "grid_walk", "options": {"points_per_axis": 5}},
        "objective": {"kind": "Maximize", "capture_name": "sharpness"},
        "space": {"axes": [{"name": "focus", "lower": -1.0, "upper": 1.0}]},
    }
    await day.conducted("conduct_until_advised", about, **search)
    passes = (await day.do("list_procedure_iterations", about))["items"]
    assert [each["advised_stop"] for each in passes] == [False, False, False, False, True]
    best = max(passes, key=lambda each: each["value"])
    assert best["coordinate"] == {"focus": 0.5}


async def sample(day: Day) -> None:
    """A sample is put on the hexapod; nothing waits for its identifier."""
    made = await day.do("register_subject", {"name": "Fossil 7"})
    day.ids["fossil"] = made["subject_id"]
    mount = {"asset_id": day.ids["sample.hexapod"], "reason": "First in line"}
    await day.do("mount_subject", {**made, **mount}, over=day.mcp)
    subject = await day.do("get_subject", made)
    assert (subject["status"], subject["external_id"]) == ("Mounted", None)


async def plan(day: Day) -> None:
    """A plan with the second camera, once that is known to be one."""
    second = "detector.second"
    wanted = {
        "name": "Scan with the second camera",
        "practice_id": day.ids["practice"],
        "asset_ids": [day.ids[name] for name in (*WIRED[:3], second)],
        "default_parameters": DEFAULTS,
    }
    problem = await day.refused("PlanAffordancesNotSatisfiedError", "define_plan", wanted)
    assert problem["affordances"] == ["Imageable"]
    is_one = {"asset_id": day.ids[second], "family_id": day.ids["Camera"]}
    await day.do("add_asset_family", is_one)
    misfit = {**wanted, "default_parameters": {**DEFAULTS, "exposure": "0.05"}}
    await day.refused("InvalidPlanDefaultParametersError", "define_plan", misfit)
    made = await day.do("define_plan", wanted, over=day.mcp)
    day.ids["plan of the day"] = made["plan_id"]


async def dry_run(day: Day) -> None:
    """A rehearsal shows what would be written, and writes nothing."""
    about = {"subject_id": day.ids["fossil"]}
    assert await day.would_start("plan of the day", **about) == ["RunStarted"]
    of_it = {"plan_id": day.ids["plan of the day"]}
    assert not await day.listed("list_runs", as_=OPERATOR, **of_it)


async def run_1(day: Day) -> None:
    """A flaky client starts the run twice, and there is one; the scan server tells how it goes."""
    start = {
        "name": "Run 1",
        "plan_id": day.ids["plan of the day"],
        "subject_id": day.ids["fossil"],
        "override_parameters": {"exposure": 0.1},
        "pinned_calibration_ids": [day.ids["revision"]],
    }
    first, again = [
        await day.send("start_run", start, idempotency_key=f"run-1-{day.ids['fossil']}")
        for _ in range(2)
    ]
    assert first.ok, first
    assert (first.replayed, again.replayed) == (False, True)
    assert first.body == again.body
    day.ids["run 1"] = first.body["run_id"]
    (listed,) = await day.listed("list_runs", as_=OPERATOR, plan_id=start["plan_id"])
    assert listed["run_id"] == day.ids["run 1"]
    run = await day.do("get_run", {"run_id": day.ids["run 1"]})
    assert run["pinned_calibration_ids"] == [day.ids["revision"]]
    assert run["effective_parameters"] == {**DEFAULTS, "exposure": 0.1}
    acknowledged = {each["caution_id"] for each in run["acknowledged_cautions"]}
    assert acknowledged == {day.ids["Warning"], day.ids["Caution"]}
    await progress(day, day.ids["run 1"])


async def progress(day: Day, run_id: str) -> None:
    """A batch of readings, sent twice and stored once."""
    now = datetime.now(UTC)
    entries = [
        {
            "observation_id": str(uuid7()),
            "channel_name": channel,
            "value": start + step * number,
            "unit": {"system": "udunits", "code": unit},
            "sampling_procedure": "monitor",
            "sampled_at": (now + timedelta(milliseconds=number)).isoformat(),
            "simulated": True,
        }
        for number in range(50)
        for channel, start, step, unit in (
            ("Rotation angle", 0.0, 3.6, "degree"),
            ("Ring current", 200.0, -0.01, "mA"),
        )
    ]
    batch = {"run_id": run_id, "entries": entries}
    for counts in ((100, 0), (0, 100)):
        counted = await day.do("append_observations", batch, as_=SCAN_SERVER)
        assert (counted["appended_count"], counted["duplicate_count"]) == counts
    asked = {"run_id": run_id, "channel_name": "Ring current", "limit": 100}
    shown = await day.do("list_run_observations", asked, over=day.mcp)
    assert len(shown["items"]) == 50


async def beam_dump(day: Day) -> None:
    """The beam goes and RunSupervisor holds the run; the beam is back, the operator resumes it."""
    about = {"run_id": day.ids["run 1"]}

    async def held() -> Mapping[str, Any] | None:
        run = await day.do("get_run", about)
        return run if run["status"] == "Held" else None

    await day.beam("Unavailable")
    run = await until(held, "RunSupervisor has held the run")
    assert run["last_status_reason"] == "beam lost"
    await day.decided(RUN_SUPERVISOR, "Hold", "Run", about["run_id"], by="RunHeld")
    await day.beam("Unavailable")
    await day.refused("RunCannotHoldError", "hold_run", about)
    await day.beam("Recovering")
    await day.restore_beam()
    assert (await day.do("get_run", about))["status"] == "Held"
    await day.do("resume_run", about, over=day.mcp)


async def truncation(day: Day) -> None:
    """A run of a campaign dies unnoticed, is closed, and another joins in its place."""
    campaign = {"campaign_id": day.ids["campaign"]}
    start = {"plan_id": day.ids["plan of the day"], "subject_id": day.ids["fossil"]}
    dead = await day.do("start_run", {**start, **campaign, "name": "Run 23"})
    died = {"run_id": dead["run_id"], "interrupted_at": datetime.now(UTC).isoformat()}
    running = await day.listed("list_runs", as_=OPERATOR, status="Running")
    assert [run["run_id"] for run in running] == [dead["run_id"]]
    await day.do("truncate_run", {**died, "reason": "The detector's host lost power"})
    subject = await day.do("get_subject", {"subject_id": day.ids["fossil"]})
    assert subject["mounted_on_asset_id"] == day.ids["sample.hexapod"]
    again = await day.do("start_run", {**start, "name": "Run 23b"}, over=day.mcp)
    day.ids["run 23b"] = again["run_id"]
    await day.do("add_run_to_campaign", {**campaign, "run_id": again["run_id"]})
    members = await day.listed("list_runs", as_=OPERATOR, **campaign)
    assert {run["name"] for run in members} >= {"Run 23", "Run 23b"}
    assert len(members) == agent.SAMPLES + 2


async def reconstructed(day: Day) -> None:
    """A run computes: its procedure makes a volume in one step and measures it in the next."""
    start = {"name": "Reconstruction of run 1", "plan_id": day.ids["plan of the reconstruction"]}
    pins = {"pinned_calibration_ids": [day.ids["revision"]]}
    run = await day.do("start_run", {**start, **pins})
    day.ids["run of the reconstruction"] = run["run_id"]
    follows = {"recipe": {"recipe_id": day.ids["reconstruction"]}}
    about = await day.procedure(
        "Reconstruct", "reconstruction", parent_run_id=run["run_id"], **follows
    )
    done = await day.conducted("conduct_procedure", about)
    made = {**about, "step_index": 0, "stage": "Succeeded"}
    (row,) = (await day.do("list_procedure_activities", made))["items"]
    artifact = row["detail"]["artifact"]
    assert (artifact["checksum_algorithm"], artifact["byte_size"]) == ("sha256", VOXELS)
    assert done["outputs"] == {"volume": artifact["uri"]}
    assert done["captures"] == {"volume_size": VOXELS}
    await day.do("complete_run", {"run_id": run["run_id"]})


async def close(day: Day) -> None:
    """Everything is put away."""
    await day.do("complete_run", {"run_id": day.ids["run 23b"]})
    for name in ("remove_subject", "return_subject"):
        await day.do(name, {"subject_id": day.ids["fossil"]})
    visit = {"visit_id": day.ids[f"visit of {VISITOR}"]}
    await day.do("release_visit_surface_control", visit, as_=VISITOR)
    await day.do("complete_visit", visit, over=day.mcp)
    await day.do("close_campaign", {"campaign_id": day.ids["campaign"]})


VALID = timedelta(seconds=5)
"""How long the clearance of the evening is valid."""


async def expired(day: Day) -> None:
    """An amended clearance ends by itself when its time has come, and nothing starts."""
    form = {"title": "Fossils in resin, until the evening", "hazards": HAZARDS}
    amended = {"bindings": [{"kind": "Asset", "id": day.ids["tomography"]}], **form}
    about = {"clearance_id": day.ids["clearance"]}
    about = await day.do("amend_clearance", {**about, **amended}, as_=AUTHOR)
    await day.do("submit_clearance", about, as_=AUTHOR)
    await reviewed(day, about)
    until_then = {"valid_until": (datetime.now(UTC) + VALID).isoformat()}
    await day.do("approve_clearance", {**about, **until_then}, as_=OFFICER)
    await day.do("activate_clearance", about, as_=OFFICER)

    async def over() -> bool:
        shown = await day.do("get_clearance", about, as_=OFFICER)
        return shown["status"] == "Expired"

    await until(over, "ClearanceExpirer has ended the clearance")
    await day.decided(CLEARANCE_EXPIRER, "Expire", "Clearance", about["clearance_id"])
    await day.not_started("RunClearanceCoverageMismatchError", "plan of the day")


class Step(NamedTuple):
    """One step of the day, and the events it leaves, in the order of the log if that is certain."""

    number: int
    time: str
    act: Callable[[Day], Awaitable[None]]
    leaves: tuple[str, ...] = ()
    in_order: bool = True


PERMIT = "EnclosurePermitObserved"
REGISTERED, COMPLETED, ENDED = "ProcedureRegistered", "ProcedureCompleted", "ProcedureConductEnded"
ASKED = ("ProcedureStarted", "ProcedureConductRequested")
PASS = ("ProcedureIterationStarted", "ProcedureIterationEnded")
STORAGE = ("SupplyRegistered", "SupplyMarkedAvailable")
BASELINE = ("RunStarted", "RunCompleted", "DatasetRegistered")
CHECKED = ("AttestationRecorded", "DistributionVerified")
DERIVED = ("DatasetRegistered", "DatasetPromoted")
# fmt: off
STEPS = (
    Step(1, "07:30", board),
    Step(2, "07:40", observers, ("EnclosureMonitorBound", "EnclosureMonitorBound",
        "SupplyMonitorBound", PERMIT, PERMIT, "SupplyMarkedRecovering", "SupplyRestored",
        "SupplyRegistered", "SupplyMarkedAvailable")),
    Step(3, "08:00", arrival, ("VisitArrived", "VisitArrived", "VisitStarted")),
    Step(4, "08:05", safety, ("ClearanceReviewStarted", "ClearanceReviewStepAppended",
        "ClearanceApproved", "ClearanceActivated")),
    Step(5, "08:10", control, ("VisitSurfaceControlTaken",)),
    Step(6, "08:15", cautions),
    Step(7, "08:20", fault, ("AssetFaulted", "AssetMaintenanceEntered")),
    Step(8, "08:25", recovery, (REGISTERED, *ASKED, "ProcedureHeld", ENDED, "ProcedureResumed",
        "ProcedureConductRequested", "ProcedureConductWalked", COMPLETED, ENDED,
        "AssetRestored", "AssetMaintenanceExited")),
    Step(9, "08:45", energy, (REGISTERED, *ASKED, "ProcedureConductWalked", COMPLETED, ENDED)),
    Step(10, "08:55", hutch_opened, (REGISTERED, PERMIT, PERMIT, PERMIT, PERMIT,
        "ProcedureStarted", COMPLETED)),
    Step(11, "09:05", levelled, (REGISTERED, "ProcedureStarted", *PASS, COMPLETED)),
    Step(11, "09:08", centered, (REGISTERED, *ASKED, *PASS, *PASS, *PASS, *PASS, COMPLETED, ENDED,
        "CalibrationRevisionAppended")),
    Step(11, "09:14", focused, (REGISTERED, *ASKED, *PASS, *PASS, *PASS, *PASS, *PASS, COMPLETED,
        ENDED)),
    Step(12, "09:20", data.baselines, (*STORAGE, *STORAGE, *BASELINE, *BASELINE)),
    Step(13, "09:30", sample, ("SubjectRegistered", "SubjectMounted")),
    Step(14, "09:35", plan, ("AssetFamilyAdded", "PlanDefined")),
    Step(15, "09:40", dry_run),
    Step(16, "09:41", run_1, ("RunStarted",)),
    Step(17, "09:44", beam_dump, ("SupplyMarkedUnavailable", "DecisionRegistered", "RunHeld",
        "SupplyMarkedRecovering", "SupplyRestored", "RunResumed")),
    Step(18, "09:54", debrief.engaged, debrief.ENGAGED),
    Step(18, "09:55", debrief.ended, debrief.ENDED, in_order=False),
    Step(19, "10:00", agent.let_in, ("AgentDefined", "ActorRegistered", "AgentVersioned",
        "ActorIdentityBound", "PolicyDefined")),
    Step(19, "10:05", agent.campaign, ("CampaignRegistered", "CampaignStarted",
        *agent.SAMPLE * (agent.SAMPLES - 1), *agent.LAST)),
    Step(19, "12:50", debrief.without_budget, debrief.DEFERRED),
    Step(20, "13:10", truncation, ("RunStarted", "RunAddedToCampaign", "CampaignRunAdded",
        "RunTruncated", "RunStarted", "CampaignRunAdded", "RunAddedToCampaign")),
    Step(21, "14:00", data.ingested, ("DatasetRegistered", "DistributionRegistered",
        "AcquisitionRecorded")),
    Step(21, "14:10", data.custody, (*CHECKED, "DistributionRegistered", "AttestationRecorded",
        "DistributionMarkedStale", *CHECKED, "DistributionDiscarded")),
    Step(22, "15:00", reconstructed, ("RunStarted", REGISTERED, *ASKED, COMPLETED, ENDED,
        "RunCompleted")),
    Step(22, "15:20", data.promoted, (*["DatasetPromoted"] * 3, *DERIVED * data.VOLUMES)),
    Step(23, "16:30", data.bad_constant, (*["DatasetDemoted"] * data.VOLUMES,
        "CalibrationRevisionAppended", "RunStarted", "RunCompleted", *DERIVED)),
    Step(24, "19:00", close, ("RunCompleted", "SubjectRemoved", "SubjectReturned",
        "VisitSurfaceControlReleased", "VisitCompleted", "CampaignClosed")),
    Step(24, "20:00", expired, ("ClearanceRegistered", "ClearanceSubmitted",
        "ClearanceReviewStarted", "ClearanceReviewStepAppended", "ClearanceApproved",
        "ClearanceActivated", "ClearanceSuperseded", "DecisionRegistered", "ClearanceExpired")),
    Step(25, "weeks later", data.published, (*["DistributionRegistered", *CHECKED] * 3,
        "EditionRegistered", "EditionSealed", *["DatasetSealedIntoEdition"] * 4,
        "EditionPublished", "EditionExternalIdAssigned")),
    Step(25, "weeks later", partner.agreed, (*["CredentialRegistered"] * 3,
        *["FacilityTrustAnchorCredentialAdded"] * 2, "SealInitialized", "SealPointerSigned",
        "FacilityRegistered", "PermitDefined", "PermitActivated")),
    Step(25, "weeks later", partner.exchanged, ("SealPointerSigned",)),
    Step(25, "weeks later", partner.forgotten, ("ActorProfileForgotten",)),
)
# fmt: on
_ACTS = [step.act for step in STEPS]
UNTIL_RUN_1 = STEPS[: _ACTS.index(beam_dump) + 1]
"""The day as far as the demonstration takes it: its run continues."""
WITHOUT_PARTNER = STEPS[: _ACTS.index(partner.agreed)]
"""The day as far as one facility lives it alone."""
