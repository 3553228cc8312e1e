"""Examples of subjects."""

from typing import Any

from beamkeep.testing.examples import CallExample, Do, Make, changed, given
from tests.support.examples.assets import an_active_asset

FOSSIL = {"name": "Fossil 7"}


async def a_subject(do: Do) -> str:
    answer = await do("register_subject", FOSSIL)
    return answer["subject_id"]


async def mount_subject(do: Do) -> dict[str, Any]:
    asset_id, subject_id = await an_active_asset(do), await a_subject(do)
    return {"subject_id": subject_id, "asset_id": asset_id, "reason": "Next in line"}


a_mounted_subject = changed("mount_subject", mount_subject, "subject_id")


def a_subject_after(make: Make, *names: str) -> Make:
    """A subject so made, to which these commands were given."""

    async def made(do: Do) -> str:
        subject_id = await make(do)
        for name in names:
            await do(name, {"subject_id": subject_id})
        return subject_id

    return made


a_measured_subject = a_subject_after(a_mounted_subject, "measure_subject")
a_removed_subject = a_subject_after(a_subject, "remove_subject")

EXAMPLES: dict[str, CallExample] = {
    "register_subject": given(name="Fossil 7"),
    "mount_subject": mount_subject,
    "measure_subject": given(subject_id=a_mounted_subject),
    "dismount_subject": given(subject_id=a_measured_subject, reason="Turned over"),
    "remove_subject": given(subject_id=a_measured_subject),
    "return_subject": given(subject_id=a_removed_subject),
    "store_subject": given(subject_id=a_removed_subject),
    "discard_subject": given(subject_id=a_removed_subject, reason="Broken"),
    "assign_subject_external_id": given(
        subject_id=a_subject, external_id_namespace="igsn", external_id="10.58052/IEJCK00AB"
    ),
    "get_subject": given(subject_id=a_measured_subject),
    "get_subject_history": given(subject_id=a_measured_subject),
    "list_subjects": given(status=["Mounted"]),
}
