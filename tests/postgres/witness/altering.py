"""Everything that the owner of a database could do to the record behind the witness."""

from base64 import b64encode
from collections.abc import Callable
from random import Random

from beamkeep.testing.database import Database

# What a superuser does first, and nobody notices.
UNGUARDED = "ALTER TABLE bk.events DISABLE TRIGGER ALL"

type Alteration = Callable[[Database, Random, int], str]
"""Alters what a checkpoint covers, up to a transaction; returns what verify must say of it."""


def _positions(database: Database, tx: int) -> list[object]:
    statement = """SELECT position FROM bk.events WHERE transaction_id::text::bigint <= %s
                    ORDER BY transaction_id, position"""
    return [position for (position,) in database.ask(statement, tx)]


def _position(database: Database, dice: Random, tx: int) -> object:
    return dice.choice(_positions(database, tx))


def _named(database: Database, position: object) -> str:
    ((kind, id, version),) = database.ask(
        "SELECT stream_type, stream_id, version FROM bk.events WHERE position = %s", position
    )
    return f"{kind} {id} version {version}"


def payload(database: Database, dice: Random, tx: int) -> str:
    """One letter more in one payload."""
    position = _position(database, dice, tx)
    database.ask(
        "UPDATE bk.events SET payload = (payload::text || ' ')::json WHERE position = %s", position
    )
    return f"{_named(database, position)} is not what was signed there"


def envelope(database: Database, dice: Random, tx: int) -> str:
    """Another time, principal, command, cause or surface."""
    column, value = dice.choice(
        [
            ("occurred_at", "occurred_at + interval '1 microsecond'"),
            ("recorded_at", "recorded_at - interval '1 day'"),
            ("principal_id", "gen_random_uuid()"),
            ("surface_id", "CASE WHEN surface_id IS NULL THEN gen_random_uuid() END"),
            ("causation_id", "CASE WHEN causation_id IS NULL THEN gen_random_uuid() END"),
            ("correlation_id", "gen_random_uuid()"),
            ("command_name", "command_name || 'x'"),
            ("event_type", "event_type || 'x'"),
            ("event_id", "gen_random_uuid()"),
            ("schema_version", "(schema_version + 1)::smallint"),
        ]
    )
    position = _position(database, dice, tx)
    database.ask(f"UPDATE bk.events SET {column} = {value} WHERE position = %s", position)
    return f"{_named(database, position)} is not what was signed there"


def order(database: Database, dice: Random, tx: int) -> str:
    """Two events change places."""
    one, other = sorted(str(_position(database, dice, tx)) for _ in range(2))
    if one == other:
        return payload(database, dice, tx)
    database.ask(
        f"""UPDATE bk.events e SET position = o.position, transaction_id = o.transaction_id
              FROM bk.events o
             WHERE e.position IN ({one}, {other}) AND o.position IN ({one}, {other})
               AND e.position <> o.position"""
    )
    return "Leaf "


def deletion(database: Database, dice: Random, tx: int) -> str:
    """One event is gone."""
    database.ask("DELETE FROM bk.events WHERE position = %s", _position(database, dice, tx))
    return "does not have the root that was signed"


INSERT_LIKE = """
INSERT INTO bk.events (position, transaction_id, version, stream_id, event_id, principal_id,
         correlation_id, occurred_at, recorded_at, schema_version, stream_type, event_type,
         command_name, payload)
SELECT %s, transaction_id, 1, gen_random_uuid(), gen_random_uuid(), principal_id, correlation_id,
       occurred_at, recorded_at, schema_version, stream_type, event_type, command_name, payload
  FROM bk.events WHERE position = %s
"""


def insertion(database: Database, dice: Random, tx: int) -> str:
    """One event more, in the middle."""
    positions = _positions(database, tx)
    position = dice.choice(positions)
    database.ask(INSERT_LIKE, position, position)
    # Beside the last event, it may be behind all that was signed.
    is_last = position == positions[-1]
    return "something was inserted" if is_last else "does not have the root that was signed"


def addition(database: Database, dice: Random, tx: int) -> str:
    """One event more, in the last transaction that was signed."""
    last = _positions(database, tx)[-1]
    database.ask(INSERT_LIKE, dice.randint(10**6, 10**9), last)
    return "something was inserted"


def truncation(database: Database, dice: Random, tx: int) -> str:
    """The end of the log is gone."""
    database.ask("DELETE FROM bk.events WHERE position >= %s", _position(database, dice, tx))
    return "truncated"


