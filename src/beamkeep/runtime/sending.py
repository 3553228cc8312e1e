"""Commands from inside the service: workers have no other way to change anything."""

from collections.abc import Callable, Sequence
from uuid import UUID

from beamkeep.kernel import Catalogue, Command, Operation, Record
from beamkeep.runtime.deciding import CommandResult

from .admission import Admitted, Caller, Request
from .dispatch import NO_BASIS, Basis, Dispatcher
from .store import Envelope


class Creation(Record):
    """A command whose new aggregate takes this id, so that commands sent with it can name it."""

    command: Command
    new_id: UUID


class CommandSender:
    """Sends commands along the path of every call, as a principal on the Internal conduit."""

    def __init__(
        self, catalogue: Catalogue, dispatcher: Dispatcher, new_id: Callable[[], UUID]
    ) -> None:
        self._operations, self._dispatcher, self._new_id = catalogue.by_command, dispatcher, new_id

    async def send(
        self,
        command: Command,
        as_: UUID,
        caused_by: Envelope | None = None,
        correlation_id: UUID | None = None,
    ) -> CommandResult:
        """Carry out one command as this principal; an event may be named as its cause."""
        return (await self.send_together([command], as_, caused_by, correlation_id))[0]

    async def send_admitted(
        self, command: Command, admitted: Admitted, requested: Envelope
    ) -> CommandResult:
        """Carry out one command on behalf of an admitted call; its events name that command."""
        caller = Caller(requested.correlation_id, causation_id=requested.event_id)
        request = Request(
            caller, {}, command=command, admitted=admitted, command_name=requested.command_name
        )
        return await self._dispatcher.execute(self._operations[type(command)], request)

    async def send_together(
        self,
        commands: Sequence[Command | Creation],
        as_: UUID,
        caused_by: Envelope | None = None,
        correlation_id: UUID | None = None,
    ) -> Sequence[CommandResult]:
        """Decide several commands in turn, each authorized, and write all of them by one append."""
        correlated = caused_by.correlation_id if caused_by else correlation_id
        cause = caused_by and caused_by.event_id
        caller = Caller(correlated or self._new_id(), principal_id=as_, causation_id=cause)
        return await self.send_judged(commands, caller, NO_BASIS)

    async def send_judged(
        self, commands: Sequence[Command | Creation], caller: Caller, basis: Basis
    ) -> Sequence[CommandResult]:
        """Decide several commands in turn, and write all by one append if the basis holds."""
        calls: list[tuple[Operation, Request]] = []
        for sent in commands:
            new_id = sent.new_id if isinstance(sent, Creation) else None
            command = sent.command if isinstance(sent, Creation) else sent
            request = Request(caller, {}, command=command, new_id=new_id)
            calls.append((self._operations[type(command)], request))
        return await self._dispatcher.execute_together(calls, basis)
