"""The nouns of the client, with a method for each verb.

Written from the declarations; `make reference` writes it again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, Literal

from beamkeep_client import typed_answers as answers
from beamkeep_client.answers import Changed
from beamkeep_client.asynchronous.calls import AsyncCalls, AsyncPages


class AsyncVerbs:
    """The verbs of one noun."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    def __repr__(self) -> str:
        verbs = (name for name in vars(type(self)) if not name.startswith("_"))
        return f"<{type(self).__name__}: {', '.join(verbs)}>"


class AsyncActorVerbs(AsyncVerbs):
    """A person, an agent or a machine account that calls the service."""

    async def update_profile(
        self,
        target: str,
        *,
        email: str | None = None,
        phone: str | None = None,
        affiliation: str | None = None,
        external_id: str | None = None,
        external_id_namespace: str | None = None,
        name: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Update the profile of an actor.

        Args:
            target: The actor: its name, its id or the end of its id.
            external_id: Researcher identifier without its scheme, for example
                0000-0002-1825-0097.
            external_id_namespace: Registry of the researcher identifier in lower case, for
                example orcid.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_actor_profile",
            Changed,
            {"actor_id": target, "email": email, "phone": phone, "affiliation": affiliation, "external_id": external_id, "external_id_namespace": external_id_namespace, "name": name},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def register(
        self,
        *,
        name: str,
        email: str | None = None,
        phone: str | None = None,
        affiliation: str | None = None,
        external_id: str | None = None,
        external_id_namespace: str | None = None,
        kind: Literal['human', 'service_account'] | None = None,
        identities: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterActorAnswer:
        """Register a person or a machine account, with its profile and its logins.

        Args:
            external_id: Researcher identifier without its scheme, for example
                0000-0002-1825-0097.
            external_id_namespace: Registry of the researcher identifier in lower case, for
                example orcid.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_actor",
            answers.RegisterActorAnswer,
            {"name": name, "email": email, "phone": phone, "affiliation": affiliation, "external_id": external_id, "external_id_namespace": external_id_namespace, "kind": kind, "identities": identities},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def deactivate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deactivate an actor permanently; every later call of the actor is denied.

        Args:
            target: The actor: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deactivate_actor",
            Changed,
            {"actor_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def forget(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Erase the personal data of an actor; its past actions stay recorded under its id.

        Args:
            target: The actor: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "forget_actor",
            Changed,
            {"actor_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def bind_identity(
        self,
        target: str,
        *,
        issuer: str,
        subject: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Bind a login at an identity provider to an actor; calls with that login act as the actor.

        Args:
            target: The actor: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "bind_actor_identity",
            Changed,
            {"actor_id": target, "issuer": issuer, "subject": subject},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def confirm_identity(
        self,
        target: str,
        *,
        issuer: str,
        subject: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Confirm, as an administrator, that a login belongs to the actor it is bound to.

        Args:
            target: The actor: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "confirm_actor_identity",
            Changed,
            {"actor_id": target, "issuer": issuer, "subject": subject},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def unbind_identity(
        self,
        target: str,
        *,
        issuer: str,
        subject: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Unbind a login from an actor; only an administrator can unbind one of another person.

        Args:
            target: The actor: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "unbind_actor_identity",
            Changed,
            {"actor_id": target, "issuer": issuer, "subject": subject},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetActorAnswer:
        """Show one actor.

        Args:
            target: The actor: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_actor",
            answers.GetActorAnswer,
            {"actor_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetActorHistoryAnswer]:
        """List everything that happened to one actor, by version.

        Args:
            target: The actor: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_actor_history",
            answers.GetActorHistoryAnswer,
            {"actor_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        kind: Literal['human', 'agent', 'service_account'] | None = None,
        active: bool | None = None,
        unconfirmed_login_bound_by: str | None = None,
    ) -> AsyncPages[answers.ListActorsAnswer]:
        """List actors, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            kind: What sort of principal acts.
            unconfirmed_login_bound_by: Only actors with a login that this actor bound and
                no administrator has confirmed.
        """
        return self._calls.pages(
            "list_actors",
            answers.ListActorsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "kind": kind, "active": active, "unconfirmed_login_bound_by": unconfirmed_login_bound_by},
        )

    async def evaluate_authorization(
        self,
        *,
        principal_id: str,
        command_name: str,
        conduit: str,
        names: bool | None = None,
        surface: str | None = None,
    ) -> answers.EvaluateAuthorizationAnswer:
        """Show whether a principal may make or propose a call, and by which policies.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            surface: Surface where the call arrives (default: a call from inside the
                service).
        """
        return await self._calls.ask(
            "evaluate_authorization",
            answers.EvaluateAuthorizationAnswer,
            {"principal_id": principal_id, "command_name": command_name, "conduit_id": conduit, "names": names, "surface_id": surface},
        )

class AsyncZoneVerbs(AsyncVerbs):
    """A part of the network with one level of trust."""

    async def define(
        self,
        *,
        name: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineZoneAnswer:
        """Define a zone.

        Args:
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_zone",
            answers.DefineZoneAnswer,
            {"name": name},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetZoneAnswer:
        """Show one zone.

        Args:
            target: The zone: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_zone",
            answers.GetZoneAnswer,
            {"zone_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetZoneHistoryAnswer]:
        """List everything that happened to one zone, by version.

        Args:
            target: The zone: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_zone_history",
            answers.GetZoneHistoryAnswer,
            {"zone_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
    ) -> AsyncPages[answers.ListZonesAnswer]:
        """List zones, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_zones",
            answers.ListZonesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name},
        )

class AsyncConduitVerbs(AsyncVerbs):
    """A permitted path for calls from one zone to another."""

    async def define(
        self,
        *,
        name: str,
        source_zone: str,
        target_zone: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineConduitAnswer:
        """Define a conduit from one zone to another.

        Args:
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_conduit",
            answers.DefineConduitAnswer,
            {"name": name, "source_zone_id": source_zone, "target_zone_id": target_zone},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetConduitAnswer:
        """Show one conduit.

        Args:
            target: The conduit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_conduit",
            answers.GetConduitAnswer,
            {"conduit_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetConduitHistoryAnswer]:
        """List everything that happened to one conduit, by version.

        Args:
            target: The conduit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_conduit_history",
            answers.GetConduitHistoryAnswer,
            {"conduit_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        source_zone: str | None = None,
        target_zone: str | None = None,
    ) -> AsyncPages[answers.ListConduitsAnswer]:
        """List conduits, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_conduits",
            answers.ListConduitsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "source_zone_id": source_zone, "target_zone_id": target_zone},
        )

    def denials(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        principal_id: str | None = None,
        reason_code: Literal['unknown_principal', 'inactive_principal', 'suspended_agent', 'no_matching_policy', 'tool_not_granted'] | None = None,
    ) -> AsyncPages[answers.ListConduitDenialsAnswer]:
        """List the calls that were denied on a conduit, newest first.

        Args:
            target: The conduit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            reason_code: Why a call was denied. The reason is recorded, and only an agent is
                shown its own.
        """
        return self._calls.pages(
            "list_conduit_denials",
            answers.ListConduitDenialsAnswer,
            {"conduit_id": target, "names": names, "cursor": cursor, "limit": limit, "principal_id": principal_id, "reason_code": reason_code},
        )

class AsyncSurfaceVerbs(AsyncVerbs):
    """A place at which calls arrive, such as the console of a beamline."""

    async def define(
        self,
        *,
        name: str,
        kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP'],
        conduit: str,
        unit_asset: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineSurfaceAnswer:
        """Define a surface on a conduit.

        Args:
            kind: The transport a call arrives by.
            unit_asset: The beamline at which the surface is used: an asset without a
                parent.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_surface",
            answers.DefineSurfaceAnswer,
            {"name": name, "kind": kind, "conduit_id": conduit, "unit_asset_id": unit_asset},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetSurfaceAnswer:
        """Show one surface.

        Args:
            target: The surface: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_surface",
            answers.GetSurfaceAnswer,
            {"surface_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetSurfaceHistoryAnswer]:
        """List everything that happened to one surface, by version.

        Args:
            target: The surface: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_surface_history",
            answers.GetSurfaceHistoryAnswer,
            {"surface_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        kind: Literal['HTTP', 'MCP_STDIO', 'MCP_STREAMABLE_HTTP'] | None = None,
        conduit: str | None = None,
        unit_asset: str | None = None,
    ) -> AsyncPages[answers.ListSurfacesAnswer]:
        """List surfaces, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            kind: The transport a call arrives by.
            unit_asset: Only surfaces that are used at this beamline.
        """
        return self._calls.pages(
            "list_surfaces",
            answers.ListSurfacesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "kind": kind, "conduit_id": conduit, "unit_asset_id": unit_asset},
        )

class AsyncPolicyVerbs(AsyncVerbs):
    """A list of actors and of the operations that they may call on a surface."""

    async def define(
        self,
        *,
        name: str,
        conduit: str,
        surface: str,
        permitted_principal_ids: Sequence[str],
        permitted_commands: Sequence[str],
        object_scope: Literal['All', 'Team', 'Own'],
        proposable_commands: Sequence[str] | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefinePolicyAnswer:
        """Define a policy that permits principals to call commands and queries on one surface.

        Args:
            surface: Surface where the calls arrive; null for calls from inside the service.
            object_scope: Which objects a permitted read may show, and a permitted command
                may change.
            proposable_commands: Names of the operations that may be proposed, for somebody
                else to approve; * for all.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_policy",
            answers.DefinePolicyAnswer,
            {"name": name, "conduit_id": conduit, "surface_id": surface, "permitted_principal_ids": permitted_principal_ids, "permitted_commands": permitted_commands, "object_scope": object_scope, "proposable_commands": proposable_commands},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def add_grant(
        self,
        target: str,
        *,
        permitted_principal_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Add a principal to a policy.

        Args:
            target: The policy: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "add_grant",
            Changed,
            {"policy_id": target, "permitted_principal_id": permitted_principal_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def revoke_grant(
        self,
        target: str,
        *,
        permitted_principal_id: str,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Remove a principal from a policy, with effect from the principal's next call.

        Args:
            target: The policy: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "revoke_grant",
            Changed,
            {"policy_id": target, "permitted_principal_id": permitted_principal_id, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetPolicyAnswer:
        """Show one policy.

        Args:
            target: The policy: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_policy",
            answers.GetPolicyAnswer,
            {"policy_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetPolicyHistoryAnswer]:
        """List everything that happened to one policy, by version.

        Args:
            target: The policy: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_policy_history",
            answers.GetPolicyHistoryAnswer,
            {"policy_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        conduit: str | None = None,
        surface: str | None = None,
        permitted_principal_id: str | None = None,
    ) -> AsyncPages[answers.ListPoliciesAnswer]:
        """List policies, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_policies",
            answers.ListPoliciesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "conduit_id": conduit, "surface_id": surface, "permitted_principal_id": permitted_principal_id},
        )

class AsyncTeamVerbs(AsyncVerbs):
    """The people behind one accepted proposal, who see what is measured for them."""

    async def register(
        self,
        *,
        title: str,
        external_refs: Any = None,
        members: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterTeamAnswer:
        """Register a team with its first members.

        Args:
            title: Title of the team; need not be unique, must not name a person.
            external_refs: References to the team in other systems, by scheme, for example
                proposal.
            members: The first members; each actor once.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_team",
            answers.RegisterTeamAnswer,
            {"title": title, "external_refs": external_refs, "members": members},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def add_member(
        self,
        target: str,
        *,
        principal_id: str,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        role: Literal['Leader', 'Member', 'LocalContact'] | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Add a member to a team; the member sees the team's objects, and gets no permission.

        Args:
            target: The team: its name, its id or the end of its id.
            principal_id: Actor whose membership it is.
            since: Time from which the membership counts (default: from the beginning).
            until: Time from which the membership no longer counts (default: no end).
            role: Role of the new member in the team.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "add_team_member",
            Changed,
            {"team_id": target, "principal_id": principal_id, "since": since, "until": until, "role": role},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def change_member(
        self,
        target: str,
        *,
        principal_id: str,
        role: Literal['Leader', 'Member', 'LocalContact'],
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Change role and period of a member; a start or an end that is left out is removed.

        Args:
            target: The team: its name, its id or the end of its id.
            principal_id: Actor whose membership it is.
            role: Role of the member in the team from now on.
            since: Time from which the membership counts (default: from the beginning).
            until: Time from which the membership no longer counts (default: no end).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "change_team_member",
            Changed,
            {"team_id": target, "principal_id": principal_id, "role": role, "since": since, "until": until},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def remove_member(
        self,
        target: str,
        *,
        principal_id: str,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Remove a member from a team, with effect from the member's next call.

        Args:
            target: The team: its name, its id or the end of its id.
            principal_id: Member to remove.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "remove_team_member",
            Changed,
            {"team_id": target, "principal_id": principal_id, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def close(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Close a team, which then gets no further visits and no new objects.

        Args:
            target: The team: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "close_team",
            Changed,
            {"team_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def reopen(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Reopen a closed team.

        Args:
            target: The team: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "reopen_team",
            Changed,
            {"team_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetTeamAnswer:
        """Show one team.

        Args:
            target: The team: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_team",
            answers.GetTeamAnswer,
            {"team_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetTeamHistoryAnswer]:
        """List everything that happened to one team, by version.

        Args:
            target: The team: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_team_history",
            answers.GetTeamHistoryAnswer,
            {"team_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        member_id: Sequence[str] | None = None,
        closed: bool | None = None,
    ) -> AsyncPages[answers.ListTeamsAnswer]:
        """List teams, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            member_id: Only teams of which one of these actors is a member, now or at
                another time.
        """
        return self._calls.pages(
            "list_teams",
            answers.ListTeamsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "member_id": member_id, "closed": closed},
        )

class AsyncVisitVerbs(AsyncVerbs):
    """The stay of a user group, and its control of a surface."""

    async def register(
        self,
        *,
        parent_surface: str,
        type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff'],
        planned_start_at: str | datetime,
        planned_end_at: str | datetime,
        team: str | None = None,
        policy: str | None = None,
        parent_id: str | None = None,
        external_refs: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterVisitAnswer:
        """Register a planned visit of a team, or of a policy, on a surface.

        Args:
            team: Team whose current members are the people of this visit, unless a policy
                is named.
            policy: Policy whose principals are the people of this visit, unless a team is
                named.
            parent_id: Parent visit on the same surface, when this visit is part of another.
            external_refs: References to the visit in other systems, by scheme, for example
                proposal.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_visit",
            answers.RegisterVisitAnswer,
            {"parent_surface_id": parent_surface, "type": type, "planned_start_at": planned_start_at, "planned_end_at": planned_end_at, "team_id": team, "policy_id": policy, "parent_id": parent_id, "external_refs": external_refs},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def record_arrival(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Record that the visitors have arrived.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "record_visit_arrival",
            Changed,
            {"visit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def start(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Start a visit.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "start_visit",
            Changed,
            {"visit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def hold(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Hold a visit until it is resumed.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "hold_visit",
            Changed,
            {"visit_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def resume(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Resume a visit that is on hold.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "resume_visit",
            Changed,
            {"visit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def complete(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Complete a visit; its work is done.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "complete_visit",
            Changed,
            {"visit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def cancel(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Cancel a visit that will not take place.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "cancel_visit",
            Changed,
            {"visit_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def abort(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Abort a visit before its work is done.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "abort_visit",
            Changed,
            {"visit_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def void(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Void a visit that should not have been registered.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "void_visit",
            Changed,
            {"visit_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def take_surface_control(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Take control of the visit's surface when it is free or the parent visit controls it.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "take_visit_surface_control",
            Changed,
            {"visit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    take = take_surface_control

    async def release_surface_control(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Release control of the visit's surface.

        Args:
            target: The visit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "release_visit_surface_control",
            Changed,
            {"visit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    release = release_surface_control

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetVisitAnswer:
        """Show one visit.

        Args:
            target: The visit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_visit",
            answers.GetVisitAnswer,
            {"visit_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetVisitHistoryAnswer]:
        """List everything that happened to one visit, by version.

        Args:
            target: The visit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_visit_history",
            answers.GetVisitHistoryAnswer,
            {"visit_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Planned', 'Arrived', 'InProgress', 'OnHold', 'Completed', 'Cancelled', 'Aborted', 'Voided']] | None = None,
        parent_surface: str | None = None,
        type: Literal['user', 'commissioning', 'maintenance', 'calibration', 'staff'] | None = None,
        parent_id: str | None = None,
        policy: str | None = None,
        team: str | None = None,
    ) -> AsyncPages[answers.ListVisitsAnswer]:
        """List visits, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_visits",
            answers.ListVisitsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "parent_surface_id": parent_surface, "type": type, "parent_id": parent_id, "policy_id": policy, "team_id": team},
        )

class AsyncFacilityVerbs(AsyncVerbs):
    """A site or an area with a code that all deployments share."""

    async def register(
        self,
        *,
        code: str,
        name: str,
        kind: Literal['Site', 'Area'],
        parent_id: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterFacilityAnswer:
        """Register a site, or an area of a site.

        Args:
            code: Lower-case letters, digits and hyphens; permanent, and the same in every
                deployment.
            parent_id: Site of the area; required for an area, not allowed for a site.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_facility",
            answers.RegisterFacilityAnswer,
            {"code": code, "name": name, "kind": kind, "parent_id": parent_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def decommission(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Decommission a facility permanently; its code cannot be used again.

        Args:
            target: The facility: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "decommission_facility",
            Changed,
            {"facility_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def add_trust_anchor_credential(
        self,
        target: str,
        *,
        credential: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Trust a seal key of a site: pointers of the site are verified with it.

        Args:
            target: The facility: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "add_facility_trust_anchor_credential",
            Changed,
            {"facility_id": target, "credential_id": credential},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def remove_trust_anchor_credential(
        self,
        target: str,
        *,
        credential: str,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Trust a seal key of a site no more. Without an anchor, pointers of a peer are not checked.

        Args:
            target: The facility: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "remove_facility_trust_anchor_credential",
            Changed,
            {"facility_id": target, "credential_id": credential, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetFacilityAnswer:
        """Show one facility.

        Args:
            target: The facility: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_facility",
            answers.GetFacilityAnswer,
            {"facility_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetFacilityHistoryAnswer]:
        """List everything that happened to one facility, by version.

        Args:
            target: The facility: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_facility_history",
            answers.GetFacilityHistoryAnswer,
            {"facility_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        code: str | None = None,
        kind: Literal['Site', 'Area'] | None = None,
        status: Sequence[Literal['Active', 'Decommissioned']] | None = None,
        parent_id: str | None = None,
    ) -> AsyncPages[answers.ListFacilitiesAnswer]:
        """List facilities, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_facilities",
            answers.ListFacilitiesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "code": code, "kind": kind, "status": status, "parent_id": parent_id},
        )

    async def event_proof(
        self,
        *,
        stream_type: str,
        stream_id: str,
        version: int,
        names: bool | None = None,
    ) -> answers.GetEventProofAnswer:
        """Get what proves to an outsider that one event is in the log as it was signed.

        Args:
            stream_type: The kind of the object, such as `Run`.
            stream_id: The id of the object.
            version: The version of the object that the event made.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_event_proof",
            answers.GetEventProofAnswer,
            {"stream_type": stream_type, "stream_id": stream_id, "version": version, "names": names},
        )

    def checkpoints(
        self,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        tree: Literal['events', 'rows'] | None = None,
        since: str | datetime | None = None,
    ) -> AsyncPages[answers.ListCheckpointsAnswer]:
        """List the signed checkpoints of the log, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            tree: Only checkpoints of the events, or of the rows next to them.
            since: Only checkpoints signed at this time or later.
        """
        return self._calls.pages(
            "list_checkpoints",
            answers.ListCheckpointsAnswer,
            {"names": names, "cursor": cursor, "limit": limit, "tree": tree, "since": since},
        )

class AsyncCredentialVerbs(AsyncVerbs):
    """A key of a facility for one audience and purpose; it signs or verifies."""

    async def register(
        self,
        *,
        facility: str,
        audience: str,
        purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'],
        public_key: str,
        secret_ref: str | None = None,
        key_check_signature: str | None = None,
        expires_at: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterCredentialAnswer:
        """Register a key of a site, after a check that somebody has the private key.

        Args:
            audience: Whom the key is meant to convince, in words that both sides agreed on.
            purpose: What the key signs.
            public_key: Ed25519 public key, as base64url without padding.
            secret_ref: How the signer knows the private key: of the own site, unless it is
                the offline root.
            key_check_signature: Proof that the private key exists: of a peer's key, or of
                the own offline root.
            expires_at: When the key stops counting (default: never).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_credential",
            answers.RegisterCredentialAnswer,
            {"facility_id": facility, "audience": audience, "purpose": purpose, "public_key": public_key, "secret_ref": secret_ref, "key_check_signature": key_check_signature, "expires_at": expires_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def start_rotation(
        self,
        target: str,
        *,
        new_public_key: str,
        new_secret_ref: str | None = None,
        new_key_check_signature: str | None = None,
        new_expires_at: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Begin a rotation: both keys verify from now on, and the current key still signs.

        Args:
            target: The credential: its name, its id or the end of its id.
            new_public_key: Ed25519 public key that follows, as base64url without padding.
            new_secret_ref: How the signer knows the new private key.
            new_key_check_signature: Proof that the new private key exists.
            new_expires_at: When the new key stops counting (default: never).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "start_credential_rotation",
            Changed,
            {"credential_id": target, "new_public_key": new_public_key, "new_secret_ref": new_secret_ref, "new_key_check_signature": new_key_check_signature, "new_expires_at": new_expires_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def complete_rotation(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Complete a rotation: only the new key signs and verifies from now on.

        Args:
            target: The credential: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "complete_credential_rotation",
            Changed,
            {"credential_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def abort_rotation(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Abort a rotation: the new key is dropped, and the current key stays.

        Args:
            target: The credential: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "abort_credential_rotation",
            Changed,
            {"credential_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def revoke(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Revoke a credential permanently; nothing that its keys sign counts from now on.

        Args:
            target: The credential: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "revoke_credential",
            Changed,
            {"credential_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetCredentialAnswer:
        """Show one credential.

        Args:
            target: The credential: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_credential",
            answers.GetCredentialAnswer,
            {"credential_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetCredentialHistoryAnswer]:
        """List everything that happened to one credential, by version.

        Args:
            target: The credential: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_credential_history",
            answers.GetCredentialHistoryAnswer,
            {"credential_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        facility: str | None = None,
        audience: str | None = None,
        purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'] | None = None,
        status: Sequence[Literal['Active', 'Rotating', 'Revoked']] | None = None,
    ) -> AsyncPages[answers.ListCredentialsAnswer]:
        """List credentials, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
        """
        return self._calls.pages(
            "list_credentials",
            answers.ListCredentialsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "facility_id": facility, "audience": audience, "purpose": purpose, "status": status},
        )

class AsyncPermitVerbs(AsyncVerbs):
    """One direction of an exchange with another facility, and the keys it allows."""

    async def define(
        self,
        *,
        direction: Literal['Outbound', 'Inbound'],
        peer_facility: str,
        audience: str,
        purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'],
        allowed_credential_ids: Sequence[str],
        expires_at: str | datetime,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefinePermitAnswer:
        """Define a permit for one direction of an exchange; it allows nothing until it is activated.

        Args:
            direction: Outbound: the own site sends to the peer. Inbound: the peer sends to
                the own site.
            audience: Name of the exchange, on which both sides agreed.
            purpose: What is exchanged: DatasetExchange or CalibrationExchange.
            allowed_credential_ids: The keys that may sign: of the own site for Outbound, of
                the peer for Inbound.
            expires_at: When the permit stops being in force.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_permit",
            answers.DefinePermitAnswer,
            {"direction": direction, "peer_facility_id": peer_facility, "audience": audience, "purpose": purpose, "allowed_credential_ids": allowed_credential_ids, "expires_at": expires_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def activate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Activate a permit. Compare the fingerprints of the keys by telephone before.

        Args:
            target: The permit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "activate_permit",
            Changed,
            {"permit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def suspend(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Suspend a permit until it is resumed.

        Args:
            target: The permit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "suspend_permit",
            Changed,
            {"permit_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def resume(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Resume a suspended permit.

        Args:
            target: The permit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "resume_permit",
            Changed,
            {"permit_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def revoke(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Revoke a permit permanently.

        Args:
            target: The permit: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "revoke_permit",
            Changed,
            {"permit_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def export_artifact(
        self,
        target: str,
        *,
        artifact_id: str,
        credential: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ExportArtifactAnswer:
        """Make a signed copy of a dataset's or calibration's record for the peer of a permit.

        Args:
            target: The permit: its name, its id or the end of its id.
            artifact_id: The dataset or calibration, by the purpose of the permit.
            credential: The key that signs (default: the usable key with the lowest id).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "export_artifact",
            answers.ExportArtifactAnswer,
            {"permit_id": target, "artifact_id": artifact_id, "credential_id": credential},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def import_artifact(
        self,
        target: str,
        *,
        envelope: Any,
        signature: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ImportArtifactAnswer:
        """Take a signed copy of a record from the peer of a permit into the ledger.

        Args:
            target: The permit: its name, its id or the end of its id.
            envelope: The envelope as the peer has sent it.
            signature: Signature of the peer over the envelope.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "import_artifact",
            answers.ImportArtifactAnswer,
            {"permit_id": target, "envelope": envelope, "signature": signature},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetPermitAnswer:
        """Show one permit.

        Args:
            target: The permit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_permit",
            answers.GetPermitAnswer,
            {"permit_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetPermitHistoryAnswer]:
        """List everything that happened to one permit, by version.

        Args:
            target: The permit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_permit_history",
            answers.GetPermitHistoryAnswer,
            {"permit_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        direction: Literal['Outbound', 'Inbound'] | None = None,
        peer_facility: str | None = None,
        audience: str | None = None,
        purpose: Literal['DatasetExchange', 'CalibrationExchange', 'SealOnlineSigning', 'SealOfflineRoot'] | None = None,
        status: Sequence[Literal['Defined', 'Active', 'Suspended', 'Revoked']] | None = None,
    ) -> AsyncPages[answers.ListPermitsAnswer]:
        """List permits, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
        """
        return self._calls.pages(
            "list_permits",
            answers.ListPermitsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "direction": direction, "peer_facility_id": peer_facility, "audience": audience, "purpose": purpose, "status": status},
        )

    def exchanges(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        artifact_id: str | None = None,
    ) -> AsyncPages[answers.ListPermitExchangesAnswer]:
        """List the exchanges under one permit, oldest first.

        Args:
            target: The permit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_permit_exchanges",
            answers.ListPermitExchangesAnswer,
            {"permit_id": target, "names": names, "cursor": cursor, "limit": limit, "artifact_id": artifact_id},
        )

    async def exchange(
        self,
        target: str,
        *,
        exchange_id: str,
        names: bool | None = None,
    ) -> answers.GetPermitExchangeAnswer:
        """Show one exchange, with the envelope if it is an import.

        Args:
            target: The permit: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_permit_exchange",
            answers.GetPermitExchangeAnswer,
            {"permit_id": target, "exchange_id": exchange_id, "names": names},
        )

class AsyncSealVerbs(AsyncVerbs):
    """The signed pointer by which peers see that the register of the site is fresh."""

    async def initialize(
        self,
        *,
        facility: str,
        online_credential: str,
        offline_credential: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.InitializeSealAnswer:
        """Give the own site its seal, with an online key and an offline root.

        Args:
            online_credential: The key that signs pointers.
            offline_credential: The key that vouches for new online keys; its private half
                is kept off the network.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "initialize_seal",
            answers.InitializeSealAnswer,
            {"facility_id": facility, "online_credential_id": online_credential, "offline_credential_id": offline_credential},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def sign_pointer(
        self,
        target: str,
        *,
        head_hash: str,
        sequence_number: int,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Sign a pointer to the head of the facility's register, which peers get with each export.

        Args:
            target: The seal: its name, its id or the end of its id.
            head_hash: SHA-256 of the head of the facility's register, in lower-case
                hexadecimal.
            sequence_number: Number of the pointer, above that of the last pointer.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "sign_seal_pointer",
            Changed,
            {"facility_id": target, "head_hash": head_hash, "sequence_number": sequence_number},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def rotate_online_key(
        self,
        target: str,
        *,
        new_online_credential: str,
        signed_by_offline_root: bool,
        offline_root_signature: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Let another credential sign the pointers from now on, with or without the offline root.

        Args:
            target: The seal: its name, its id or the end of its id.
            signed_by_offline_root: Whether the offline root has signed the rotation, which
                peers can check.
            offline_root_signature: Signature of the offline root over the rotation; given
                if signed_by_offline_root is true.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "rotate_seal_online_key",
            Changed,
            {"facility_id": target, "new_online_credential_id": new_online_credential, "signed_by_offline_root": signed_by_offline_root, "offline_root_signature": offline_root_signature},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetSealAnswer:
        """Show one seal.

        Args:
            target: The seal: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_seal",
            answers.GetSealAnswer,
            {"facility_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetSealHistoryAnswer]:
        """List everything that happened to one seal, by version.

        Args:
            target: The seal: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_seal_history",
            answers.GetSealHistoryAnswer,
            {"facility_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
    ) -> AsyncPages[answers.ListSealsAnswer]:
        """List seals, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
        """
        return self._calls.pages(
            "list_seals",
            answers.ListSealsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count},
        )

class AsyncEnclosureVerbs(AsyncVerbs):
    """A room behind an interlock, such as a hutch, and the permit reported for it."""

    async def register(
        self,
        *,
        name: str,
        facility_code: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterEnclosureAnswer:
        """Register an enclosure; its permit is Unknown until its monitor reports.

        Args:
            facility_code: The Site or Area in which the enclosure stands.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_enclosure",
            answers.RegisterEnclosureAnswer,
            {"name": name, "facility_code": facility_code},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def observe_status(
        self,
        target: str,
        *,
        reason: str,
        permit_status: Literal['Permitted', 'NotPermitted', 'Unknown'],
        monitor_ref: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Report, as a monitor, the permit of an enclosure; a repetition keeps the permit fresh.

        Args:
            target: The enclosure: its name, its id or the end of its id.
            monitor_ref: The sensor or signal that shows the permit.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "observe_enclosure_status",
            Changed,
            {"enclosure_id": target, "reason": reason, "permit_status": permit_status, "monitor_ref": monitor_ref},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def bind_monitor(
        self,
        target: str,
        *,
        monitor_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Let a service account report the permit of an enclosure, as an administrator.

        Args:
            target: The enclosure: its name, its id or the end of its id.
            monitor_id: The actor id of the service account that reports.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "bind_enclosure_monitor",
            Changed,
            {"enclosure_id": target, "monitor_id": monitor_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def unbind_monitor(
        self,
        target: str,
        *,
        monitor_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Let a service account no longer report the permit of an enclosure.

        Args:
            target: The enclosure: its name, its id or the end of its id.
            monitor_id: The actor id of the service account that reports.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "unbind_enclosure_monitor",
            Changed,
            {"enclosure_id": target, "monitor_id": monitor_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def decommission(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Decommission an enclosure permanently and free its name.

        Args:
            target: The enclosure: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "decommission_enclosure",
            Changed,
            {"enclosure_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetEnclosureAnswer:
        """Show one enclosure.

        Args:
            target: The enclosure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_enclosure",
            answers.GetEnclosureAnswer,
            {"enclosure_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetEnclosureHistoryAnswer]:
        """List everything that happened to one enclosure, by version.

        Args:
            target: The enclosure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_enclosure_history",
            answers.GetEnclosureHistoryAnswer,
            {"enclosure_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        facility_code: str | None = None,
        permit_status: Sequence[Literal['Permitted', 'NotPermitted', 'Unknown']] | None = None,
        lifecycle: Literal['Active', 'Decommissioned'] | None = None,
    ) -> AsyncPages[answers.ListEnclosuresAnswer]:
        """List enclosures, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_enclosures",
            answers.ListEnclosuresAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "facility_code": facility_code, "permit_status": permit_status, "lifecycle": lifecycle},
        )

class AsyncFamilyVerbs(AsyncVerbs):
    """A class of devices, such as rotary stage or camera."""

    async def define(
        self,
        *,
        affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']],
        name: str,
        settings_schema: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineFamilyAnswer:
        """Define a class of devices.

        Args:
            affordances: What every device of the family can do; send an empty list for
                nothing.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_family",
            answers.DefineFamilyAnswer,
            {"affordances": affordances, "name": name, "settings_schema": settings_schema},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']],
        settings_schema: Any,
        version_tag: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Replace the affordances and the settings schema of a family.

        Args:
            target: The family: its name, its id or the end of its id.
            affordances: What every device of the family can do; send an empty list for
                nothing.
            settings_schema: JSON Schema of the devices' settings; null if the devices have
                no settings.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_family",
            Changed,
            {"family_id": target, "affordances": affordances, "settings_schema": settings_schema, "version_tag": version_tag},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate a family, so that no asset and no model can join it.

        Args:
            target: The family: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_family",
            Changed,
            {"family_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetFamilyAnswer:
        """Show one family.

        Args:
            target: The family: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_family",
            answers.GetFamilyAnswer,
            {"family_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetFamilyHistoryAnswer]:
        """List everything that happened to one family, by version.

        Args:
            target: The family: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_family_history",
            answers.GetFamilyHistoryAnswer,
            {"family_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = None,
        affordance: Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable'] | None = None,
    ) -> AsyncPages[answers.ListFamiliesAnswer]:
        """List families, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            affordance: Only families with this affordance. What a device can do. Values are
                only added, never removed or renamed.
        """
        return self._calls.pages(
            "list_families",
            answers.ListFamiliesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "affordance": affordance},
        )

class AsyncModelVerbs(AsyncVerbs):
    """An entry of a vendor's catalogue; an asset can be an instance of it."""

    async def define(
        self,
        *,
        name: str,
        manufacturer: Any,
        part_number: str,
        declared_family_ids: Sequence[str],
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineModelAnswer:
        """Define a vendor's catalogue entry.

        Args:
            declared_family_ids: The families that every device of this model belongs to; at
                least one.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_model",
            answers.DefineModelAnswer,
            {"name": name, "manufacturer": manufacturer, "part_number": part_number, "declared_family_ids": declared_family_ids},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        name: str,
        manufacturer: Any,
        part_number: str,
        declared_family_ids: Sequence[str],
        version_tag: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Replace every field of a catalogue entry.

        Args:
            target: The model: its name, its id or the end of its id.
            declared_family_ids: The families that every device of this model belongs to; at
                least one.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_model",
            Changed,
            {"model_id": target, "name": name, "manufacturer": manufacturer, "part_number": part_number, "declared_family_ids": declared_family_ids, "version_tag": version_tag},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate a model, so that no asset can be registered with it.

        Args:
            target: The model: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_model",
            Changed,
            {"model_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetModelAnswer:
        """Show one model.

        Args:
            target: The model: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_model",
            answers.GetModelAnswer,
            {"model_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetModelHistoryAnswer]:
        """List everything that happened to one model, by version.

        Args:
            target: The model: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_model_history",
            answers.GetModelHistoryAnswer,
            {"model_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = None,
        family: str | None = None,
        part_number: str | None = None,
    ) -> AsyncPages[answers.ListModelsAnswer]:
        """List models, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            family: Only models that declare this family.
        """
        return self._calls.pages(
            "list_models",
            answers.ListModelsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "family_id": family, "part_number": part_number},
        )

class AsyncAssetVerbs(AsyncVerbs):
    """A piece of equipment in the tree of a beamline: a unit, a component or a device."""

    async def register(
        self,
        *,
        name: str,
        tier: Literal['Unit', 'Component', 'Device'],
        family_ids: Sequence[str],
        parent_id: str | None = None,
        facility_code: str | None = None,
        model: str | None = None,
        located_in_enclosure: str | None = None,
        alternate_identifiers: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterAssetAnswer:
        """Register a physical asset, as a root at a facility or below another asset.

        Args:
            name: The role of the asset, in one word if possible; vendor and identifiers go
                elsewhere.
            family_ids: What kind of device it is: at least one family.
            parent_id: The asset above this one; leave out for a root.
            facility_code: The facility of a root; leave out for any other asset.
            alternate_identifiers: At most 50.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_asset",
            answers.RegisterAssetAnswer,
            {"name": name, "tier": tier, "family_ids": family_ids, "parent_id": parent_id, "facility_code": facility_code, "model_id": model, "located_in_enclosure_id": located_in_enclosure, "alternate_identifiers": alternate_identifiers},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def rename(
        self,
        target: str,
        *,
        name: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Rename an asset.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "rename_asset",
            Changed,
            {"asset_id": target, "name": name},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def activate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Put a commissioned asset into service.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "activate_asset",
            Changed,
            {"asset_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def enter_maintenance(
        self,
        target: str,
        *,
        reason: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Take an active asset out of service for maintenance.

        Args:
            target: The asset: its name, its id or the end of its id.
            reason: The work that is done; the shift handover shows it.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "enter_asset_maintenance",
            Changed,
            {"asset_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def exit_maintenance(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Put an asset back into service after maintenance.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "exit_asset_maintenance",
            Changed,
            {"asset_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def decommission(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Take an asset out of service for good; the assets below it are not changed.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "decommission_asset",
            Changed,
            {"asset_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def degrade(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Report that an asset works worse than it should.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "degrade_asset",
            Changed,
            {"asset_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def fault(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Report that an asset does not work.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "fault_asset",
            Changed,
            {"asset_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def restore(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Report that an asset works as it should again.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "restore_asset",
            Changed,
            {"asset_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def relocate(
        self,
        target: str,
        *,
        reason: str,
        to_parent_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Move an asset, with all assets below it, under another parent.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "relocate_asset",
            Changed,
            {"asset_id": target, "reason": reason, "to_parent_id": to_parent_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def locate(
        self,
        target: str,
        *,
        located_in_enclosure: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Set the enclosure that an asset is in.

        Args:
            target: The asset: its name, its id or the end of its id.
            located_in_enclosure: The enclosure; null if the asset is in none.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "locate_asset",
            Changed,
            {"asset_id": target, "located_in_enclosure_id": located_in_enclosure},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def add_family(
        self,
        target: str,
        *,
        family: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Add an asset to a family.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "add_asset_family",
            Changed,
            {"asset_id": target, "family_id": family},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def remove_family(
        self,
        target: str,
        *,
        family: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Remove an asset from a family; its settings stay until they are next changed.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "remove_asset_family",
            Changed,
            {"asset_id": target, "family_id": family},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def update_settings(
        self,
        target: str,
        *,
        settings_patch: Any,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Change some settings of an asset; the result must fit the schemas of its families.

        Args:
            target: The asset: its name, its id or the end of its id.
            settings_patch: A JSON merge patch (RFC 7396): a value sets a setting, null
                removes it.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_asset_settings",
            Changed,
            {"asset_id": target, "settings_patch": settings_patch},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def add_alternate_identifier(
        self,
        target: str,
        *,
        kind: Literal['InventoryNumber', 'EPICS_PV', 'TANGO_ATTRIBUTE', 'CONTROLSYS_PV', 'Other'],
        value: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Add an identifier that another system uses for an asset.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "add_asset_alternate_identifier",
            Changed,
            {"asset_id": target, "kind": kind, "value": value},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def remove_alternate_identifier(
        self,
        target: str,
        *,
        kind: Literal['InventoryNumber', 'EPICS_PV', 'TANGO_ATTRIBUTE', 'CONTROLSYS_PV', 'Other'],
        value: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Remove an identifier that another system uses for an asset.

        Args:
            target: The asset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "remove_asset_alternate_identifier",
            Changed,
            {"asset_id": target, "kind": kind, "value": value},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def assign_external_id(
        self,
        target: str,
        *,
        external_id_namespace: Literal['doi', 'handle'],
        external_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Assign the persistent identifier that was minted for an asset; it cannot be changed later.

        Args:
            target: The asset: its name, its id or the end of its id.
            external_id: The value without a prefix, for example 10.5281/zenodo.42 for a
                DOI.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "assign_asset_external_id",
            Changed,
            {"asset_id": target, "external_id_namespace": external_id_namespace, "external_id": external_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetAssetAnswer:
        """Show one asset.

        Args:
            target: The asset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_asset",
            answers.GetAssetAnswer,
            {"asset_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetAssetHistoryAnswer]:
        """List everything that happened to one asset, by version.

        Args:
            target: The asset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_asset_history",
            answers.GetAssetHistoryAnswer,
            {"asset_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        tier: Literal['Unit', 'Component', 'Device'] | None = None,
        lifecycle: Literal['Commissioned', 'Active', 'Maintenance', 'Decommissioned'] | None = None,
        condition: Literal['Nominal', 'Degraded', 'Faulted'] | None = None,
        parent_id: str | None = None,
        below: str | None = None,
        above: str | None = None,
        family: str | None = None,
        facility_code: str | None = None,
        located_in_enclosure: Sequence[str] | None = None,
        model: str | None = None,
    ) -> AsyncPages[answers.ListAssetsAnswer]:
        """List assets, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            lifecycle: Whether an asset is in service.
            condition: How well an asset works.
            parent_id: Only assets directly below this one.
            below: Only assets below this one at any depth, without the asset itself.
            above: Only assets above this one up to the root, without the asset itself.
            facility_code: Only roots at this facility.
            located_in_enclosure: Only assets whose own location is one of these enclosures.
        """
        return self._calls.pages(
            "list_assets",
            answers.ListAssetsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "tier": tier, "lifecycle": lifecycle, "condition": condition, "parent_id": parent_id, "below": below, "above": above, "family_id": family, "facility_code": facility_code, "located_in_enclosure_id": located_in_enclosure, "model_id": model},
        )

    async def tree(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: str | datetime | None = None,
    ) -> answers.GetAssetTreeAnswer:
        """Show an asset and everything below it, with all fields of each asset.

        Args:
            target: The asset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the tree as it was at this time.
        """
        return await self._calls.ask(
            "get_asset_tree",
            answers.GetAssetTreeAnswer,
            {"asset_id": target, "names": names, "as_of": as_of},
        )

    async def pidinst(
        self,
        target: str,
        *,
        names: bool | None = None,
    ) -> answers.GetAssetPidinstAnswer:
        """Show the publication record of one asset as an instrument; it is built for each call.

        Args:
            target: The asset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_asset_pidinst",
            answers.GetAssetPidinstAnswer,
            {"asset_id": target, "names": names},
        )

    async def board(
        self,
        target: str,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        plan: str | None = None,
        subject: str | None = None,
    ) -> answers.GetBoardAnswer:
        """Show how one beamline stands: what runs, what is abnormal, and whether a run can start.

        Args:
            target: The asset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            plan: The plan whose readiness is shown (default: the plans of the runs).
            subject: The subject of the run that would start.
        """
        return await self._calls.ask(
            "get_board",
            answers.GetBoardAnswer,
            {"asset_id": target, "names": names, "min_token": min_token, "plan_id": plan, "subject_id": subject},
        )

class AsyncMountVerbs(AsyncVerbs):
    """A slot in which one asset at a time is installed."""

    async def register(
        self,
        *,
        slot_code: str,
        parent_id: str | None = None,
        placement: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterMountAnswer:
        """Register a place in which an asset can be installed.

        Args:
            slot_code: The label of the place; it need not be unique.
            parent_id: The mount above this one.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_mount",
            answers.RegisterMountAnswer,
            {"slot_code": slot_code, "parent_id": parent_id, "placement": placement},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def install_asset(
        self,
        target: str,
        *,
        asset: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Install an asset in an empty mount.

        Args:
            target: The mount: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "install_asset",
            Changed,
            {"mount_id": target, "asset_id": asset},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def uninstall_asset(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Uninstall the asset from a mount.

        Args:
            target: The mount: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "uninstall_asset",
            Changed,
            {"mount_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def update_placement(
        self,
        target: str,
        *,
        placement: Any,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Set the placement of a mount in a frame.

        Args:
            target: The mount: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_mount_placement",
            Changed,
            {"mount_id": target, "placement": placement},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def decommission(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Take an empty mount out of service for good.

        Args:
            target: The mount: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "decommission_mount",
            Changed,
            {"mount_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetMountAnswer:
        """Show one mount.

        Args:
            target: The mount: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_mount",
            answers.GetMountAnswer,
            {"mount_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetMountHistoryAnswer]:
        """List everything that happened to one mount, by version.

        Args:
            target: The mount: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_mount_history",
            answers.GetMountHistoryAnswer,
            {"mount_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Active', 'Decommissioned']] | None = None,
        parent_id: str | None = None,
        frame: str | None = None,
        slot_code: str | None = None,
        installed_asset: str | None = None,
    ) -> AsyncPages[answers.ListMountsAnswer]:
        """List mounts, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            frame: Only mounts placed in this frame.
            slot_code: Only mounts with exactly this code.
        """
        return self._calls.pages(
            "list_mounts",
            answers.ListMountsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "parent_id": parent_id, "frame_id": frame, "slot_code": slot_code, "installed_asset_id": installed_asset},
        )

class AsyncFrameVerbs(AsyncVerbs):
    """A coordinate frame in which assets are placed."""

    async def decommission(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Take a frame out of service for good; no active frame or mount may be placed in it.

        Args:
            target: The frame: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "decommission_frame",
            Changed,
            {"frame_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def register(
        self,
        *,
        name: str,
        parent_id: str | None = None,
        placement: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterFrameAnswer:
        """Register a coordinate frame, as a root or placed in another frame.

        Args:
            parent_id: The frame in which this frame is placed; leave out for a root.
            placement: The placement in the parent frame; leave out for a root.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_frame",
            answers.RegisterFrameAnswer,
            {"name": name, "parent_id": parent_id, "placement": placement},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def update_placement(
        self,
        target: str,
        *,
        placement: Any,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Set the placement of a frame in its parent.

        Args:
            target: The frame: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_frame_placement",
            Changed,
            {"frame_id": target, "placement": placement},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetFrameAnswer:
        """Show one frame.

        Args:
            target: The frame: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_frame",
            answers.GetFrameAnswer,
            {"frame_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetFrameHistoryAnswer]:
        """List everything that happened to one frame, by version.

        Args:
            target: The frame: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_frame_history",
            answers.GetFrameHistoryAnswer,
            {"frame_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Active', 'Decommissioned']] | None = None,
        parent_id: str | None = None,
    ) -> AsyncPages[answers.ListFramesAnswer]:
        """List frames, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_frames",
            answers.ListFramesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "parent_id": parent_id},
        )

class AsyncSupplyVerbs(AsyncVerbs):
    """A resource that work needs, such as beam, vacuum or gas, and its status."""

    async def register(
        self,
        *,
        kind: str,
        name: str,
        facility_code: str,
        containing_asset: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterSupplyAnswer:
        """Register a supply of a facility or of one asset; its status is Unknown at first.

        Args:
            kind: Compared exactly with the needed supplies of a method: photon_beam,
                cryogen, vacuum, …
            containing_asset: The asset that the supply serves, with everything below
                (default: the whole facility).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_supply",
            answers.RegisterSupplyAnswer,
            {"kind": kind, "name": name, "facility_code": facility_code, "containing_asset_id": containing_asset},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def mark_available(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Mark an Unknown supply available, or an Available one whose observer is silent.

        Args:
            target: The supply: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mark_supply_available",
            Changed,
            {"supply_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def degrade(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Mark a supply degraded; work that needs the supply cannot start.

        Args:
            target: The supply: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "degrade_supply",
            Changed,
            {"supply_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def mark_unavailable(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Mark a supply unavailable.

        Args:
            target: The supply: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mark_supply_unavailable",
            Changed,
            {"supply_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def mark_recovering(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Mark an unavailable supply recovering.

        Args:
            target: The supply: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mark_supply_recovering",
            Changed,
            {"supply_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def restore(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Mark a recovering supply available again.

        Args:
            target: The supply: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "restore_supply",
            Changed,
            {"supply_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def observe_status(
        self,
        target: str,
        *,
        reason: str,
        status: Literal['Unavailable', 'Recovering'],
        monitor_ref: str,
        unchanged: bool | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Report, as a monitor, whether a supply is lost or back; a repetition keeps it fresh.

        Args:
            target: The supply: its name, its id or the end of its id.
            monitor_ref: The sensor or signal that shows the status.
            unchanged: Whether the signal has not changed since the last report: the report
                keeps the supply fresh and does not change a status that a person has set
                since.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "observe_supply_status",
            Changed,
            {"supply_id": target, "reason": reason, "status": status, "monitor_ref": monitor_ref, "unchanged": unchanged},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def bind_monitor(
        self,
        target: str,
        *,
        monitor_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Let a service account report the status of a supply, as an administrator.

        Args:
            target: The supply: its name, its id or the end of its id.
            monitor_id: The actor id of the service account that reports.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "bind_supply_monitor",
            Changed,
            {"supply_id": target, "monitor_id": monitor_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def unbind_monitor(
        self,
        target: str,
        *,
        monitor_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Let a service account no longer report the status of a supply.

        Args:
            target: The supply: its name, its id or the end of its id.
            monitor_id: The actor id of the service account that reports.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "unbind_supply_monitor",
            Changed,
            {"supply_id": target, "monitor_id": monitor_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deregister(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deregister a supply permanently.

        Args:
            target: The supply: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deregister_supply",
            Changed,
            {"supply_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetSupplyAnswer:
        """Show one supply.

        Args:
            target: The supply: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_supply",
            answers.GetSupplyAnswer,
            {"supply_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetSupplyHistoryAnswer]:
        """List everything that happened to one supply, by version.

        Args:
            target: The supply: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_supply_history",
            answers.GetSupplyHistoryAnswer,
            {"supply_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        facility_code: str | None = None,
        containing_asset: str | None = None,
        kind: str | None = None,
        status: Sequence[Literal['Unknown', 'Available', 'Degraded', 'Unavailable', 'Recovering', 'Decommissioned']] | None = None,
    ) -> AsyncPages[answers.ListSuppliesAnswer]:
        """List supplies, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_supplies",
            answers.ListSuppliesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "facility_code": facility_code, "containing_asset_id": containing_asset, "kind": kind, "status": status},
        )

class AsyncSubjectVerbs(AsyncVerbs):
    """What is measured: a sample, a specimen or a part."""

    async def register(
        self,
        *,
        name: str,
        team: str | None = None,
        visit: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterSubjectAnswer:
        """Register a subject that was received.

        Args:
            name: Label of the subject; need not be unique, must not name a person.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_subject",
            answers.RegisterSubjectAnswer,
            {"name": name, "team_id": team, "visit_id": visit},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def mount(
        self,
        target: str,
        *,
        reason: str,
        asset: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Mount a subject on an asset.

        Args:
            target: The subject: its name, its id or the end of its id.
            asset: Active asset that the subject is mounted on.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mount_subject",
            Changed,
            {"subject_id": target, "reason": reason, "asset_id": asset},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def measure(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Mark a mounted subject as measured.

        Args:
            target: The subject: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "measure_subject",
            Changed,
            {"subject_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def dismount(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Dismount a subject from its asset; the subject can be mounted again.

        Args:
            target: The subject: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "dismount_subject",
            Changed,
            {"subject_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def remove(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Remove a subject from handling, and from its asset when it is mounted.

        Args:
            target: The subject: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "remove_subject",
            Changed,
            {"subject_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def return_(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Return a removed subject to its sender.

        Args:
            target: The subject: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "return_subject",
            Changed,
            {"subject_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def store(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Store a removed subject.

        Args:
            target: The subject: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "store_subject",
            Changed,
            {"subject_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def discard(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Discard a removed subject permanently.

        Args:
            target: The subject: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "discard_subject",
            Changed,
            {"subject_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def assign_external_id(
        self,
        target: str,
        *,
        external_id_namespace: Literal['igsn'],
        external_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Record the external identifier of a subject, once.

        Args:
            target: The subject: its name, its id or the end of its id.
            external_id: Value without prefix, for example 10.58052/IEJCK00AB for an IGSN.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "assign_subject_external_id",
            Changed,
            {"subject_id": target, "external_id_namespace": external_id_namespace, "external_id": external_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetSubjectAnswer:
        """Show one subject.

        Args:
            target: The subject: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_subject",
            answers.GetSubjectAnswer,
            {"subject_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetSubjectHistoryAnswer]:
        """List everything that happened to one subject, by version.

        Args:
            target: The subject: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_subject_history",
            answers.GetSubjectHistoryAnswer,
            {"subject_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Received', 'Mounted', 'Measured', 'Removed', 'Returned', 'Stored', 'Discarded']] | None = None,
        mounted_on_asset: str | None = None,
        under_asset: str | None = None,
    ) -> AsyncPages[answers.ListSubjectsAnswer]:
        """List subjects, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            under_asset: Subjects that are mounted on this asset or on an asset below it.
        """
        return self._calls.pages(
            "list_subjects",
            answers.ListSubjectsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "mounted_on_asset_id": mounted_on_asset, "under_asset_id": under_asset},
        )

class AsyncDecisionVerbs(AsyncVerbs):
    """A recorded choice: who decided what, from which inputs, and why."""

    async def register(
        self,
        *,
        context: str,
        choice: str,
        team: str | None = None,
        visit: str | None = None,
        actor: str | None = None,
        parent_id: str | None = None,
        override_kind: Literal['correction', 'exception', 'appeal', 'supersession', 'invalidation'] | None = None,
        rule: str | None = None,
        reasoning: str | None = None,
        confidence: float | None = None,
        confidence_source: Literal['self_reported', 'logprob', 'ensemble', 'human'] | None = None,
        alternatives: Sequence[str] | None = None,
        inputs: Any = None,
        determining_policy_ids: Sequence[str] | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterDecisionAnswer:
        """Record a decision with its actor, choice, inputs and reasons.

        Args:
            context: Kind of decision, for example RunStart, RunHold, RecipeApproval or
                PolicyGrant.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            actor: Actor who decided (default: the caller).
            parent_id: Decision that this one follows or overrides.
            rule: Rule that the decision is based on.
            confidence: Number from 0 to 1; requires confidence_source.
            alternatives: Other possible choices, best first; at most 32.
            inputs: Ids and numbers that the decision is based on, never names; at most 64
                and 64 KiB.
            determining_policy_ids: Policies that permitted or denied the action.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_decision",
            answers.RegisterDecisionAnswer,
            {"context": context, "choice": choice, "team_id": team, "visit_id": visit, "actor_id": actor, "parent_id": parent_id, "override_kind": override_kind, "rule": rule, "reasoning": reasoning, "confidence": confidence, "confidence_source": confidence_source, "alternatives": alternatives, "inputs": inputs, "determining_policy_ids": determining_policy_ids},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def rate(
        self,
        target: str,
        *,
        rating: Literal['useful', 'misleading', 'ignored'],
        comment: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Rate a decision; the latest rating of each actor counts.

        Args:
            target: The decision: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "rate_decision",
            Changed,
            {"decision_id": target, "rating": rating, "comment": comment},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def append_inferences(
        self,
        target: str,
        *,
        entries: Any,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AppendInferencesAnswer:
        """Append calls of models and tools to a decision; calls that are stored already are skipped.

        Args:
            target: The decision: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "append_inferences",
            answers.AppendInferencesAnswer,
            {"decision_id": target, "entries": entries},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def append_logbook_entry(
        self,
        target: str,
        *,
        text: str,
        entry_id: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AppendDecisionLogbookEntryAnswer:
        """Append an entry to the logbook of a decision; a correction is a further entry.

        Args:
            target: The decision: its name, its id or the end of its id.
            entry_id: Id that makes the request repeatable: the entry is stored once
                (default: a new id).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "append_decision_logbook_entry",
            answers.AppendDecisionLogbookEntryAnswer,
            {"decision_id": target, "text": text, "entry_id": entry_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    note = append_logbook_entry

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetDecisionAnswer:
        """Show one decision.

        Args:
            target: The decision: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_decision",
            answers.GetDecisionAnswer,
            {"decision_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetDecisionHistoryAnswer]:
        """List everything that happened to one decision, by version.

        Args:
            target: The decision: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_decision_history",
            answers.GetDecisionHistoryAnswer,
            {"decision_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        actor: str | None = None,
        context: str | None = None,
        choice: str | None = None,
        exclude_choice: Sequence[str] | None = None,
        confidence_band: Literal['Low', 'Medium', 'High', 'Certain'] | None = None,
        rule: str | None = None,
        parent_id: str | None = None,
        run: str | None = None,
        rating: Literal['useful', 'misleading', 'ignored'] | None = None,
        promoted: bool | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
    ) -> AsyncPages[answers.ListDecisionsAnswer]:
        """List decisions, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            exclude_choice: Exclude decisions with one of these choices.
            run: Only decisions with this run as input run_id.
            rating: Only decisions that an actor last rated so.
            promoted: Only decisions from which a caution was registered, or only others.
            from_: Only decisions made at or after this time.
            to: Only decisions made before this time.
        """
        return self._calls.pages(
            "list_decisions",
            answers.ListDecisionsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "actor_id": actor, "context": context, "choice": choice, "exclude_choice": exclude_choice, "confidence_band": confidence_band, "rule": rule, "parent_id": parent_id, "run_id": run, "rating": rating, "promoted": promoted, "from": from_, "to": to},
        )

    def inferences(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        include_messages: bool | None = None,
    ) -> AsyncPages[answers.ListDecisionInferencesAnswer]:
        """List the calls of models and tools of a decision, oldest first.

        Args:
            target: The decision: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            include_messages: Include prompts and answers, if they are stored.
        """
        return self._calls.pages(
            "list_decision_inferences",
            answers.ListDecisionInferencesAnswer,
            {"decision_id": target, "names": names, "cursor": cursor, "limit": limit, "include_messages": include_messages},
        )

    def logbook_entries(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        author_id: str | None = None,
    ) -> AsyncPages[answers.ListDecisionLogbookEntriesAnswer]:
        """List the logbook entries of a decision, oldest first.

        Args:
            target: The decision: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_decision_logbook_entries",
            answers.ListDecisionLogbookEntriesAnswer,
            {"decision_id": target, "names": names, "cursor": cursor, "limit": limit, "author_id": author_id},
        )

    def evidence(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        window_minutes: int | None = None,
    ) -> AsyncPages[answers.ListDecisionEvidenceAnswer]:
        """List what the agent had been answered before it made a decision, newest first.

        Args:
            target: The decision: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            window_minutes: Minutes before the decision from which all answers count
                (default: those since the agent's decision before it).
        """
        return self._calls.pages(
            "list_decision_evidence",
            answers.ListDecisionEvidenceAnswer,
            {"decision_id": target, "names": names, "cursor": cursor, "limit": limit, "window_minutes": window_minutes},
        )

    def verify_evidence(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        window_minutes: int | None = None,
    ) -> AsyncPages[answers.VerifyDecisionEvidenceAnswer]:
        """Read again what an agent had been answered before a decision, and compare, newest first.

        Args:
            target: The decision: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            window_minutes: Minutes before the decision from which all answers count
                (default: those since the agent's decision before it).
        """
        return self._calls.pages(
            "verify_decision_evidence",
            answers.VerifyDecisionEvidenceAnswer,
            {"decision_id": target, "names": names, "cursor": cursor, "limit": limit, "window_minutes": window_minutes},
        )

class AsyncCapabilityVerbs(AsyncVerbs):
    """What a kind of operation provides, and which parameters it takes."""

    async def define(
        self,
        *,
        name: str,
        required_affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']],
        executor_shapes: Sequence[Literal['METHOD', 'PROCEDURE']],
        code: str,
        description: str | None = None,
        parameters_schema: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineCapabilityAnswer:
        """Define what a kind of operation provides.

        Args:
            required_affordances: What the devices together must be able to do; send an
                empty list for nothing.
            executor_shapes: Whether methods, procedures or both can realize the capability.
            code: A code that starts with beamkeep.capability. and cannot be changed later.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_capability",
            answers.DefineCapabilityAnswer,
            {"name": name, "required_affordances": required_affordances, "executor_shapes": executor_shapes, "code": code, "description": description, "parameters_schema": parameters_schema},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        name: str,
        required_affordances: Sequence[Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable']],
        executor_shapes: Sequence[Literal['METHOD', 'PROCEDURE']],
        description: str,
        parameters_schema: Any,
        version_tag: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Replace every field of a capability except its code.

        Args:
            target: The capability: its name, its id or the end of its id.
            required_affordances: What the devices together must be able to do; send an
                empty list for nothing.
            executor_shapes: Whether methods, procedures or both can realize the capability.
            parameters_schema: JSON Schema that bounds the parameters; null for no
                parameters.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_capability",
            Changed,
            {"capability_id": target, "name": name, "required_affordances": required_affordances, "executor_shapes": executor_shapes, "description": description, "parameters_schema": parameters_schema, "version_tag": version_tag},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        replaced_by_capability: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate a capability, so that no method or recipe can newly realize it.

        Args:
            target: The capability: its name, its id or the end of its id.
            replaced_by_capability: The capability to use instead.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_capability",
            Changed,
            {"capability_id": target, "replaced_by_capability_id": replaced_by_capability},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetCapabilityAnswer:
        """Show one capability.

        Args:
            target: The capability: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_capability",
            answers.GetCapabilityAnswer,
            {"capability_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetCapabilityHistoryAnswer]:
        """List everything that happened to one capability, by version.

        Args:
            target: The capability: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_capability_history",
            answers.GetCapabilityHistoryAnswer,
            {"capability_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = None,
        executor_shape: Literal['METHOD', 'PROCEDURE'] | None = None,
        affordance: Literal['Rotatable', 'Translatable', 'Homeable', 'Limitable', 'Posable', 'Indexable', 'Capturable', 'Following', 'Leading', 'Imageable', 'Binnable', 'Capturing', 'Triggerable', 'Gateable', 'Synchronizable', 'Marking', 'Pulsing', 'Streamable', 'Bufferable', 'Compressible', 'Recording', 'Coolable', 'PIDControllable', 'Settable', 'Shutterable', 'Attenuable', 'Bendable', 'Identifiable', 'Reportable', 'Consumable'] | None = None,
        code: str | None = None,
    ) -> AsyncPages[answers.ListCapabilitiesAnswer]:
        """List capabilities, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            affordance: Only capabilities that require this affordance. What a device can
                do. Values are only added, never removed or renamed.
        """
        return self._calls.pages(
            "list_capabilities",
            answers.ListCapabilitiesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "executor_shape": executor_shape, "affordance": affordance, "code": code},
        )

class AsyncMethodVerbs(AsyncVerbs):
    """A technique: the device families and supplies that it needs."""

    async def define(
        self,
        *,
        name: str,
        needed_family_ids: Sequence[str],
        capability: str,
        needed_supplies: Sequence[str] | None = None,
        parameters_schema: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineMethodAnswer:
        """Define a technique that realizes a capability.

        Args:
            needed_family_ids: The families that the assets of every plan must cover; send
                an empty list for none.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_method",
            answers.DefineMethodAnswer,
            {"name": name, "needed_family_ids": needed_family_ids, "capability_id": capability, "needed_supplies": needed_supplies, "parameters_schema": parameters_schema},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        name: str,
        needed_family_ids: Sequence[str],
        needed_supplies: Sequence[str],
        parameters_schema: Any,
        version_tag: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Replace every field of a method except its capability.

        Args:
            target: The method: its name, its id or the end of its id.
            needed_family_ids: The families that the assets of every plan must cover; send
                an empty list for none.
            needed_supplies: The kinds of supply that must be available before a run starts;
                at most 20.
            parameters_schema: JSON Schema of the parameters of an experiment; a subset of
                the capability's schema.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_method",
            Changed,
            {"method_id": target, "name": name, "needed_family_ids": needed_family_ids, "needed_supplies": needed_supplies, "parameters_schema": parameters_schema, "version_tag": version_tag},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate a method, so that no practice can newly use it.

        Args:
            target: The method: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_method",
            Changed,
            {"method_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetMethodAnswer:
        """Show one method.

        Args:
            target: The method: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_method",
            answers.GetMethodAnswer,
            {"method_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetMethodHistoryAnswer]:
        """List everything that happened to one method, by version.

        Args:
            target: The method: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_method_history",
            answers.GetMethodHistoryAnswer,
            {"method_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = None,
        capability: str | None = None,
        family: str | None = None,
    ) -> AsyncPages[answers.ListMethodsAnswer]:
        """List methods, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            family: Only methods that need this family.
        """
        return self._calls.pages(
            "list_methods",
            answers.ListMethodsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "capability_id": capability, "family_id": family},
        )

class AsyncPracticeVerbs(AsyncVerbs):
    """A method as one site performs it."""

    async def define(
        self,
        *,
        name: str,
        method: str,
        facility_code: str | None = None,
        family_ids: Sequence[str] | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefinePracticeAnswer:
        """Define how a site, or devices of some families, perform a method.

        Args:
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_practice",
            answers.DefinePracticeAnswer,
            {"name": name, "method_id": method, "facility_code": facility_code, "family_ids": family_ids},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        name: str,
        facility_code: str,
        family_ids: Sequence[str],
        version_tag: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Replace every field of a practice except its method.

        Args:
            target: The practice: its name, its id or the end of its id.
            facility_code: The site: plans can bind only assets at this site or in its
                areas; null for every site.
            family_ids: Families that the assets of a plan must cover in addition to those
                of the method.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_practice",
            Changed,
            {"practice_id": target, "name": name, "facility_code": facility_code, "family_ids": family_ids, "version_tag": version_tag},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate a practice, so that no plan can newly follow it.

        Args:
            target: The practice: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_practice",
            Changed,
            {"practice_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetPracticeAnswer:
        """Show one practice.

        Args:
            target: The practice: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_practice",
            answers.GetPracticeAnswer,
            {"practice_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetPracticeHistoryAnswer]:
        """List everything that happened to one practice, by version.

        Args:
            target: The practice: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_practice_history",
            answers.GetPracticeHistoryAnswer,
            {"practice_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = None,
        method: str | None = None,
        facility_code: str | None = None,
    ) -> AsyncPages[answers.ListPracticesAnswer]:
        """List practices, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_practices",
            answers.ListPracticesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "method_id": method, "facility_code": facility_code},
        )

class AsyncPlanVerbs(AsyncVerbs):
    """A practice bound to real assets; a run is started from a plan."""

    async def define(
        self,
        *,
        name: str,
        asset_ids: Sequence[str],
        practice: str,
        window: Any = None,
        default_parameters: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefinePlanAnswer:
        """Bind a practice to the assets that perform it.

        Args:
            asset_ids: The assets that do the work; assets above and below them are not
                included.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_plan",
            answers.DefinePlanAnswer,
            {"name": name, "asset_ids": asset_ids, "practice_id": practice, "window": window, "default_parameters": default_parameters},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        name: str,
        asset_ids: Sequence[str],
        window: Any,
        default_parameters: Any,
        version_tag: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Replace every field of a plan except its practice.

        Args:
            target: The plan: its name, its id or the end of its id.
            asset_ids: The assets that do the work; assets above and below them are not
                included.
            default_parameters: The parameters of a run that sends none; they must fit the
                method's schema.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_plan",
            Changed,
            {"plan_id": target, "name": name, "asset_ids": asset_ids, "window": window, "default_parameters": default_parameters, "version_tag": version_tag},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def update_default_parameters(
        self,
        target: str,
        *,
        default_parameters_patch: Any,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Change some default parameters of a plan; the result must fit the method's schema.

        Args:
            target: The plan: its name, its id or the end of its id.
            default_parameters_patch: A JSON merge patch (RFC 7396): a value sets a
                parameter, null removes it.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_plan_default_parameters",
            Changed,
            {"plan_id": target, "default_parameters_patch": default_parameters_patch},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate a plan, so that no run can start from it.

        Args:
            target: The plan: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_plan",
            Changed,
            {"plan_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetPlanAnswer:
        """Show one plan.

        Args:
            target: The plan: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_plan",
            answers.GetPlanAnswer,
            {"plan_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetPlanHistoryAnswer]:
        """List everything that happened to one plan, by version.

        Args:
            target: The plan: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_plan_history",
            answers.GetPlanHistoryAnswer,
            {"plan_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = None,
        practice: str | None = None,
        method: str | None = None,
        asset: str | None = None,
        under_asset: str | None = None,
    ) -> AsyncPages[answers.ListPlansAnswer]:
        """List plans, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            under_asset: Plans that use this asset or an asset below it.
        """
        return self._calls.pages(
            "list_plans",
            answers.ListPlansAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "practice_id": practice, "method_id": method, "asset_id": asset, "under_asset_id": under_asset},
        )

    async def readiness(
        self,
        target: str,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        subject: str | None = None,
        pinned_calibration: Sequence[str] | None = None,
    ) -> answers.GetPlanReadinessAnswer:
        """Show whether a run of a plan could start now, with the result of every start check.

        Args:
            target: The plan: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            pinned_calibration: Calibration revisions that the run would pin.
        """
        return await self._calls.ask(
            "get_plan_readiness",
            answers.GetPlanReadinessAnswer,
            {"plan_id": target, "names": names, "min_token": min_token, "subject_id": subject, "pinned_calibration_id": pinned_calibration},
        )

    ready = readiness

class AsyncRecipeVerbs(AsyncVerbs):
    """The ordered list of steps from which a procedure is conducted."""

    async def define(
        self,
        *,
        steps: Any,
        name: str,
        capability: str,
        closing_steps: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineRecipeAnswer:
        """Define the steps from which procedures of a capability are conducted.

        Args:
            steps: The steps in the order in which they are done; 1 to 500.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_recipe",
            answers.DefineRecipeAnswer,
            {"steps": steps, "name": name, "capability_id": capability, "closing_steps": closing_steps},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        steps: Any,
        closing_steps: Any,
        version_tag: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Replace all steps of a recipe; earlier versions can still be read.

        Args:
            target: The recipe: its name, its id or the end of its id.
            steps: The steps in the order in which they are done; 1 to 500.
            closing_steps: The steps that are done after the others, even if one of those
                failed; at most 100.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_recipe",
            Changed,
            {"recipe_id": target, "steps": steps, "closing_steps": closing_steps, "version_tag": version_tag},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        replaced_by_recipe: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate a recipe, so that no procedure can newly follow it.

        Args:
            target: The recipe: its name, its id or the end of its id.
            replaced_by_recipe: The recipe to use instead.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_recipe",
            Changed,
            {"recipe_id": target, "replaced_by_recipe_id": replaced_by_recipe},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetRecipeAnswer:
        """Show one recipe.

        Args:
            target: The recipe: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_recipe",
            answers.GetRecipeAnswer,
            {"recipe_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetRecipeHistoryAnswer]:
        """List everything that happened to one recipe, by version.

        Args:
            target: The recipe: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_recipe_history",
            answers.GetRecipeHistoryAnswer,
            {"recipe_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Deprecated']] | None = None,
        capability: str | None = None,
    ) -> AsyncPages[answers.ListRecipesAnswer]:
        """List recipes, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_recipes",
            answers.ListRecipesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "capability_id": capability},
        )

    async def get_version(
        self,
        target: str,
        *,
        version_number: int,
        names: bool | None = None,
    ) -> answers.GetRecipeVersionAnswer:
        """Show the steps of one version of a recipe.

        Args:
            target: The recipe: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_recipe_version",
            answers.GetRecipeVersionAnswer,
            {"recipe_id": target, "version_number": version_number, "names": names},
        )

    def versions(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.ListRecipeVersionsAnswer]:
        """List the versions of a recipe, newest first.

        Args:
            target: The recipe: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_recipe_versions",
            answers.ListRecipeVersionsAnswer,
            {"recipe_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

class AsyncRunVerbs(AsyncVerbs):
    """One execution of a plan."""

    async def hold(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Hold a run until someone resumes it.

        Args:
            target: The run: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "hold_run",
            Changed,
            {"run_id": target, "decided_by_decision_id": decided_by_decision, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def complete(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Complete a run whose work is done.

        Args:
            target: The run: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "complete_run",
            Changed,
            {"run_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def stop(
        self,
        target: str,
        *,
        reason: str,
        decided_by_decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Stop a run early on purpose; its data are valid.

        Args:
            target: The run: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "stop_run",
            Changed,
            {"run_id": target, "reason": reason, "decided_by_decision_id": decided_by_decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def abort(
        self,
        target: str,
        *,
        reason: str,
        decided_by_decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Abort a run because something is wrong.

        Args:
            target: The run: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "abort_run",
            Changed,
            {"run_id": target, "reason": reason, "decided_by_decision_id": decided_by_decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def truncate(
        self,
        target: str,
        *,
        reason: str,
        decided_by_decision: str | None = None,
        interrupted_at: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Close a run that died unnoticed, for example in a power cut.

        Args:
            target: The run: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            interrupted_at: When the run died, if known.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "truncate_run",
            Changed,
            {"run_id": target, "reason": reason, "decided_by_decision_id": decided_by_decision, "interrupted_at": interrupted_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def adjust(
        self,
        target: str,
        *,
        reason: str,
        parameters_patch: Any,
        decided_by_decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AdjustRunAnswer:
        """Change the parameters of a run from now on.

        Args:
            target: The run: its name, its id or the end of its id.
            parameters_patch: Merged into the current parameters (RFC 7396); null removes a
                parameter.
            decided_by_decision: The recorded decision that led to this command.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "adjust_run",
            answers.AdjustRunAnswer,
            {"run_id": target, "reason": reason, "parameters_patch": parameters_patch, "decided_by_decision_id": decided_by_decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def append_observations(
        self,
        target: str,
        *,
        entries: Any,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AppendObservationsAnswer:
        """Add readings to a run; readings that the run already has are skipped.

        Args:
            target: The run: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "append_observations",
            answers.AppendObservationsAnswer,
            {"run_id": target, "entries": entries},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def append_logbook_entry(
        self,
        target: str,
        *,
        text: str,
        entry_id: str | None = None,
        kind: Literal['Note', 'Debrief'] | None = None,
        decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AppendRunLogbookEntryAnswer:
        """Write an entry in the logbook of a run; to correct an entry, write another one.

        Args:
            target: The run: its name, its id or the end of its id.
            entry_id: Id that makes the request repeatable: the entry is stored once
                (default: a new id).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "append_run_logbook_entry",
            answers.AppendRunLogbookEntryAnswer,
            {"run_id": target, "text": text, "entry_id": entry_id, "kind": kind, "decision_id": decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    note = append_logbook_entry

    async def start(
        self,
        *,
        name: str,
        plan: str,
        team: str | None = None,
        visit: str | None = None,
        subject: str | None = None,
        raid: str | None = None,
        override_parameters: Any = None,
        pinned_calibration_ids: Sequence[str] | None = None,
        campaign: str | None = None,
        decided_by_decision: str | None = None,
        external_refs: Any = None,
        progress: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.StartRunAnswer:
        """Start a run of a plan, if every start check passes.

        Args:
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            raid: The research activity identifier (ISO 23527); it is stored and not
                interpreted.
            override_parameters: Merged into the default parameters of the plan (RFC 7396);
                null removes a parameter.
            pinned_calibration_ids: The calibration revisions that the run uses.
            decided_by_decision: The recorded decision that led to this command.
            external_refs: References to the run in other systems, by scheme, for example
                bluesky; at most 20.
            progress: The channel that counts what the run has done, and its value when the
                run is complete.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "start_run",
            answers.StartRunAnswer,
            {"name": name, "plan_id": plan, "team_id": team, "visit_id": visit, "subject_id": subject, "raid": raid, "override_parameters": override_parameters, "pinned_calibration_ids": pinned_calibration_ids, "campaign_id": campaign, "decided_by_decision_id": decided_by_decision, "external_refs": external_refs, "progress": progress},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def resume(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        acknowledgement: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Continue a held run if its gates pass.

        Args:
            target: The run: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            acknowledgement: Why to continue if a start gate fails.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "resume_run",
            Changed,
            {"run_id": target, "decided_by_decision_id": decided_by_decision, "acknowledgement": acknowledgement},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetRunAnswer:
        """Show one run.

        Args:
            target: The run: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_run",
            answers.GetRunAnswer,
            {"run_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetRunHistoryAnswer]:
        """List everything that happened to one run, by version.

        Args:
            target: The run: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_run_history",
            answers.GetRunHistoryAnswer,
            {"run_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Running', 'Held', 'Completed', 'Aborted', 'Stopped', 'Truncated']] | None = None,
        plan: str | None = None,
        subject: str | None = None,
        campaign: str | None = None,
        asset: Sequence[str] | None = None,
        under_asset: str | None = None,
        pinned_calibration: str | None = None,
        external_ref: str | None = None,
        started_from: str | datetime | None = None,
        started_to: str | datetime | None = None,
    ) -> AsyncPages[answers.ListRunsAnswer]:
        """List runs, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            asset: Runs that use one of these assets.
            under_asset: Runs that use this asset or an asset below it.
            pinned_calibration: Runs that pin this calibration revision.
            external_ref: The run with this reference in another system, as `scheme:value`.
        """
        return self._calls.pages(
            "list_runs",
            answers.ListRunsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "plan_id": plan, "subject_id": subject, "campaign_id": campaign, "asset_id": asset, "under_asset_id": under_asset, "pinned_calibration_id": pinned_calibration, "external_ref": external_ref, "started_from": started_from, "started_to": started_to},
        )

    def observations(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        channel_name: str | None = None,
        sampling_procedure: Literal['baseline', 'monitor'] | None = None,
        simulated: bool | None = None,
        sampled_from: str | datetime | None = None,
        sampled_to: str | datetime | None = None,
    ) -> AsyncPages[answers.ListRunObservationsAnswer]:
        """List the observations of one run by the time at which they were sampled.

        Args:
            target: The run: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_run_observations",
            answers.ListRunObservationsAnswer,
            {"run_id": target, "names": names, "cursor": cursor, "limit": limit, "channel_name": channel_name, "sampling_procedure": sampling_procedure, "simulated": simulated, "sampled_from": sampled_from, "sampled_to": sampled_to},
        )

    async def observation_summary(
        self,
        target: str,
        *,
        names: bool | None = None,
    ) -> answers.GetRunObservationSummaryAnswer:
        """Show what each channel of a run reported: how often, when, its last value and its range.

        Args:
            target: The run: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_run_observation_summary",
            answers.GetRunObservationSummaryAnswer,
            {"run_id": target, "names": names},
        )

    async def series(
        self,
        target: str,
        *,
        channel_name: Sequence[str],
        names: bool | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
        points: int | None = None,
    ) -> answers.GetRunSeriesAnswer:
        """Show the readings of channels of a run as points of a plot, at most one for an interval.

        Args:
            target: The run: its name, its id or the end of its id.
            channel_name: The channels to show.
            names: Answer as `names` also the names of the objects in the answer, by id.
            from_: The start of the period (default: the first reading of the run).
            to: The end of the period, which is not part of it (default: after the last
                reading).
            points: The number of intervals of the period.
        """
        return await self._calls.ask(
            "get_run_series",
            answers.GetRunSeriesAnswer,
            {"run_id": target, "channel_name": channel_name, "names": names, "from": from_, "to": to, "points": points},
        )

    def logbook_entries(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        kind: Literal['Note', 'Debrief'] | None = None,
        author_id: str | None = None,
    ) -> AsyncPages[answers.ListRunLogbookEntriesAnswer]:
        """List the logbook entries of one run, oldest first.

        Args:
            target: The run: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_run_logbook_entries",
            answers.ListRunLogbookEntriesAnswer,
            {"run_id": target, "names": names, "cursor": cursor, "limit": limit, "kind": kind, "author_id": author_id},
        )

    async def shift_handover(
        self,
        *,
        from_: str | datetime,
        to: str | datetime,
        names: bool | None = None,
        min_token: str | None = None,
        facility_code: str | None = None,
    ) -> answers.GetShiftHandoverAnswer:
        """Show what happened in a shift, what it left open, and what expires soon after it.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            facility_code: Only this facility and its Areas (default: all facilities).
        """
        return await self._calls.ask(
            "get_shift_handover",
            answers.GetShiftHandoverAnswer,
            {"from": from_, "to": to, "names": names, "min_token": min_token, "facility_code": facility_code},
        )

class AsyncProcedureVerbs(AsyncVerbs):
    """Work on equipment that leaves no dataset, done by hand or by a conductor."""

    async def register(
        self,
        *,
        name: str,
        kind: str,
        team: str | None = None,
        visit: str | None = None,
        target_asset_ids: Sequence[str] | None = None,
        parent_run: str | None = None,
        capability: str | None = None,
        max_consecutive_unconverged_iterations: int | None = None,
        recipe: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterProcedureAnswer:
        """Register a procedure; it does nothing until it is started or conducted.

        Args:
            kind: What kind of work it is, for example motor_homing, center_alignment or
                bakeout.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            target_asset_ids: The assets that the work is about (default: the whole
                facility).
            parent_run: The run that the procedure is a phase of.
            capability: The capability that the procedure realizes (default: that of the
                recipe).
            max_consecutive_unconverged_iterations: How many iterations in a row may fail to
                converge (default: no limit).
            recipe: The recipe to follow; leave it out for work by hand or with inline
                steps.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_procedure",
            answers.RegisterProcedureAnswer,
            {"name": name, "kind": kind, "team_id": team, "visit_id": visit, "target_asset_ids": target_asset_ids, "parent_run_id": parent_run, "capability_id": capability, "max_consecutive_unconverged_iterations": max_consecutive_unconverged_iterations, "recipe": recipe},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def resume(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Resume a held procedure by hand; a continuing conduct continues with its steps instead.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "resume_procedure",
            Changed,
            {"procedure_id": target, "decided_by_decision_id": decided_by_decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def complete(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Complete a procedure whose work is done.

        Args:
            target: The procedure: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "complete_procedure",
            Changed,
            {"procedure_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def truncate(
        self,
        target: str,
        *,
        reason: str,
        interrupted_at: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Close a procedure that ended unnoticed, for example in a power cut.

        Args:
            target: The procedure: its name, its id or the end of its id.
            interrupted_at: When the procedure was interrupted, if known.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "truncate_procedure",
            Changed,
            {"procedure_id": target, "reason": reason, "interrupted_at": interrupted_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def start_iteration(
        self,
        target: str,
        *,
        iteration_index: int,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Start the next iteration of a running procedure.

        Args:
            target: The procedure: its name, its id or the end of its id.
            iteration_index: The number of the iteration: one more than those already begun.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "start_iteration",
            Changed,
            {"procedure_id": target, "iteration_index": iteration_index},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def end_iteration(
        self,
        target: str,
        *,
        iteration_index: int,
        converged: bool,
        reason: str | None = None,
        value: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """End the open iteration and record its result.

        Args:
            target: The procedure: its name, its id or the end of its id.
            converged: Whether the iteration reached its goal; null if that is unknown.
            value: The measured value that the iteration ended with.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "end_iteration",
            Changed,
            {"procedure_id": target, "iteration_index": iteration_index, "converged": converged, "reason": reason, "value": value},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def hold(
        self,
        target: str,
        *,
        reason: str,
        decided_by_decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Hold a procedure until someone resumes it; the step under way finishes.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "hold_procedure",
            Changed,
            {"procedure_id": target, "reason": reason, "decided_by_decision_id": decided_by_decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def abort(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Abort a procedure because something is wrong; no closing step is walked.

        Args:
            target: The procedure: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "abort_procedure",
            Changed,
            {"procedure_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def cancel_conduct(
        self,
        target: str,
        *,
        reason: str,
        conduct_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Cancel a conduct: the step under way is interrupted, and the procedure is held.

        Args:
            target: The procedure: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "cancel_conduct",
            Changed,
            {"procedure_id": target, "reason": reason, "conduct_id": conduct_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def append_activities(
        self,
        target: str,
        *,
        entries: Any,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AppendActivitiesAnswer:
        """Record what was done by hand; activities that the procedure already has are skipped.

        Args:
            target: The procedure: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "append_activities",
            answers.AppendActivitiesAnswer,
            {"procedure_id": target, "entries": entries},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def make_safe(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.MakeProcedureSafeAnswer:
        """Walk the closing steps that make safe, in any status after the start and without a gate.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "make_procedure_safe",
            answers.MakeProcedureSafeAnswer,
            {"procedure_id": target, "decided_by_decision_id": decided_by_decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def start(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.StartProcedureAnswer:
        """Start a procedure by hand, if every start gate passes.

        Args:
            target: The procedure: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "start_procedure",
            answers.StartProcedureAnswer,
            {"procedure_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def conduct(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        steps: Any = None,
        closing_steps: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ConductProcedureAnswer:
        """Walk the steps of a procedure once; a step that fails aborts it.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            steps: The steps to walk; leave them out if the procedure follows a recipe.
            closing_steps: The steps to walk at the end, also after a failure; leave them
                out with a recipe.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "conduct_procedure",
            answers.ConductProcedureAnswer,
            {"procedure_id": target, "decided_by_decision_id": decided_by_decision, "steps": steps, "closing_steps": closing_steps},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def conduct_or_hold(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        steps: Any = None,
        closing_steps: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ConductOrHoldProcedureAnswer:
        """Walk the steps of a procedure once; a failure that can be recovered from holds it.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            steps: The steps to walk; leave them out if the procedure follows a recipe.
            closing_steps: The steps to walk at the end, also after a failure; leave them
                out with a recipe.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "conduct_or_hold_procedure",
            answers.ConductOrHoldProcedureAnswer,
            {"procedure_id": target, "decided_by_decision_id": decided_by_decision, "steps": steps, "closing_steps": closing_steps},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def conduct_from(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        redo_step_indexes: Sequence[int] | None = None,
        skip_step_indexes: Sequence[int] | None = None,
        abandon: bool | None = None,
        from_step_index: int | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ConductFromProcedureAnswer:
        """Continue a held procedure from the first step that is not known to be finished.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            redo_step_indexes: The steps to execute again.
            skip_step_indexes: The steps to leave out.
            abandon: Execute no further step, walk the closing steps, and abort the
                procedure.
            from_step_index: The step to continue with (default: the first step that is not
                finished).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "conduct_from_procedure",
            answers.ConductFromProcedureAnswer,
            {"procedure_id": target, "decided_by_decision_id": decided_by_decision, "redo_step_indexes": redo_step_indexes, "skip_step_indexes": skip_step_indexes, "abandon": abandon, "from_step_index": from_step_index},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def conduct_until_converged(
        self,
        target: str,
        *,
        capture_name: str,
        criterion: Any,
        decided_by_decision: str | None = None,
        steps: Any = None,
        closing_steps: Any = None,
        max_consecutive_unconverged_iterations: int | None = None,
        max_iterations: int | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ConductUntilConvergedAnswer:
        """Walk the steps of a procedure again and again until a captured value meets a criterion.

        Args:
            target: The procedure: its name, its id or the end of its id.
            capture_name: The captured value that the criterion judges.
            decided_by_decision: The recorded decision that led to this command.
            steps: The steps to walk; leave them out if the procedure follows a recipe.
            closing_steps: The steps to walk at the end, also after a failure; leave them
                out with a recipe.
            max_consecutive_unconverged_iterations: How many passes in a row may miss the
                criterion (default: the limit of the procedure).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "conduct_until_converged",
            answers.ConductUntilConvergedAnswer,
            {"procedure_id": target, "capture_name": capture_name, "criterion": criterion, "decided_by_decision_id": decided_by_decision, "steps": steps, "closing_steps": closing_steps, "max_consecutive_unconverged_iterations": max_consecutive_unconverged_iterations, "max_iterations": max_iterations},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def conduct_until_advised(
        self,
        target: str,
        *,
        advisor: Any,
        objective: Any,
        space: Any,
        decided_by_decision: str | None = None,
        steps: Any = None,
        closing_steps: Any = None,
        max_iterations: int | None = None,
        time_budget: float | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ConductUntilAdvisedAnswer:
        """Walk the steps of a procedure at coordinates that an advisor chooses until it says stop.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            steps: The steps to walk; leave them out if the procedure follows a recipe.
            closing_steps: The steps to walk at the end, also after a failure; leave them
                out with a recipe.
            time_budget: How long the passes may take together (default: no limit).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "conduct_until_advised",
            answers.ConductUntilAdvisedAnswer,
            {"procedure_id": target, "advisor": advisor, "objective": objective, "space": space, "decided_by_decision_id": decided_by_decision, "steps": steps, "closing_steps": closing_steps, "max_iterations": max_iterations, "time_budget": time_budget},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def conduct_until_advised_from(
        self,
        target: str,
        *,
        decided_by_decision: str | None = None,
        redo_step_indexes: Sequence[int] | None = None,
        skip_step_indexes: Sequence[int] | None = None,
        abandon: bool | None = None,
        max_iterations: int | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ConductUntilAdvisedFromAnswer:
        """Continue a held procedure that an advisor steers, with the advice that is stored.

        Args:
            target: The procedure: its name, its id or the end of its id.
            decided_by_decision: The recorded decision that led to this command.
            redo_step_indexes: The steps to execute again.
            skip_step_indexes: The steps to leave out.
            abandon: Execute no further step, walk the closing steps, and abort the
                procedure.
            max_iterations: The limit of passes (default: that of the conduct that is
                continued).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "conduct_until_advised_from",
            answers.ConductUntilAdvisedFromAnswer,
            {"procedure_id": target, "decided_by_decision_id": decided_by_decision, "redo_step_indexes": redo_step_indexes, "skip_step_indexes": skip_step_indexes, "abandon": abandon, "max_iterations": max_iterations},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetProcedureAnswer:
        """Show one procedure.

        Args:
            target: The procedure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_procedure",
            answers.GetProcedureAnswer,
            {"procedure_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetProcedureHistoryAnswer]:
        """List everything that happened to one procedure, by version.

        Args:
            target: The procedure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_procedure_history",
            answers.GetProcedureHistoryAnswer,
            {"procedure_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Defined', 'Running', 'Held', 'Completed', 'Aborted', 'Truncated']] | None = None,
        kind: str | None = None,
        parent_run: str | None = None,
        target_asset: Sequence[str] | None = None,
        under_asset: str | None = None,
        asset: Sequence[str] | None = None,
        recipe: str | None = None,
        conducting: bool | None = None,
        last_outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None = None,
    ) -> AsyncPages[answers.ListProceduresAnswer]:
        """List procedures, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            target_asset: Procedures about one of these assets.
            under_asset: Procedures about this asset or an asset below it.
            asset: Procedures that are about one of these assets or move it.
            conducting: Only procedures with an active conduct, or only those without one.
            last_outcome: Only procedures whose last conduct ended with this outcome.
        """
        return self._calls.pages(
            "list_procedures",
            answers.ListProceduresAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "kind": kind, "parent_run_id": parent_run, "target_asset_id": target_asset, "under_asset_id": under_asset, "asset_id": asset, "recipe_id": recipe, "conducting": conducting, "last_outcome": last_outcome},
        )

    def iterations(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.ListProcedureIterationsAnswer]:
        """List the iterations of one procedure by their index.

        Args:
            target: The procedure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_procedure_iterations",
            answers.ListProcedureIterationsAnswer,
            {"procedure_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def activities(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        conduct_id: str | None = None,
        phase: Literal['Steps', 'Closing'] | None = None,
        iteration_index: int | None = None,
        step_index: int | None = None,
        stage: Literal['Started', 'Submitted', 'Reading', 'Writing', 'Written', 'Succeeded', 'Failed', 'Skipped'] | None = None,
        after_sequence: int | None = None,
    ) -> AsyncPages[answers.ListProcedureActivitiesAnswer]:
        """List the activities of one procedure in the order in which they were recorded.

        Args:
            target: The procedure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            after_sequence: Only activities that were recorded after the one with this
                sequence.
        """
        return self._calls.pages(
            "list_procedure_activities",
            answers.ListProcedureActivitiesAnswer,
            {"procedure_id": target, "names": names, "cursor": cursor, "limit": limit, "conduct_id": conduct_id, "phase": phase, "iteration_index": iteration_index, "step_index": step_index, "stage": stage, "after_sequence": after_sequence},
        )

    async def get_conduct(
        self,
        target: str,
        *,
        conduct_id: str,
        names: bool | None = None,
    ) -> answers.GetConductAnswer:
        """Show how far one conduct of a procedure is, or how it ended.

        Args:
            target: The procedure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_conduct",
            answers.GetConductAnswer,
            {"procedure_id": target, "conduct_id": conduct_id, "names": names},
        )

    def conducts(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        status: Literal['Queued', 'Running', 'Closing', 'Ended'] | None = None,
        outcome: Literal['Completed', 'Aborted', 'Held', 'Halted', 'Cancelled', 'Interrupted'] | None = None,
    ) -> AsyncPages[answers.ListConductsAnswer]:
        """List the conducts of one procedure in the order in which they were requested.

        Args:
            target: The procedure: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_conducts",
            answers.ListConductsAnswer,
            {"procedure_id": target, "names": names, "cursor": cursor, "limit": limit, "status": status, "outcome": outcome},
        )

class AsyncDatasetVerbs(AsyncVerbs):
    """One product of the facility, named by the checksum of its bytes."""

    async def register(
        self,
        *,
        name: str,
        checksum: Any,
        byte_size: int,
        encoding: Any,
        team: str | None = None,
        visit: str | None = None,
        digests: Any = None,
        file_count: int | None = None,
        parts: Any = None,
        producing_run: str | None = None,
        subject: str | None = None,
        derived_from: Sequence[str] | None = None,
        used_calibration_ids: Sequence[str] | None = None,
        retain_until: str | None = None,
        available_from: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterDatasetAnswer:
        """Register a dataset whose bytes are complete; its intent is Trial at first.

        Args:
            checksum: The SHA-256 of the one file, or of the list of files.
            byte_size: The number of bytes of all files.
            encoding: The media type, and the formats that the bytes follow.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            digests: Other sums of the same bytes, by which other systems name them.
            file_count: The number of files, if there are several and they are not listed.
            parts: The files of the dataset, if it is not everything below its base
                directory.
            subject: The sample (default: the subject of the run).
            derived_from: The datasets from which this one was computed.
            used_calibration_ids: The calibration revisions used, which the run has pinned.
            retain_until: The dataset cannot be discarded before this day.
            available_from: The day on which an embargo ends.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_dataset",
            answers.RegisterDatasetAnswer,
            {"name": name, "checksum": checksum, "byte_size": byte_size, "encoding": encoding, "team_id": team, "visit_id": visit, "digests": digests, "file_count": file_count, "parts": parts, "producing_run_id": producing_run, "subject_id": subject, "derived_from": derived_from, "used_calibration_ids": used_calibration_ids, "retain_until": retain_until, "available_from": available_from},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def discard(
        self,
        target: str,
        *,
        reason: str,
        despite_derived: bool | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Discard a dataset; from then on, each of its copies may be discarded.

        Args:
            target: The dataset: its name, its id or the end of its id.
            despite_derived: Whether production data derived from the dataset is known and
                stays without its source.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "discard_dataset",
            Changed,
            {"dataset_id": target, "reason": reason, "despite_derived": despite_derived},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def promote(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Promote a trial dataset to production data.

        Args:
            target: The dataset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "promote_dataset",
            Changed,
            {"dataset_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def demote(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Retract a production dataset; datasets derived from it do not change.

        Args:
            target: The dataset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "demote_dataset",
            Changed,
            {"dataset_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def update_retention(
        self,
        target: str,
        *,
        reason: str,
        retain_until: str | None = None,
        available_from: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Change until when a dataset is kept, and from when it is available.

        Args:
            target: The dataset: its name, its id or the end of its id.
            retain_until: The dataset cannot be discarded before this day; null removes the
                day.
            available_from: The day on which an embargo ends; null removes the day.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_dataset_retention",
            Changed,
            {"dataset_id": target, "reason": reason, "retain_until": retain_until, "available_from": available_from},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def archive(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Archive a dataset whose copies meet the custody rule.

        Args:
            target: The dataset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "archive_dataset",
            Changed,
            {"dataset_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def ingest_scan(
        self,
        *,
        locator: str,
        producing_asset: str,
        team: str | None = None,
        visit: str | None = None,
        producing_run: str | None = None,
        subject: str | None = None,
        supply: str | None = None,
        name: str | None = None,
        captured_at: str | datetime | None = None,
        entry: str | None = None,
        checksum: Any = None,
        parts: Any = None,
        used_calibration_ids: Sequence[str] | None = None,
        retain_until: str | None = None,
        available_from: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.IngestScanAnswer:
        """Read a finished HDF5 file, and register its dataset, its copy and its acquisitions.

        Args:
            locator: The file URI of an HDF5 file beneath a data root of the service.
            producing_asset: The asset that captured the scan, such as a camera.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            subject: The sample (default: the subject of the run).
            supply: The storage that the file is on.
            name: Default: the title in the file, or the name of the file.
            captured_at: When the scan began, if the file does not say so.
            entry: The path of one entry (default: all entries, each an acquisition).
            checksum: As the writer computed it (default: the service computes it).
            parts: With a checksum of several files: all files of the scan.
            used_calibration_ids: The calibration revisions used, which the run has pinned.
            retain_until: The dataset cannot be discarded before this day.
            available_from: The day on which an embargo ends.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "ingest_scan",
            answers.IngestScanAnswer,
            {"locator": locator, "producing_asset_id": producing_asset, "team_id": team, "visit_id": visit, "producing_run_id": producing_run, "subject_id": subject, "supply_id": supply, "name": name, "captured_at": captured_at, "entry": entry, "checksum": checksum, "parts": parts, "used_calibration_ids": used_calibration_ids, "retain_until": retain_until, "available_from": available_from},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def assign_external_id(
        self,
        target: str,
        *,
        external_id: str,
        external_id_namespace: Literal['doi'] | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Assign a DOI that was registered elsewhere to a production dataset.

        Args:
            target: The dataset: its name, its id or the end of its id.
            external_id: A DOI without a prefix, such as 10.5072/example.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "assign_dataset_external_id",
            Changed,
            {"dataset_id": target, "external_id": external_id, "external_id_namespace": external_id_namespace},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def mint_external_id(
        self,
        target: str,
        *,
        creator_ids: Sequence[str],
        publisher_facility_code: str,
        contributors: Any = None,
        publication_year: int | None = None,
        license: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.MintDatasetExternalIdAnswer:
        """Have a DOI registered for a production dataset; a worker calls the registry.

        Args:
            target: The dataset: its name, its id or the end of its id.
            creator_ids: The people who are cited, in this order.
            publisher_facility_code: The facility that publishes.
            contributors: Further people, each with a role, in this order.
            publication_year: The year of publication (default: the current year).
            license: SPDX identifier, such as CC-BY-4.0.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mint_dataset_external_id",
            answers.MintDatasetExternalIdAnswer,
            {"dataset_id": target, "creator_ids": creator_ids, "publisher_facility_code": publisher_facility_code, "contributors": contributors, "publication_year": publication_year, "license": license},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def hide_external_id(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Hide the DOI of a retracted or discarded dataset from search; its page stays.

        Args:
            target: The dataset: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "hide_dataset_external_id",
            Changed,
            {"dataset_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetDatasetAnswer:
        """Show one dataset.

        Args:
            target: The dataset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_dataset",
            answers.GetDatasetAnswer,
            {"dataset_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetDatasetHistoryAnswer]:
        """List everything that happened to one dataset, by version.

        Args:
            target: The dataset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_dataset_history",
            answers.GetDatasetHistoryAnswer,
            {"dataset_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Registered', 'Archived', 'Discarded']] | None = None,
        intent: Literal['Trial', 'Production', 'Retracted'] | None = None,
        producing_run: str | None = None,
        subject: str | None = None,
        used_calibration: str | None = None,
        derived_from: str | None = None,
        checksum_value: str | None = None,
        media_type: str | None = None,
        external_id: str | None = None,
    ) -> AsyncPages[answers.ListDatasetsAnswer]:
        """List datasets, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            intent: How far a dataset is trusted, apart from its status.
            used_calibration: Datasets made with this calibration revision.
            derived_from: Datasets computed from this dataset.
        """
        return self._calls.pages(
            "list_datasets",
            answers.ListDatasetsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "intent": intent, "producing_run_id": producing_run, "subject_id": subject, "used_calibration_id": used_calibration, "derived_from": derived_from, "checksum_value": checksum_value, "media_type": media_type, "external_id": external_id},
        )

    def parts(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.ListDatasetPartsAnswer]:
        """List the files of a dataset, by path.

        Args:
            target: The dataset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_dataset_parts",
            answers.ListDatasetPartsAnswer,
            {"dataset_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def custody(
        self,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        verdict: Literal['Lost', 'Below', 'Met', 'Spare'] | None = None,
        intent: Literal['Trial', 'Production', 'Retracted'] | None = None,
        producing_run: str | None = None,
        dataset: str | None = None,
        supply: str | None = None,
        sole_supply: str | None = None,
    ) -> AsyncPages[answers.ListCustodyAnswer]:
        """List datasets with their copies, and which of these may be deleted.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            verdict: As of the last event of the dataset.
            intent: How far a dataset is trusted, apart from its status.
            dataset: One dataset.
            supply: Datasets with a copy on this storage.
            sole_supply: Datasets of which all copies that count are on this storage.
        """
        return self._calls.pages(
            "list_custody",
            answers.ListCustodyAnswer,
            {"names": names, "cursor": cursor, "limit": limit, "verdict": verdict, "intent": intent, "producing_run_id": producing_run, "dataset_id": dataset, "supply_id": supply, "sole_supply_id": sole_supply},
        )

    async def custody_summary(
        self,
        *,
        names: bool | None = None,
        supply: str | None = None,
    ) -> answers.GetCustodySummaryAnswer:
        """Count copies by storage and status, and datasets by how well they are kept.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_custody_summary",
            answers.GetCustodySummaryAnswer,
            {"names": names, "supply_id": supply},
        )

    def custody_report(
        self,
        *,
        names: bool | None = None,
        supply: str | None = None,
        uri_prefix: str | None = None,
        distribution: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetCustodyReportAnswer]:
        """Show for every copy on a storage, or below an address, whether it may be deleted.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            uri_prefix: Only copies whose address begins so, such as file:///data/2030-01.
            distribution: Only this copy.
            after: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_custody_report",
            answers.GetCustodyReportAnswer,
            {"names": names, "supply_id": supply, "uri_prefix": uri_prefix, "distribution_id": distribution, "after": after, "limit": limit},
        )

    async def export_datacite(
        self,
        target: str,
        *,
        names: bool | None = None,
    ) -> answers.ExportDatasetDataciteAnswer:
        """Show the metadata of a dataset as DataCite registers it.

        Args:
            target: The dataset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "export_dataset_datacite",
            answers.ExportDatasetDataciteAnswer,
            {"dataset_id": target, "names": names},
        )

    async def lineage(
        self,
        target: str,
        *,
        names: bool | None = None,
        direction: Literal['upstream', 'downstream', 'both'] | None = None,
        depth: int | None = None,
    ) -> answers.GetDatasetLineageAnswer:
        """Show from what a dataset was derived, and what was derived from it.

        Args:
            target: The dataset: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_dataset_lineage",
            answers.GetDatasetLineageAnswer,
            {"dataset_id": target, "names": names, "direction": direction, "depth": depth},
        )

    async def provenance(
        self,
        *,
        kind: Literal['Dataset', 'Run', 'Subject', 'Asset', 'CalibrationRevision', 'Edition'],
        id: str,
        names: bool | None = None,
        direction: Literal['upstream', 'downstream', 'both'] | None = None,
        depth: int | None = None,
    ) -> answers.GetProvenanceAnswer:
        """Show what an object came of, and what came of it.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_provenance",
            answers.GetProvenanceAnswer,
            {"kind": kind, "id": id, "names": names, "direction": direction, "depth": depth},
        )

class AsyncDistributionVerbs(AsyncVerbs):
    """One copy of a dataset's bytes at one place."""

    async def register(
        self,
        *,
        dataset: str,
        uri: str,
        checksum: Any,
        byte_size: int,
        access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline'],
        supply: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterDistributionAnswer:
        """Register a copy of a dataset; it counts once a check has found the right bytes.

        Args:
            uri: Where the bytes are; of several files, the base directory, which ends in a
                slash.
            checksum: The checksum of the dataset.
            byte_size: The size of the dataset.
            access_protocol: How the bytes are read; Offline if they need hands or a recall.
            supply: The storage that holds the copy.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_distribution",
            answers.RegisterDistributionAnswer,
            {"dataset_id": dataset, "uri": uri, "checksum": checksum, "byte_size": byte_size, "access_protocol": access_protocol, "supply_id": supply},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def mark_stale(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Record that the bytes of a copy are not those of the dataset any more.

        Args:
            target: The distribution: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mark_distribution_stale",
            Changed,
            {"distribution_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def restore(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Take back the permission to delete a copy; the copy counts once it is checked again.

        Args:
            target: The distribution: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "restore_distribution",
            Changed,
            {"distribution_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def mark_overwritten(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """End a copy whose place has other bytes or none, and free the place for another copy.

        Args:
            target: The distribution: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mark_distribution_overwritten",
            Changed,
            {"distribution_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def record_removal(
        self,
        target: str,
        *,
        removed_at: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Record that the bytes of a discarded copy were deleted.

        Args:
            target: The distribution: its name, its id or the end of its id.
            removed_at: When the bytes were deleted (default: now).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "record_distribution_removal",
            Changed,
            {"distribution_id": target, "removed_at": removed_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def discard(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Permit the deletion of a copy that the custody rule does not need.

        Args:
            target: The distribution: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "discard_distribution",
            Changed,
            {"distribution_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def request_check(
        self,
        target: str,
        *,
        kind: Literal['ChecksumVerified', 'FormatValidated'] | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.RequestDistributionCheckAnswer:
        """Ask the service to read a copy and to record what it found.

        Args:
            target: The distribution: its name, its id or the end of its id.
            kind: What the service can check of a copy itself.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "request_distribution_check",
            answers.RequestDistributionCheckAnswer,
            {"distribution_id": target, "kind": kind},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetDistributionAnswer:
        """Show one distribution.

        Args:
            target: The distribution: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_distribution",
            answers.GetDistributionAnswer,
            {"distribution_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetDistributionHistoryAnswer]:
        """List everything that happened to one distribution, by version.

        Args:
            target: The distribution: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_distribution_history",
            answers.GetDistributionHistoryAnswer,
            {"distribution_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        dataset: str | None = None,
        supply: str | None = None,
        status: Sequence[Literal['Registered', 'Verified', 'Stale', 'Discarded', 'Removed', 'Overwritten']] | None = None,
        access_protocol: Literal['HTTPS', 'Globus', 'S3', 'POSIX', 'NFS', 'XRootD', 'OAI_PMH', 'Offline'] | None = None,
        unreachable: bool | None = None,
        verified_before: str | datetime | None = None,
    ) -> AsyncPages[answers.ListDistributionsAnswer]:
        """List copies of datasets, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            unreachable: Copies whose last check could not read them, or not.
            verified_before: Copies whose last good check is older.
        """
        return self._calls.pages(
            "list_distributions",
            answers.ListDistributionsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "dataset_id": dataset, "supply_id": supply, "status": status, "access_protocol": access_protocol, "unreachable": unreachable, "verified_before": verified_before},
        )

    def checks(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.ListDistributionChecksAnswer]:
        """List the checks of a copy that wait or run, with their progress.

        Args:
            target: The distribution: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_distribution_checks",
            answers.ListDistributionChecksAnswer,
            {"distribution_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

class AsyncAcquisitionVerbs(AsyncVerbs):
    """The fact that an asset captured a dataset, with its settings."""

    async def record(
        self,
        *,
        dataset: str,
        producing_asset: str,
        captured_at: str | datetime,
        producing_run: str | None = None,
        settings: Any = None,
        evidence: Any = None,
        corrects_acquisition: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RecordAcquisitionAnswer:
        """Record that an asset captured a dataset, or correct such a record.

        Args:
            producing_asset: The asset that captured the dataset, such as a camera.
            captured_at: When the asset captured the dataset.
            settings: The settings of the asset, such as the exposure time.
            evidence: What was counted or measured, such as the number of frames.
            corrects_acquisition: The wrong record that this one replaces.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "record_acquisition",
            answers.RecordAcquisitionAnswer,
            {"dataset_id": dataset, "producing_asset_id": producing_asset, "captured_at": captured_at, "producing_run_id": producing_run, "settings": settings, "evidence": evidence, "corrects_acquisition_id": corrects_acquisition},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetAcquisitionAnswer:
        """Show one acquisition.

        Args:
            target: The acquisition: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_acquisition",
            answers.GetAcquisitionAnswer,
            {"acquisition_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetAcquisitionHistoryAnswer]:
        """List everything that happened to one acquisition, by version.

        Args:
            target: The acquisition: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_acquisition_history",
            answers.GetAcquisitionHistoryAnswer,
            {"acquisition_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        team: str | None = None,
        visit: str | None = None,
        dataset: str | None = None,
        producing_asset: str | None = None,
        producing_run: str | None = None,
        captured_from: str | datetime | None = None,
        captured_to: str | datetime | None = None,
    ) -> AsyncPages[answers.ListAcquisitionsAnswer]:
        """List acquisitions, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            team: Only objects of this team.
            visit: Only objects of this visit.
        """
        return self._calls.pages(
            "list_acquisitions",
            answers.ListAcquisitionsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "team_id": team, "visit_id": visit, "dataset_id": dataset, "producing_asset_id": producing_asset, "producing_run_id": producing_run, "captured_from": captured_from, "captured_to": captured_to},
        )

class AsyncAttestationVerbs(AsyncVerbs):
    """The report of a check on one copy of a dataset."""

    async def record(
        self,
        *,
        distribution: str,
        kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated'],
        checked_at: str | datetime,
        checker: str,
        found: Any = None,
        failure: Literal['NotFound', 'PermissionDenied', 'OutsideRoots', 'Timeout', 'TransportError', 'Corrupt'] | None = None,
        service: str | None = None,
        task_id: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RecordAttestationAnswer:
        """Record what a check of a copy found; the copy becomes verified, stale or unreachable.

        Args:
            checked_at: When the check began.
            checker: Name and version of the program that checked.
            found: What the check read; without it, `failure` is required.
            failure: Why the check could not read the copy. Why a check could not read a
                copy.
            service: The transfer service, of a check by one.
            task_id: The task of the transfer service.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "record_attestation",
            answers.RecordAttestationAnswer,
            {"distribution_id": distribution, "kind": kind, "checked_at": checked_at, "checker": checker, "found": found, "failure": failure, "service": service, "task_id": task_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetAttestationAnswer:
        """Show one attestation.

        Args:
            target: The attestation: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_attestation",
            answers.GetAttestationAnswer,
            {"attestation_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetAttestationHistoryAnswer]:
        """List everything that happened to one attestation, by version.

        Args:
            target: The attestation: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_attestation_history",
            answers.GetAttestationHistoryAnswer,
            {"attestation_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        team: str | None = None,
        visit: str | None = None,
        dataset: str | None = None,
        distribution: str | None = None,
        kind: Literal['ChecksumVerified', 'TransferVerified', 'FormatValidated'] | None = None,
        verified_by: Literal['Service', 'Client', 'Transfer'] | None = None,
        outcome: Literal['Match', 'Mismatch', 'Unreachable'] | None = None,
    ) -> AsyncPages[answers.ListAttestationsAnswer]:
        """List attestations, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            team: Only objects of this team.
            visit: Only objects of this visit.
            verified_by: Who read the bytes: our checker, a client next to them, or the
                service that carried them.
        """
        return self._calls.pages(
            "list_attestations",
            answers.ListAttestationsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "team_id": team, "visit_id": visit, "dataset_id": dataset, "distribution_id": distribution, "kind": kind, "verified_by": verified_by, "outcome": outcome},
        )

class AsyncEditionVerbs(AsyncVerbs):
    """A package of datasets that is sealed, published and cited."""

    async def register(
        self,
        *,
        title: str,
        kind: Literal['ROCrate', 'DataCite'],
        dataset_ids: Sequence[str],
        creator_ids: Sequence[str],
        team: str | None = None,
        visit: str | None = None,
        description: str | None = None,
        contributors: Any = None,
        publisher_facility_code: str | None = None,
        publication_year: int | None = None,
        license: str | None = None,
        available_from: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterEditionAnswer:
        """Register an edition of datasets; its members can change until it is sealed.

        Args:
            title: The title under which the edition is cited.
            kind: Form of the manifest: an RO-Crate, or metadata of DataCite.
            creator_ids: The people who are cited, in this order.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            description: What the edition contains, as an abstract.
            contributors: Further people, each with a role, in this order.
            publisher_facility_code: The facility that publishes; it is required at the
                latest to seal the edition.
            publication_year: The year of publication (default: chosen when the edition is
                sealed).
            license: SPDX identifier, such as CC-BY-4.0; it is required at the latest to
                seal the edition.
            available_from: The day on which an embargo ends.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_edition",
            answers.RegisterEditionAnswer,
            {"title": title, "kind": kind, "dataset_ids": dataset_ids, "creator_ids": creator_ids, "team_id": team, "visit_id": visit, "description": description, "contributors": contributors, "publisher_facility_code": publisher_facility_code, "publication_year": publication_year, "license": license, "available_from": available_from},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def add_dataset(
        self,
        target: str,
        *,
        dataset: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Add a dataset to an edition that is not sealed.

        Args:
            target: The edition: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "add_edition_dataset",
            Changed,
            {"edition_id": target, "dataset_id": dataset},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def remove_dataset(
        self,
        target: str,
        *,
        dataset: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Remove a dataset from an edition that is not sealed.

        Args:
            target: The edition: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "remove_edition_dataset",
            Changed,
            {"edition_id": target, "dataset_id": dataset},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def seal(
        self,
        target: str,
        *,
        publisher_facility_code: str | None = None,
        publication_year: int | None = None,
        license: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Freeze an edition; its datasets cannot be discarded until it is withdrawn.

        Args:
            target: The edition: its name, its id or the end of its id.
            publisher_facility_code: The facility that publishes (default: the one
                registered).
            publication_year: The year of publication (default: the one registered, else the
                year of availability).
            license: SPDX identifier (default: the one registered).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "seal_edition",
            Changed,
            {"edition_id": target, "publisher_facility_code": publisher_facility_code, "publication_year": publication_year, "license": license},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def publish(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Publish a sealed edition; from now on everybody can read its page.

        Args:
            target: The edition: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "publish_edition",
            Changed,
            {"edition_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def withdraw(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Withdraw an edition for good; the page of a published one says so.

        Args:
            target: The edition: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "withdraw_edition",
            Changed,
            {"edition_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def assign_external_id(
        self,
        target: str,
        *,
        external_id: str,
        external_id_namespace: Literal['doi'] | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Assign a DOI that was registered elsewhere to a published edition.

        Args:
            target: The edition: its name, its id or the end of its id.
            external_id: A DOI without a prefix, such as 10.5072/example.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "assign_edition_external_id",
            Changed,
            {"edition_id": target, "external_id": external_id, "external_id_namespace": external_id_namespace},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def mint_external_id(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.MintEditionExternalIdAnswer:
        """Have a DOI registered for a published edition; a worker calls the registry.

        Args:
            target: The edition: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "mint_edition_external_id",
            answers.MintEditionExternalIdAnswer,
            {"edition_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def hide_external_id(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Hide the DOI of a withdrawn edition from search; its page stays.

        Args:
            target: The edition: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "hide_edition_external_id",
            Changed,
            {"edition_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetEditionAnswer:
        """Show one edition.

        Args:
            target: The edition: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_edition",
            answers.GetEditionAnswer,
            {"edition_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetEditionHistoryAnswer]:
        """List everything that happened to one edition, by version.

        Args:
            target: The edition: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_edition_history",
            answers.GetEditionHistoryAnswer,
            {"edition_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Registered', 'Sealed', 'Published', 'Withdrawn']] | None = None,
        kind: Literal['ROCrate', 'DataCite'] | None = None,
        dataset: str | None = None,
        publisher_facility_code: str | None = None,
        external_id: str | None = None,
    ) -> AsyncPages[answers.ListEditionsAnswer]:
        """List editions, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            kind: The form of the manifest.
            dataset: Editions that contain this dataset.
        """
        return self._calls.pages(
            "list_editions",
            answers.ListEditionsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "kind": kind, "dataset_id": dataset, "publisher_facility_code": publisher_facility_code, "external_id": external_id},
        )

    async def manifest(
        self,
        target: str,
        *,
        names: bool | None = None,
    ) -> answers.GetEditionManifestAnswer:
        """Show the manifest of an edition, with the names and places as they are now.

        Args:
            target: The edition: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_edition_manifest",
            answers.GetEditionManifestAnswer,
            {"edition_id": target, "names": names},
        )

class AsyncCalibrationVerbs(AsyncVerbs):
    """A measured constant of an asset, stored as a list of revisions."""

    async def define(
        self,
        *,
        asset: str,
        quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile'],
        operating_point: Any,
        description: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineCalibrationAnswer:
        """Define a constant of an asset at an operating point; append its values as revisions.

        Args:
            quantity: Members are only added: a changed unit or meaning is a new quantity.
            operating_point: Conditions under which the constant holds, by the schema of the
                quantity.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_calibration",
            answers.DefineCalibrationAnswer,
            {"asset_id": asset, "quantity": quantity, "operating_point": operating_point, "description": description},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def append_revision(
        self,
        target: str,
        *,
        value: Any,
        status: Literal['Provisional', 'Verified'],
        source: Any,
        established_at: str | datetime | None = None,
        supersedes_revision_id: str | None = None,
        decided_by_decision: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AppendCalibrationRevisionAnswer:
        """Append a value of the constant as a new revision; earlier revisions do not change.

        Args:
            target: The calibration: its name, its id or the end of its id.
            value: Value of the constant, by the schema of the quantity.
            established_at: Time at which the value was obtained (default: now).
            supersedes_revision_id: Revision that the new one replaces; no other revision
                may have replaced it.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "append_calibration_revision",
            answers.AppendCalibrationRevisionAnswer,
            {"calibration_id": target, "value": value, "status": status, "source": source, "established_at": established_at, "supersedes_revision_id": supersedes_revision_id, "decided_by_decision_id": decided_by_decision},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def update_description(
        self,
        target: str,
        *,
        description: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Change or remove the description of a calibration.

        Args:
            target: The calibration: its name, its id or the end of its id.
            description: New description; null or a blank text removes the description.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_calibration_description",
            Changed,
            {"calibration_id": target, "description": description},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetCalibrationAnswer:
        """Show one calibration.

        Args:
            target: The calibration: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_calibration",
            answers.GetCalibrationAnswer,
            {"calibration_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetCalibrationHistoryAnswer]:
        """List everything that happened to one calibration, by version.

        Args:
            target: The calibration: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_calibration_history",
            answers.GetCalibrationHistoryAnswer,
            {"calibration_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        asset: str | None = None,
        quantity: Literal['rotation_center', 'detector_pixel_size', 'magnification', 'linear_motor_sensitivity', 'rotary_motor_sensitivity', 'linear_encoder_offset', 'rotary_encoder_offset', 'beam_profile'] | None = None,
        current_status: Sequence[Literal['Provisional', 'Verified', 'None']] | None = None,
        current_source_kind: Literal['Measured', 'Computed', 'Asserted'] | None = None,
        operating_point: str | None = None,
    ) -> AsyncPages[answers.ListCalibrationsAnswer]:
        """List calibrations, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            quantity: Members are only added: a changed unit or meaning is a new quantity.
            operating_point: JSON object; the order of keys and the notation of numbers do
                not matter.
        """
        return self._calls.pages(
            "list_calibrations",
            answers.ListCalibrationsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "asset_id": asset, "quantity": quantity, "current_status": current_status, "current_source_kind": current_source_kind, "operating_point": operating_point},
        )

    async def revision(
        self,
        *,
        revision_id: str,
        names: bool | None = None,
    ) -> answers.GetCalibrationRevisionAnswer:
        """Show one calibration revision, with its calibration.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "get_calibration_revision",
            answers.GetCalibrationRevisionAnswer,
            {"revision_id": revision_id, "names": names},
        )

    def uses(
        self,
        *,
        revision_id: str,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.ListCalibrationUsesAnswer]:
        """List the runs and datasets that use a calibration revision, oldest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_calibration_uses",
            answers.ListCalibrationUsesAnswer,
            {"revision_id": revision_id, "names": names, "cursor": cursor, "limit": limit},
        )

class AsyncCampaignVerbs(AsyncVerbs):
    """A group of runs that belong together."""

    async def register(
        self,
        *,
        name: str,
        intent: Literal['Series', 'Sweep', 'Coordination', 'Block'],
        lead_actor: str,
        team: str | None = None,
        visit: str | None = None,
        subject: str | None = None,
        description: str | None = None,
        tags: Sequence[str] | None = None,
        external_refs: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterCampaignAnswer:
        """Register a planned campaign with the actor who leads it.

        Args:
            intent: Series repeats over time, Sweep varies parameters, Coordination joins
                techniques or subjects, Block is a period of allotted time.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            subject: Main subject of the campaign; its runs may have other subjects.
            tags: At most 20 tags.
            external_refs: References to the campaign in other systems, by scheme, for
                example proposal; at most 20.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_campaign",
            answers.RegisterCampaignAnswer,
            {"name": name, "intent": intent, "lead_actor_id": lead_actor, "team_id": team, "visit_id": visit, "subject_id": subject, "description": description, "tags": tags, "external_refs": external_refs},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def start(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Start a campaign; this starts no run.

        Args:
            target: The campaign: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "start_campaign",
            Changed,
            {"campaign_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def hold(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Hold a campaign until it is resumed; its runs continue, and runs can still be added.

        Args:
            target: The campaign: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "hold_campaign",
            Changed,
            {"campaign_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def resume(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Resume a held campaign.

        Args:
            target: The campaign: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "resume_campaign",
            Changed,
            {"campaign_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def close(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Close a campaign that is complete; its members can no longer change.

        Args:
            target: The campaign: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "close_campaign",
            Changed,
            {"campaign_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def abandon(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Abandon a campaign; its members can no longer change.

        Args:
            target: The campaign: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "abandon_campaign",
            Changed,
            {"campaign_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def add_run(
        self,
        target: str,
        *,
        run: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Add a run in any status to a campaign.

        Args:
            target: The campaign: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "add_run_to_campaign",
            Changed,
            {"campaign_id": target, "run_id": run},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def remove_run(
        self,
        target: str,
        *,
        reason: str,
        run: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Remove a run from a campaign.

        Args:
            target: The campaign: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "remove_run_from_campaign",
            Changed,
            {"campaign_id": target, "reason": reason, "run_id": run},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetCampaignAnswer:
        """Show one campaign.

        Args:
            target: The campaign: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_campaign",
            answers.GetCampaignAnswer,
            {"campaign_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetCampaignHistoryAnswer]:
        """List everything that happened to one campaign, by version.

        Args:
            target: The campaign: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_campaign_history",
            answers.GetCampaignHistoryAnswer,
            {"campaign_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Planned', 'Active', 'Held', 'Closed', 'Abandoned']] | None = None,
        intent: Literal['Series', 'Sweep', 'Coordination', 'Block'] | None = None,
        lead_actor: str | None = None,
        subject: str | None = None,
        tag: str | None = None,
    ) -> AsyncPages[answers.ListCampaignsAnswer]:
        """List campaigns, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
        """
        return self._calls.pages(
            "list_campaigns",
            answers.ListCampaignsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "intent": intent, "lead_actor_id": lead_actor, "subject_id": subject, "tag": tag},
        )

class AsyncClearanceVerbs(AsyncVerbs):
    """A reviewed safety form that allows work on assets and subjects for a time."""

    async def register(
        self,
        *,
        title: str,
        bindings: Any,
        kind: str,
        facility_code: str,
        team: str | None = None,
        visit: str | None = None,
        hazards: Any = None,
        risk_band: Literal['Green', 'Yellow', 'Red'] | None = None,
        valid_from: str | datetime | None = None,
        valid_until: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterClearanceAnswer:
        """Register a clearance; it is in force only after review, approval and activation.

        Args:
            title: A title that names no person.
            bindings: What the clearance covers; it cannot be changed later.
            kind: The type of form, for example experiment_safety or radiation.
            facility_code: The facility that issues the form.
            team: Its team (default: of what it is about, else of the visit in control).
            visit: Its visit (default: the one in control, else of what it is about).
            valid_from: The start of validity (default: no start).
            valid_until: The end of validity (default: no end).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_clearance",
            answers.RegisterClearanceAnswer,
            {"title": title, "bindings": bindings, "kind": kind, "facility_code": facility_code, "team_id": team, "visit_id": visit, "hazards": hazards, "risk_band": risk_band, "valid_from": valid_from, "valid_until": valid_until},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def submit(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Submit a clearance for review.

        Args:
            target: The clearance: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "submit_clearance",
            Changed,
            {"clearance_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def start_review(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Start the review of a submitted clearance.

        Args:
            target: The clearance: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "start_clearance_review",
            Changed,
            {"clearance_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def append_review_step(
        self,
        target: str,
        *,
        role: str,
        decision: Literal['Approved', 'Rejected', 'RequestedChanges'],
        notes: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Add a review step with the caller's decision to a clearance under review.

        Args:
            target: The clearance: its name, its id or the end of its id.
            role: The role in which the caller decides, for example radiation_officer.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "append_clearance_review_step",
            Changed,
            {"clearance_id": target, "role": role, "decision": decision, "notes": notes},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def approve(
        self,
        target: str,
        *,
        valid_from: str | datetime | None = None,
        valid_until: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Approve a clearance whose last review step is Approved.

        Args:
            target: The clearance: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "approve_clearance",
            Changed,
            {"clearance_id": target, "valid_from": valid_from, "valid_until": valid_until},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def reject(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Reject a clearance permanently.

        Args:
            target: The clearance: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "reject_clearance",
            Changed,
            {"clearance_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def activate(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Put an approved clearance into force; the clearance it amends becomes Superseded.

        Args:
            target: The clearance: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "activate_clearance",
            Changed,
            {"clearance_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def expire(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """End an active clearance, even before its valid_until.

        Args:
            target: The clearance: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "expire_clearance",
            Changed,
            {"clearance_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def amend(
        self,
        target: str,
        *,
        title: str,
        bindings: Any,
        hazards: Any = None,
        risk_band: Literal['Green', 'Yellow', 'Red'] | None = None,
        valid_from: str | datetime | None = None,
        valid_until: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.AmendClearanceAnswer:
        """Register an amendment, which supersedes this clearance when it is activated.

        Args:
            target: The clearance: its name, its id or the end of its id.
            title: A title that names no person.
            bindings: What the clearance covers; it cannot be changed later.
            valid_from: The start of validity (default: no start).
            valid_until: The end of validity (default: no end).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "amend_clearance",
            answers.AmendClearanceAnswer,
            {"clearance_id": target, "title": title, "bindings": bindings, "hazards": hazards, "risk_band": risk_band, "valid_from": valid_from, "valid_until": valid_until},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetClearanceAnswer:
        """Show one clearance.

        Args:
            target: The clearance: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_clearance",
            answers.GetClearanceAnswer,
            {"clearance_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetClearanceHistoryAnswer]:
        """List everything that happened to one clearance, by version.

        Args:
            target: The clearance: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_clearance_history",
            answers.GetClearanceHistoryAnswer,
            {"clearance_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Defined', 'Submitted', 'UnderReview', 'Approved', 'Active', 'Rejected', 'Expired', 'Superseded']] | None = None,
        kind: str | None = None,
        facility_code: str | None = None,
        risk_band: Literal['Green', 'Yellow', 'Red'] | None = None,
        parent_id: str | None = None,
        binding_kind: Literal['Subject', 'Asset', 'Run', 'Procedure', 'External'] | None = None,
        binding_id: Sequence[str] | None = None,
        covering_asset: str | None = None,
        in_force: bool | None = None,
        valid_until_before: str | datetime | None = None,
        valid_until_from: str | datetime | None = None,
    ) -> AsyncPages[answers.ListClearancesAnswer]:
        """List clearances, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            parent_id: Amendments of this clearance.
            binding_id: Clearances with a binding to one of these ids.
            covering_asset: Clearances with a binding to this asset or to one of its
                ancestors.
            valid_until_before: Clearances whose valid_until is this time or earlier.
            valid_until_from: Clearances whose valid_until is this time or later.
        """
        return self._calls.pages(
            "list_clearances",
            answers.ListClearancesAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "kind": kind, "facility_code": facility_code, "risk_band": risk_band, "parent_id": parent_id, "binding_kind": binding_kind, "binding_id": binding_id, "covering_asset_id": covering_asset, "in_force": in_force, "valid_until_before": valid_until_before, "valid_until_from": valid_until_from},
        )

class AsyncCautionVerbs(AsyncVerbs):
    """What operators know about a quirk of equipment; it warns and blocks nothing."""

    async def register(
        self,
        *,
        category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'],
        severity: Literal['Notice', 'Caution', 'Warning'],
        text: str,
        workaround: str,
        target: Any,
        tags: Sequence[str] | None = None,
        propagate_to_children: bool | None = None,
        expires_at: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterCautionAnswer:
        """Register a caution about an asset or a procedure.

        Args:
            severity: In ascending order: be aware; work differently; harm if ignored.
            text: What is wrong.
            workaround: What to do instead.
            target: The asset or procedure that the caution is about; it cannot be changed
                later.
            propagate_to_children: Whether the caution also applies to everything below its
                asset.
            expires_at: When the new caution ends (default: never).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_caution",
            answers.RegisterCautionAnswer,
            {"category": category, "severity": severity, "text": text, "workaround": workaround, "target": target, "tags": tags, "propagate_to_children": propagate_to_children, "expires_at": expires_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def supersede(
        self,
        target: str,
        *,
        category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'],
        severity: Literal['Notice', 'Caution', 'Warning'],
        text: str,
        workaround: str,
        tags: Sequence[str] | None = None,
        propagate_to_children: bool | None = None,
        expires_at: str | datetime | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.SupersedeCautionAnswer:
        """Replace a caution with a new one about the same target.

        Args:
            target: The caution: its name, its id or the end of its id.
            severity: In ascending order: be aware; work differently; harm if ignored.
            text: What is wrong.
            workaround: What to do instead.
            propagate_to_children: Whether the caution also applies to everything below its
                asset.
            expires_at: When the new caution ends (default: never).
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "supersede_caution",
            answers.SupersedeCautionAnswer,
            {"caution_id": target, "category": category, "severity": severity, "text": text, "workaround": workaround, "tags": tags, "propagate_to_children": propagate_to_children, "expires_at": expires_at},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def retire(
        self,
        target: str,
        *,
        retire_reason: Literal['Resolved', 'NoLongerApplies', 'WrongTarget'],
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Retire a caution that does not apply, or no longer applies.

        Args:
            target: The caution: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "retire_caution",
            Changed,
            {"caution_id": target, "retire_reason": retire_reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def promote_proposal(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.PromoteCautionProposalAnswer:
        """Register the caution that an agent proposed in a decision.

        Args:
            target: The caution: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "promote_caution_proposal",
            answers.PromoteCautionProposalAnswer,
            {"decision_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    promote = promote_proposal

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetCautionAnswer:
        """Show one caution.

        Args:
            target: The caution: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_caution",
            answers.GetCautionAnswer,
            {"caution_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetCautionHistoryAnswer]:
        """List everything that happened to one caution, by version.

        Args:
            target: The caution: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_caution_history",
            answers.GetCautionHistoryAnswer,
            {"caution_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Active', 'Superseded', 'Retired']] | None = None,
        target_kind: Literal['Asset', 'Procedure'] | None = None,
        target_id: Sequence[str] | None = None,
        covering_asset: str | None = None,
        category: Literal['Wear', 'Calibration', 'Wiring', 'OperationalWindow', 'InterlockQuirk', 'ProcedureGotcha'] | None = None,
        min_severity: Literal['Notice', 'Caution', 'Warning'] | None = None,
        tag: str | None = None,
        authored_by: str | None = None,
        in_effect: bool | None = None,
    ) -> AsyncPages[answers.ListCautionsAnswer]:
        """List cautions, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            target_id: Cautions whose target is one of these ids.
            covering_asset: Cautions about this asset, or propagated to it from an ancestor.
            min_severity: Cautions of this severity or higher. In ascending order: be aware;
                work differently; harm if ignored.
        """
        return self._calls.pages(
            "list_cautions",
            answers.ListCautionsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "target_kind": target_kind, "target_id": target_id, "covering_asset_id": covering_asset, "category": category, "min_severity": min_severity, "tag": tag, "authored_by": authored_by, "in_effect": in_effect},
        )

class AsyncSubscriptionVerbs(AsyncVerbs):
    """An address to which events are sent, such as a chat room."""

    async def register(
        self,
        *,
        name: str,
        url: str,
        format: Literal['CloudEvent', 'Text', 'Card'] | None = None,
        types: Sequence[str] | None = None,
        stream_types: Sequence[str] | None = None,
        stream_ids: Sequence[str] | None = None,
        facility_code: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.RegisterSubscriptionAnswer:
        """Register a subscription, which tells a receiver of the events from now on.

        Args:
            url: The https address that events are sent to. Its host must be one that the
                deployment allows. Only the host is shown in lists and events.
            format: What is sent: the event itself, a text for Slack and Mattermost, or a
                card for Teams.
            types: Only events of these types, such as `RunHeld`.
            stream_types: Only events of these kinds of objects, such as `Run`.
            stream_ids: Only events of these objects.
            facility_code: Only events of objects that are in this facility when the event
                is sent.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "register_subscription",
            answers.RegisterSubscriptionAnswer,
            {"name": name, "url": url, "format": format, "types": types, "stream_types": stream_types, "stream_ids": stream_ids, "facility_code": facility_code},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def pause(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Pause a subscription; its bookmark stays where it is.

        Args:
            target: The subscription: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "pause_subscription",
            Changed,
            {"subscription_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def resume(
        self,
        target: str,
        *,
        from_: Literal['now', 'where_it_stopped'],
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Resume a paused subscription, from now on or from where it stopped.

        Args:
            target: The subscription: its name, its id or the end of its id.
            from_: Where to continue: at the events that happen from `now` on, or
                `where_it_stopped`.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "resume_subscription",
            Changed,
            {"subscription_id": target, "from": from_},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def rotate_secret(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.RotateSubscriptionSecretAnswer:
        """Replace the signing secret; the old one signs as well for another 24 hours.

        Args:
            target: The subscription: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "rotate_subscription_secret",
            answers.RotateSubscriptionSecretAnswer,
            {"subscription_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def retire(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """End a subscription for good; its secret and its bookmark are deleted.

        Args:
            target: The subscription: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "retire_subscription",
            Changed,
            {"subscription_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def retry_delivery(
        self,
        target: str,
        *,
        event_id: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Send a refused delivery again.

        Args:
            target: The subscription: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "retry_delivery",
            Changed,
            {"subscription_id": target, "event_id": event_id},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def skip_delivery(
        self,
        target: str,
        *,
        event_id: str,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Settle a refused delivery without sending it.

        Args:
            target: The subscription: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "skip_delivery",
            Changed,
            {"subscription_id": target, "event_id": event_id, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetSubscriptionAnswer:
        """Show one subscription.

        Args:
            target: The subscription: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_subscription",
            answers.GetSubscriptionAnswer,
            {"subscription_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetSubscriptionHistoryAnswer]:
        """List everything that happened to one subscription, by version.

        Args:
            target: The subscription: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_subscription_history",
            answers.GetSubscriptionHistoryAnswer,
            {"subscription_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        status: Sequence[Literal['Active', 'Paused', 'Retired']] | None = None,
        format: Literal['CloudEvent', 'Text', 'Card'] | None = None,
    ) -> AsyncPages[answers.ListSubscriptionsAnswer]:
        """List subscriptions.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_subscriptions",
            answers.ListSubscriptionsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "status": status, "format": format},
        )

    def deliveries(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        status: Literal['Sending', 'Delivered', 'Refused', 'Skipped'] | None = None,
    ) -> AsyncPages[answers.ListDeliveriesAnswer]:
        """List the deliveries of a subscription, oldest first.

        Args:
            target: The subscription: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "list_deliveries",
            answers.ListDeliveriesAnswer,
            {"subscription_id": target, "names": names, "cursor": cursor, "limit": limit, "status": status},
        )

class AsyncAgentVerbs(AsyncVerbs):
    """A software agent: its model, its tools, its budget and whether it may act."""

    async def define(
        self,
        *,
        kind: str,
        name: str,
        version: str,
        model_ref: Any,
        description: str | None = None,
        prompt_template_id: str | None = None,
        capabilities: Sequence[str] | None = None,
        tools: Sequence[str] | None = None,
        budget: Any = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> answers.DefineAgentAnswer:
        """Define a software agent, and register the actor as which it acts.

        Args:
            version: The version of the agent's program, in any form.
            model_ref: The model that the agent calls; it cannot be changed later.
            prompt_template_id: Required for kinds RunDebriefer and CautionDrafter.
            capabilities: What the agent can do, in words; it permits nothing.
            tools: Commands and queries that the agent may call over MCP, if a policy
                permits them too.
            budget: The most that its calls of models may cost in a month and use in a day,
                and how many calls may change something in a day.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
        """
        return await self._calls.command(
            "define_agent",
            answers.DefineAgentAnswer,
            {"kind": kind, "name": name, "version": version, "model_ref": model_ref, "description": description, "prompt_template_id": prompt_template_id, "capabilities": capabilities, "tools": tools, "budget": budget},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
        )

    async def version(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Release an agent for work; its runtime takes it up.

        Args:
            target: The agent: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "version_agent",
            Changed,
            {"agent_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def suspend(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Suspend an agent; every later call of the agent is denied until it is resumed.

        Args:
            target: The agent: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "suspend_agent",
            Changed,
            {"agent_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def resume(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Resume a suspended agent.

        Args:
            target: The agent: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "resume_agent",
            Changed,
            {"agent_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def deprecate(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Deprecate an agent permanently; every later call of the agent is denied.

        Args:
            target: The agent: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "deprecate_agent",
            Changed,
            {"agent_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def grant_tool(
        self,
        target: str,
        *,
        tool_name: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Grant an agent a command or query that it may call over MCP, if a policy permits it too.

        Args:
            target: The agent: its name, its id or the end of its id.
            tool_name: The name of a command or a query.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "grant_agent_tool",
            Changed,
            {"agent_id": target, "tool_name": tool_name},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def revoke_tool(
        self,
        target: str,
        *,
        tool_name: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Revoke a tool of an agent, with effect from the next call of the agent over MCP.

        Args:
            target: The agent: its name, its id or the end of its id.
            tool_name: The name of a command or a query.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "revoke_agent_tool",
            Changed,
            {"agent_id": target, "tool_name": tool_name},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def update_budget(
        self,
        target: str,
        *,
        monthly_usd_cap: float | None = None,
        daily_token_cap: int | None = None,
        daily_action_cap: int | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Change some caps of the budget of an agent.

        Args:
            target: The agent: its name, its id or the end of its id.
            monthly_usd_cap: The most that calls of models may cost in a month in UTC; null
                for no cap.
            daily_token_cap: The most tokens that calls of models may use on a day in UTC;
                null for no cap.
            daily_action_cap: How many calls of the agent may change something on a day in
                UTC; null for no cap.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "update_agent_budget",
            Changed,
            {"agent_id": target, "monthly_usd_cap": monthly_usd_cap, "daily_token_cap": daily_token_cap, "daily_action_cap": daily_action_cap},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    def at_risk_results(
        self,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        agent: str | None = None,
        kind: str | None = None,
        reason: Literal['NotReproducible', 'RatedMisleading', 'Overridden'] | None = None,
        provider: str | None = None,
        model: str | None = None,
        from_: str | datetime | None = None,
        to: str | datetime | None = None,
    ) -> AsyncPages[answers.ListAtRiskResultsAnswer]:
        """List decisions of agents that should be looked at again, newest first.

        With a provider and a model, list all decisions that used that model.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            reason: Why a decision of an agent should be looked at again.
            model: Name of a model, as it was asked for or as it answered; dated snapshots
                are included.
            from_: Only decisions made at or after this time (default: 90 days ago).
            to: Only decisions made before this time.
        """
        return self._calls.pages(
            "list_at_risk_results",
            answers.ListAtRiskResultsAnswer,
            {"names": names, "cursor": cursor, "limit": limit, "agent_id": agent, "kind": kind, "reason": reason, "provider": provider, "model": model, "from": from_, "to": to},
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetAgentAnswer:
        """Show one agent.

        Args:
            target: The agent: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_agent",
            answers.GetAgentAnswer,
            {"agent_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetAgentHistoryAnswer]:
        """List everything that happened to one agent, by version.

        Args:
            target: The agent: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_agent_history",
            answers.GetAgentHistoryAnswer,
            {"agent_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        kind: str | None = None,
        status: Sequence[Literal['Defined', 'Versioned', 'Suspended', 'Deprecated']] | None = None,
    ) -> AsyncPages[answers.ListAgentsAnswer]:
        """List agents, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
        """
        return self._calls.pages(
            "list_agents",
            answers.ListAgentsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "kind": kind, "status": status},
        )

    def costs(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        from_: str | None = None,
        to: str | None = None,
    ) -> AsyncPages[answers.ListAgentCostsAnswer]:
        """List what the calls of models by an agent used and cost on each day in UTC, newest first.

        Args:
            target: The agent: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
            from_: The first day (default: 31 days ago).
            to: The last day (default: today).
        """
        return self._calls.pages(
            "list_agent_costs",
            answers.ListAgentCostsAnswer,
            {"agent_id": target, "names": names, "cursor": cursor, "limit": limit, "from": from_, "to": to},
        )

class AsyncProposalVerbs(AsyncVerbs):
    """A command that one caller asks for and somebody else approves."""

    async def approve(
        self,
        target: str,
        *,
        basis: str | None = None,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> answers.ApproveProposalAnswer:
        """Approve a proposal and carry out its command in your own name.

        Args:
            target: The proposal: its name, its id or the end of its id.
            basis: The basis that get_proposal showed under now. If it has changed, the
                approval is refused.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "approve_proposal",
            answers.ApproveProposalAnswer,
            {"proposal_id": target, "basis": basis},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def reject(
        self,
        target: str,
        *,
        reason: str,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Reject a proposal, so that its command is not carried out.

        Args:
            target: The proposal: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "reject_proposal",
            Changed,
            {"proposal_id": target, "reason": reason},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def withdraw(
        self,
        target: str,
        *,
        dry_run: bool = False,
        note: str | None = None,
        idempotency_key: str | None = None,
        if_match: int | None = None,
    ) -> Changed:
        """Withdraw your own proposal.

        Args:
            target: The proposal: its name, its id or the end of its id.
            dry_run: Check the command and write nothing.
            note: Propose the command instead, and say this to the approver.
            idempotency_key: A repeat with the same key has no further effect.
            if_match: The version the object must have.
        """
        return await self._calls.command(
            "withdraw_proposal",
            Changed,
            {"proposal_id": target},
            dry_run=dry_run,
            note=note,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def get(
        self,
        target: str,
        *,
        names: bool | None = None,
        as_of: Any = None,
    ) -> answers.GetProposalAnswer:
        """Show one proposal.

        Args:
            target: The proposal: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            as_of: Return the object as it was at this version or time.
        """
        return await self._calls.ask(
            "get_proposal",
            answers.GetProposalAnswer,
            {"proposal_id": target, "names": names, "as_of": as_of},
        )

    def history(
        self,
        target: str,
        *,
        names: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.GetProposalHistoryAnswer]:
        """List everything that happened to one proposal, by version.

        Args:
            target: The proposal: its name, its id or the end of its id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            cursor: The `next_cursor` of the page before.
        """
        return self._calls.pages(
            "get_proposal_history",
            answers.GetProposalHistoryAnswer,
            {"proposal_id": target, "names": names, "cursor": cursor, "limit": limit},
        )

    def list(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        owner_id: str | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        count: bool | None = None,
        name: str | None = None,
        team: str | None = None,
        visit: str | None = None,
        status: Sequence[Literal['Open', 'Approved', 'Rejected', 'Withdrawn']] | None = None,
        open: bool | None = None,
        command_name: str | None = None,
        proposed_by: str | None = None,
        target_id: str | None = None,
        decision: str | None = None,
    ) -> AsyncPages[answers.ListProposalsAnswer]:
        """List proposals, newest first.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            cursor: The `next_cursor` of the page before.
            order: Which objects come first: the newest or the oldest.
            owner_id: Only objects that this principal created.
            created_after: Only objects created at this time or later.
            created_before: Only objects created before this time.
            count: Answer the `total` number of objects as well, up to 10,000.
            name: Only objects of this name; case and accents do not count.
            team: Only objects of this team.
            visit: Only objects of this visit.
            open: Only proposals that can still be approved (true) or that cannot (false).
            target_id: Only proposals that would change this object.
            decision: Only proposals that follow this decision.
        """
        return self._calls.pages(
            "list_proposals",
            answers.ListProposalsAnswer,
            {"names": names, "min_token": min_token, "cursor": cursor, "limit": limit, "order": order, "owner_id": owner_id, "created_after": created_after, "created_before": created_before, "count": count, "name": name, "team_id": team, "visit_id": visit, "status": status, "open": open, "command_name": command_name, "proposed_by": proposed_by, "target_id": target_id, "decision_id": decision},
        )

class AsyncEvents(AsyncVerbs):
    """The events of the service."""

    def list(
        self,
        *,
        names: bool | None = None,
        after: str | None = None,
        types: Sequence[str] | None = None,
        stream_types: Sequence[str] | None = None,
        stream_ids: Sequence[str] | None = None,
        facility_code: str | None = None,
        principal_id: str | None = None,
        command_name: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        order: Literal['newest', 'oldest'] | None = None,
        limit: int | None = None,
    ) -> AsyncPages[answers.Event]:
        """List the events of all objects, in the order of the log.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            after: The `next_cursor` of an earlier page or the `cursor` of an event; `now`
                is the end of the log (default: the beginning, or the end with
                `order=newest`).
            types: Only events of these types, such as `RunHeld`.
            stream_types: Only events of these kinds of objects, such as `Run`.
            stream_ids: Only events of these objects.
            facility_code: Only events of objects that are in this facility now. They are
                published a moment later.
            principal_id: Only events that this principal caused.
            command_name: Only events of this command, such as `hold_run`.
            since: Only events recorded at this time or later.
            until: Only events recorded before this time.
            order: Forward from `after`, or backward from it.
        """
        return self._calls.pages(
            "list_events",
            answers.Event,
            {"names": names, "after": after, "type": types, "stream_type": stream_types, "stream_id": stream_ids, "facility_code": facility_code, "principal_id": principal_id, "command_name": command_name, "since": since, "until": until, "order": order, "limit": limit},
        )

    def follow(
        self,
        *,
        after: str | None = None,
        types: Sequence[str] | None = None,
        stream_types: Sequence[str] | None = None,
        stream_ids: Sequence[str] | None = None,
        facility_code: str | None = None,
        principal_id: str | None = None,
        command_name: str | None = None,
        since: str | datetime | None = None,
    ) -> AsyncIterator[answers.Event]:
        """Yield events as they happen, without end; a lost connection is made again.

        Args:
            after: The `next_cursor` of an earlier page or the `cursor` of an event; `now`
                is the end of the log (default: the beginning, or the end with
                `order=newest`).
            types: Only events of these types, such as `RunHeld`.
            stream_types: Only events of these kinds of objects, such as `Run`.
            stream_ids: Only events of these objects.
            facility_code: Only events of objects that are in this facility now. They are
                published a moment later.
            principal_id: Only events that this principal caused.
            command_name: Only events of this command, such as `hold_run`.
            since: Only events recorded at this time or later.
        """
        return self._calls.follow(
            answers.Event,
            {"after": after, "type": types, "stream_type": stream_types, "stream_id": stream_ids, "facility_code": facility_code, "principal_id": principal_id, "command_name": command_name, "since": since},
        )

class AsyncNouns:
    """Every noun of the catalogue as an attribute."""

    actors: AsyncActorVerbs
    zones: AsyncZoneVerbs
    conduits: AsyncConduitVerbs
    surfaces: AsyncSurfaceVerbs
    policies: AsyncPolicyVerbs
    teams: AsyncTeamVerbs
    visits: AsyncVisitVerbs
    facilities: AsyncFacilityVerbs
    credentials: AsyncCredentialVerbs
    permits: AsyncPermitVerbs
    seals: AsyncSealVerbs
    enclosures: AsyncEnclosureVerbs
    families: AsyncFamilyVerbs
    models: AsyncModelVerbs
    assets: AsyncAssetVerbs
    mounts: AsyncMountVerbs
    frames: AsyncFrameVerbs
    supplies: AsyncSupplyVerbs
    subjects: AsyncSubjectVerbs
    decisions: AsyncDecisionVerbs
    capabilities: AsyncCapabilityVerbs
    methods: AsyncMethodVerbs
    practices: AsyncPracticeVerbs
    plans: AsyncPlanVerbs
    recipes: AsyncRecipeVerbs
    runs: AsyncRunVerbs
    procedures: AsyncProcedureVerbs
    datasets: AsyncDatasetVerbs
    distributions: AsyncDistributionVerbs
    acquisitions: AsyncAcquisitionVerbs
    attestations: AsyncAttestationVerbs
    editions: AsyncEditionVerbs
    calibrations: AsyncCalibrationVerbs
    campaigns: AsyncCampaignVerbs
    clearances: AsyncClearanceVerbs
    cautions: AsyncCautionVerbs
    subscriptions: AsyncSubscriptionVerbs
    agents: AsyncAgentVerbs
    proposals: AsyncProposalVerbs
    events: AsyncEvents

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls
        self.actors = AsyncActorVerbs(calls)
        self.zones = AsyncZoneVerbs(calls)
        self.conduits = AsyncConduitVerbs(calls)
        self.surfaces = AsyncSurfaceVerbs(calls)
        self.policies = AsyncPolicyVerbs(calls)
        self.teams = AsyncTeamVerbs(calls)
        self.visits = AsyncVisitVerbs(calls)
        self.facilities = AsyncFacilityVerbs(calls)
        self.credentials = AsyncCredentialVerbs(calls)
        self.permits = AsyncPermitVerbs(calls)
        self.seals = AsyncSealVerbs(calls)
        self.enclosures = AsyncEnclosureVerbs(calls)
        self.families = AsyncFamilyVerbs(calls)
        self.models = AsyncModelVerbs(calls)
        self.assets = AsyncAssetVerbs(calls)
        self.mounts = AsyncMountVerbs(calls)
        self.frames = AsyncFrameVerbs(calls)
        self.supplies = AsyncSupplyVerbs(calls)
        self.subjects = AsyncSubjectVerbs(calls)
        self.decisions = AsyncDecisionVerbs(calls)
        self.capabilities = AsyncCapabilityVerbs(calls)
        self.methods = AsyncMethodVerbs(calls)
        self.practices = AsyncPracticeVerbs(calls)
        self.plans = AsyncPlanVerbs(calls)
        self.recipes = AsyncRecipeVerbs(calls)
        self.runs = AsyncRunVerbs(calls)
        self.procedures = AsyncProcedureVerbs(calls)
        self.datasets = AsyncDatasetVerbs(calls)
        self.distributions = AsyncDistributionVerbs(calls)
        self.acquisitions = AsyncAcquisitionVerbs(calls)
        self.attestations = AsyncAttestationVerbs(calls)
        self.editions = AsyncEditionVerbs(calls)
        self.calibrations = AsyncCalibrationVerbs(calls)
        self.campaigns = AsyncCampaignVerbs(calls)
        self.clearances = AsyncClearanceVerbs(calls)
        self.cautions = AsyncCautionVerbs(calls)
        self.subscriptions = AsyncSubscriptionVerbs(calls)
        self.agents = AsyncAgentVerbs(calls)
        self.proposals = AsyncProposalVerbs(calls)
        self.events = AsyncEvents(calls)

    async def search(
        self,
        q: str,
        *,
        names: bool | None = None,
        kind: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[answers.Hit]:
        """Search objects by name or keyword, best matches first.

        Args:
            q: The name, its beginning, a part of 3 or more characters, or the last 6 or
                more digits of the id.
            names: Answer as `names` also the names of the objects in the answer, by id.
            kind: Only these kinds, such as `Run`.
        """
        return await self._calls.items(
            "search",
            answers.Hit,
            {"q": q, "names": names, "kind": kind, "limit": limit},
        )

    async def names(
        self,
        id: Sequence[str],
        *,
        names: bool | None = None,
    ) -> answers.ResolveNamesAnswer:
        """Name the objects with these ids, as far as you may see them.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask(
            "resolve_names",
            answers.ResolveNamesAnswer,
            {"id": id, "names": names},
        )

    async def whoami(self, *, names: bool | None = None) -> answers.GetSelfAnswer:
        """Show who you are to the service, what you may call on this surface, and until when.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
        """
        return await self._calls.ask("get_self", answers.GetSelfAnswer, {"names": names})

    async def status(
        self,
        *,
        names: bool | None = None,
        min_token: str | None = None,
        facility_code: str | None = None,
    ) -> answers.GetStatusAnswer:
        """Show one line for each beamline: what runs, and how much is abnormal.

        Args:
            names: Answer as `names` also the names of the objects in the answer, by id.
            min_token: The `Position-Token` of an answer. This answer includes that change.
            facility_code: Only beamlines at this facility.
        """
        return await self._calls.ask(
            "get_status",
            answers.GetStatusAnswer,
            {"names": names, "min_token": min_token, "facility_code": facility_code},
        )