def swapped(database: Database, dice: Random, tx: int) -> str:
    """Two events have each other's payload."""
    one, other = (_position(database, dice, tx) for _ in range(2))
    (((first,),), ((second,),)) = (
        database.ask("SELECT payload::text FROM bk.events WHERE position = %s", each)
        for each in (one, other)
    )
    if first == second:
        return payload(database, dice, tx)
    for position, text in ((one, second), (other, first)):
        database.ask("UPDATE bk.events SET payload = %s WHERE position = %s", text, position)
    return "is not what was signed there"


def grant(database: Database, dice: Random, tx: int) -> str:
    """A grant that no policy made."""
    database.ask(
        """INSERT INTO bk.policy_grant (policy_id, principal_id, conduit_id, permitted_commands,
             object_scope)
           SELECT policy_id, gen_random_uuid(), conduit_id, permitted_commands, object_scope
             FROM bk.policy_grant LIMIT 1"""
    )
    return "bk.policy_grant has a row that the events of Policy"


def observation(database: Database, dice: Random, tx: int) -> str:
    """One observation has another value, or is gone."""
    which = """WHERE observation_id = (SELECT observation_id FROM bk.run_observation
                WHERE transaction_id <= %s ORDER BY md5(observation_id::text || %s) LIMIT 1)"""
    change = dice.choice(
        ["UPDATE bk.run_observation SET value = value + 1e-9", "DELETE FROM bk.run_observation"]
    )
    database.ask(f"{change} {which}", tx, str(dice.random()))
    return "run_observation of transaction"


def logbook_entry(database: Database, dice: Random, tx: int) -> str:
    """One entry has another text or time, or another entry stands beside it."""
    which = """WHERE entry_id = (SELECT entry_id FROM bk.run_logbook_entry
                WHERE transaction_id <= %s ORDER BY md5(entry_id::text || %s) LIMIT 1)"""
    change = dice.choice(
        [
            f"UPDATE bk.run_logbook_entry SET text = text || '.' {which}",
            f"UPDATE bk.run_logbook_entry SET recorded_at = recorded_at - interval '1 h' {which}",
            f"UPDATE bk.run_logbook_entry SET decision_id = gen_random_uuid() {which}",
            f"""INSERT INTO bk.run_logbook_entry (entry_id, run_id, author_id, kind, text,
                  recorded_at, transaction_id)
                SELECT gen_random_uuid(), run_id, author_id, kind, text, recorded_at, transaction_id
                  FROM bk.run_logbook_entry {which}""",
        ]
    )
    database.ask(change, tx, str(dice.random()))
    return "run_logbook_entry of transaction"


def tile(database: Database, dice: Random, tx: int) -> str:
    """One bit of a stored tile, or a whole tile is gone."""
    ((number,),) = database.ask(
        "SELECT index FROM bk.witness_tile WHERE tree = 'events' ORDER BY random() LIMIT 1"
    )
    if dice.random() < 0.3:
        database.ask("DELETE FROM bk.witness_tile WHERE tree = 'events' AND index = %s", number)
    else:
        database.ask(
            """UPDATE bk.witness_tile SET hashes = set_bit(hashes, %s, 1 - get_bit(hashes, %s))
                WHERE tree = 'events' AND index = %s""",
            *[dice.randrange(8192 * 8)] * 2,
            number,
        )
    return f"The tile {number} of level 0"


def checkpoint(database: Database, dice: Random, tx: int) -> str:
    """A stored checkpoint is gone, has another root, or another note."""
    ((size, root),) = database.ask(
        "SELECT size, root FROM bk.witness_checkpoint WHERE tree = 'events' ORDER BY at LIMIT 1"
    )
    assert isinstance(root, bytes)
    text = b64encode(root).decode()
    change = dice.choice(
        [
            "DELETE FROM bk.witness_checkpoint",
            "UPDATE bk.witness_checkpoint SET root = sha256(root)",
            "UPDATE bk.witness_checkpoint SET size = size - 1",
            f"UPDATE bk.witness_checkpoint SET note = replace(note, '{text}', 'AA{text[2:]}')",
        ]
    )
    database.ask(f"{change} WHERE tree = 'events' AND size = %s", size)
    return "The stored checkpoint of size"


ALTERATIONS: dict[str, Alteration] = {
    "payload": payload,
    "envelope": envelope,
    "order": order,
    "deletion": deletion,
    "insertion in the middle": insertion,
    "addition to the last transaction": addition,
    "truncation": truncation,
    "swapped payloads": swapped,
    "a grant": grant,
    "an observation": observation,
    "a logbook entry": logbook_entry,
    "a tile": tile,
    "a checkpoint": checkpoint,
}
