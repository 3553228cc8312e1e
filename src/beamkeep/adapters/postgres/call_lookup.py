"""The statement that reads everything a call needs before it decides."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast
from uuid import UUID

from beamkeep.kernel import ActorKind, DenialReason, Grant, ObjectScope, Standing, replace
from beamkeep.runtime.store import (
    CallContext,
    CallLookup,
    LoadedStream,
    Memory,
    Position,
    Snapshot,
    StoredAnswer,
    StoredEvent,
)

from .sights import CURRENT
from .statements import Statement

KINDS = {kind.value: kind for kind in ActorKind}

# A caller without permission causes no access to the answer, the snapshot or the stream, so the
# response time reveals nothing about them.
PERMITTED = "w.barred IS NULL AND w.agent_barred IS NULL AND w.grants <> '{}'"

# The caller with its grants, the stored answer, the snapshot and the events of the target, in one
# round trip that takes no transaction id. The caller is a sub-select and not a join: then every
# part is found by its whole key, even with a plan that was made when the tables were empty.
OPEN = Statement(f"""
WITH who AS MATERIALIZED (
  SELECT s.principal_id, s.kind, s.barred, s.agent_barred, s.agent_kind, s.tools, ARRAY(
           SELECT concat_ws(' ', g.policy_id, g.object_scope, CASE
                  WHEN :command_name::text IS NULL THEN array_to_string(
                    g.permitted_commands || ARRAY['?'] || g.proposable_commands, ' ')
                  WHEN g.permitted_commands && ARRAY[:command_name::text, '*']
                  THEN :command_name::text ELSE '? ' || :command_name::text END)
             FROM bk.policy_grant g
            WHERE g.principal_id = s.principal_id AND g.conduit_id = :conduit_id::uuid
              AND g.surface_id IS NOT DISTINCT FROM :surface_id::uuid
              AND (:command_name::text IS NULL
                   OR g.permitted_commands && ARRAY[:command_name::text, '*']
                   OR :proposable::boolean
                      AND g.proposable_commands && ARRAY[:command_name::text, '*'])) AS grants
    FROM bk.principal_standing s
   WHERE s.principal_id = COALESCE(:principal_id::uuid,
           (SELECT i.actor_id FROM bk.actor_identity i
             WHERE i.issuer = :issuer AND i.subject = :subject)))
SELECT 1 AS part, w.principal_id AS id, w.kind AS a, w.barred AS b, NULL::bigint AS n,
       NULL::smallint AS m, w.grants, NULL::bytea AS digest,
       CASE WHEN w.agent_kind IS NOT NULL
            THEN ARRAY[COALESCE(w.agent_barred, ''), w.agent_kind] || w.tools END AS agent
  FROM who w
UNION ALL
SELECT 2, NULL, i.result, i.transaction_id::text || '-' || i.position, i.version, i.status, NULL,
       i.fingerprint, NULL
  FROM bk.idempotency i
 WHERE i.principal_id = (SELECT w.principal_id FROM who w WHERE {PERMITTED})
   AND i.surface_id = :surface_id::uuid AND i.key = :idempotency_key::text
UNION ALL
SELECT 3, (SELECT e.principal_id FROM bk.events e
            WHERE e.stream_type = :stream_type::text AND e.stream_id = :stream_id::uuid
              AND e.version = 1), k.state, NULL, k.version, NULL, NULL, NULL, NULL
  FROM bk.snapshots k
 WHERE k.fold = (SELECT :fold::uuid FROM who w WHERE {PERMITTED})
   AND k.stream_type = :stream_type::text AND k.stream_id = :stream_id::uuid
