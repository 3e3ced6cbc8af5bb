"""One configured server with its connections: one for all clients, or one for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from anyact_server.errors import DownstreamError, NeedsLogin, RemoteError
from anyact_server.interfaces import Caller, Clock, ServerEvent
from anyact_server.telemetry import logger
from anyact_server.types import EMPTY, LOCAL, Era, JsonObject, Kind, Limits, Principal, ServerSpec, ServerStatus

from .owner import Connection, MakeWire
from .standing import Standing
from .wire import SessionLost

LOG = logger("downstream")


class Silent:
    """A caller that can answer nothing: the pool itself, when it reads lists."""

    principal: Principal = LOCAL
    session: str | None = None
    abilities: JsonObject = EMPTY
    headers: Mapping[str, str] = EMPTY
    passes_input_required = False

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        return None

    async def log(self, params: JsonObject) -> None:
        return None

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        raise RemoteError(-32601, f"nobody can answer {method}", server="")


SILENT = Silent()


class Place:
    """A server's connections, and how it stands.

    Args:
        spec: how to reach the server.
        limits: of the server.
        clock: time for pauses and status.
        make_wire: builds a wire for a spec.
        own: starts the task that owns a connection.
        emit: told of events.
        era: the era that the server was seen to speak earlier.
    """

    def __init__(
        self,
        spec: ServerSpec,
        limits: Limits,
        clock: Clock,
        *,
        make_wire: MakeWire,
        own: Callable[[Connection], None],
        emit: Callable[[ServerEvent], None],
        era: Era | None,
    ) -> None:
        self.spec = spec
        self.standing = Standing(spec, clock)
        self._limits = limits
        self._make_wire = make_wire
        self._own = own
        self._emit = emit
        self._learned = era
        self._current: dict[str | None, Connection] = {}
        self._living: set[Connection] = set()
        self._watched: dict[str | None, set[str]] = {}

    @property
    def ready(self) -> list[Connection]:
        """The connections that are open."""
        return [connection for connection in self._current.values() if connection.ready]

    @property
    def living(self) -> list[Connection]:
        """Every connection that has not ended, those about to end too."""
        return list(self._living)

    def take(self, spec: ServerSpec) -> None:
        """Replace the spec by one that differs in nothing that a connection depends on."""
        self.spec = self.standing.spec = spec

    async def connection(self, caller: Caller) -> Connection:
        """The open connection for a caller; twenty who wait for it wait for the same one.

        Raises:
            DownstreamError: it cannot be opened, or not yet again.
        """
        key = client_key(caller) if self.spec.per_client else None
        connection = self._current.get(key)
        if connection is not None and not connection.usable:
            self._end(connection)
            connection = None
        if connection is None:
            connection = self._open(key, caller)
        await connection.opened()
        return connection

    def status(self) -> ServerStatus:
        """How the server stands."""
        pids = [connection.pid for connection in self.ready if connection.pid is not None]
        return self.standing.status(pids[0] if pids else None)

    def failed(self, connection: Connection, error: DownstreamError) -> None:
        """Take note that a request failed over a connection."""
        if isinstance(error, NeedsLogin):
            self.standing.needs_login(error)
            self._tell("state")
        elif isinstance(error, SessionLost):
            if self._forget(connection):
                LOG.warning("%s; a new one is made", error)
        elif error.kind is Kind.UNAVAILABLE and not error.may_have_run:
            self._forget(connection)
        elif error.kind is Kind.CRASHED and connection.ready:
            self.standing.shaken(error)
            self._tell("state")

    def answered(self) -> None:
        """Take note that a request was answered."""
        if self.standing.answered():
            self._tell("state")

    def _open(self, key: str | None, caller: Caller) -> Connection:
        refusal = self.standing.refusal()
        if refusal is not None:
            raise refusal
        spec = self.spec
        connection = Connection(
            spec,
            self._make_wire,
            limits=self._limits,
            era=self._learned if spec.era == "auto" and self._learned is not None else spec.era,
            abilities=caller.abilities if spec.per_client else None,
            emit=self._emit,
            watched=self._watched.setdefault(key, set()),
            changed=self._changed,
        )
        self._own(connection)
        self._current[key] = connection
        self._living.add(connection)
        self.standing.starting()
        self._tell("state")
        return connection

    def _forget(self, connection: Connection) -> bool:
        """Give a connection no more requests; False if that was so already."""
        for key, current in self._current.items():
            if current is connection:
                del self._current[key]
                connection.retire()
                return True
        return False

    def _changed(self, connection: Connection) -> None:
        """Take note of how a connection fares: it became ready, was lost, or is closed."""
        standing = self.standing
        if connection.closed.is_set():
            self._living.discard(connection)
            self._watched = {key: uris for key, uris in self._watched.items() if uris or key in self._current}
        self._learned = connection.learned or self._learned
        if connection.ready:
            standing.warnings = connection.warnings
            standing.ready(connection.agreement.version)
            self._tell("connected")
        elif connection in self._current.values():
            self._end(connection)
        self._tell("state")

    def _end(self, connection: Connection) -> None:
        fault = None if connection.on_purpose else connection.fault
        self._forget(connection)
        if fault is None:
            if not self._current:
                self.standing.idle()
        elif connection.was_ready:
            LOG.warning("%s", fault)
            self.standing.lost(fault)
        else:
            LOG.warning("%s", fault)
            self.standing.failed(fault)

    def _tell(self, what: str) -> None:
        self._emit(ServerEvent(self.spec.name, "connected" if what == "connected" else "state"))


def client_key(caller: Caller) -> str:
    """What tells clients apart where each has a connection of its own."""
    return f"session:{caller.session}" if caller.session is not None else f"principal:{caller.principal.name}"


def stopped(server: str, why: str) -> DownstreamError:
    """The end of the requests in flight over a connection that is closed on purpose."""
    return DownstreamError(why, server=server, kind=Kind.UNAVAILABLE)


async def close_all(places: Iterable[tuple[Place, str]]) -> None:
    """Close every connection of some servers at once, each for its reason, and wait for their end."""
    closing = [(connection, why) for place, why in places for connection in place.living]
    for connection, why in closing:
        connection.close(stopped(connection.spec.name, why))
    for connection, _ in closing:
        await connection.closed.wait()