UNION ALL
(SELECT 4, CASE WHEN e.version = 1 THEN e.principal_id END, e.event_type, e.payload::text,
        e.version, e.schema_version, NULL, NULL, NULL
   FROM bk.events e
  WHERE e.stream_type = :stream_type::text AND e.stream_id = :stream_id::uuid AND e.version > (
    SELECT COALESCE((SELECT k.version FROM bk.snapshots k
                      WHERE k.fold = :fold::uuid AND k.stream_type = :stream_type::text
                        AND k.stream_id = :stream_id::uuid), 0)
      FROM who w WHERE {PERMITTED})
  ORDER BY e.version LIMIT :limit)
UNION ALL
SELECT 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM bk.object_team o JOIN bk.team_member m ON m.team_id = o.team_id
 WHERE o.object_id = (SELECT :stream_id::uuid FROM who w
                       WHERE {PERMITTED} AND array_to_string(w.grants, ',') LIKE '% Team %')
   AND m.principal_id = (SELECT w.principal_id FROM who w) AND {CURRENT}
UNION ALL
SELECT 6, c.visit_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM bk.surface_control c
 WHERE c.surface_id = (SELECT :surface_id::uuid WHERE :creates::boolean)
""")  # noqa: S608


def call_context(
    lookup: CallLookup, rows: Iterable[Sequence[Any]], memory: Memory | None
) -> CallContext:
    """Return what the statement found, from its rows."""
    standing, stored_answer, owner_id, snapshot, is_member = None, None, None, None, False
    controlling = () if lookup.creates else None
    grants: tuple[Grant, ...] = ()
    events: list[StoredEvent] = []
    for part, id, a, b, n, m, granted, digest, agent in rows:
        if part == 4:
            events.append(cast("StoredEvent", (n, a, m, b)))
            owner_id = owner_id or id
        elif part == 1:
            standing = _standing(id, a, b, agent)
            grants = _grants(lookup, id, granted)
        elif part == 2:
            stored_answer = StoredAnswer(
                fingerprint=digest,
                status=m,
                result=a.encode(),
                version=n,
                position=Position(*map(int, b.split("-"))) if b else None,
            )
        elif part == 3:
            snapshot, owner_id = Snapshot(n, a.encode()), id
        elif part == 5:
            is_member = True
        else:
            controlling = (id,)
    return CallContext(
        standing=standing,
        grants=grants,
        stored_answer=stored_answer,
        owner_id=owner_id,
        is_member=is_member,
        controlling=controlling,
        loaded=LoadedStream(events or (), snapshot),
        memory=memory,
    )


def _standing(id: UUID, kind: str, barred: str | None, agent: Sequence[str] | None) -> Standing:
    standing = Standing(id, KINDS[kind], barred=_reason(barred))
    if agent is None:
        return standing
    agent_barred, agent_kind, *tools = agent
    return replace(
        standing, agent_barred=_reason(agent_barred), agent_kind=agent_kind, tools=tuple(tools)
    )


def _reason(code: str | None) -> DenialReason | None:
    return DenialReason(code) if code else None


def _grants(lookup: CallLookup, principal_id: UUID, granted: Sequence[str]) -> tuple[Grant, ...]:
    if lookup.conduit_id is None:
        return ()
    return tuple(
        Grant(
            policy_id=policy_id,
            principal_id=principal_id,
            conduit_id=lookup.conduit_id,
            surface_id=lookup.surface_id,
            permitted_commands=permitted,
            object_scope=scope,
            proposable_commands=proposable,
        )
        for policy_id, scope, permitted, proposable in map(_parse_grant, granted)
    )


@lru_cache(maxsize=4096)
def _parse_grant(text: str) -> tuple[UUID, ObjectScope, tuple[str, ...], tuple[str, ...]]:
    """Return policy, scope, permitted and proposable commands of a grant that was read.

    Found for one command, a grant has only that one, with a question mark before it if the
    command can be proposed only.
    """
    policy_id, scope, *commands = text.split(" ")
    at = commands.index("?") if "?" in commands else len(commands)
    permitted, proposable = tuple(commands[:at]), tuple(commands[at + 1 :])
    return UUID(policy_id), ObjectScope(scope), permitted, proposable
