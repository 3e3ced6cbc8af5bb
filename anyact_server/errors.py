"""Every error that AnyAct raises on purpose.

    AnyActError
    ├── ConfigError            a file, an entry or a setting is wrong; names file, line, entry and the cure
    ├── UsageError             the command line or a request was used wrongly
    ├── UnknownAction          no such id; carries suggestions
    ├── UnknownServer          no such server
    ├── UnknownHandle          no such handle, or it expired, or it belongs to somebody else
    ├── InvalidArguments       arguments do not fit the schema; one problem per finding
    ├── PolicyRefused          allowed to nobody, or not to this principal
    ├── DownstreamError        no answer came, or none that can be read
    │   └── NeedsLogin         the server wants a login
    ├── RemoteError            the server answered with a JSON-RPC error
    ├── StorageError           the home folder, the database or an index cannot be used
    │   ├── HomeLocked         another instance holds the home
    │   └── IndexMismatch      an index folder does not fit its meta file or the encoder
    ├── EncoderError           the encoder cannot be loaded or gives unusable vectors
    └── ScreenError            what reads screens is not installed or cannot be used

Each says in one message what is wrong and how to mend it. `hint` is the cure, printed on a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from .types import Json, Kind, Origin


class AnyActError(Exception):
    """Base of every error here.

    Args:
        message: what is wrong, one sentence, with the names of things.
        hint: how to mend it, one sentence.
    """

    kind: Kind = Kind.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(AnyActError):
    """A configuration file, entry or setting that cannot be used as written."""

    kind = Kind.INVALID_ARGS

    def __init__(
        self,
        message: str,
        *,
        origin: Origin | None = None,
        column: int | None = None,
        entry: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.origin = origin
        self.column = column
        self.entry = entry


class UsageError(AnyActError):
    """A command or a request that was used wrongly."""

    kind = Kind.INVALID_ARGS


class UnknownAction(AnyActError):
    """No action has this id or name, or several share the name."""

    kind = Kind.UNKNOWN_ACTION

    def __init__(self, message: str, *, suggestions: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.suggestions = tuple(suggestions)


class UnknownServer(AnyActError):
    """No server has this name."""

    kind = Kind.NOT_FOUND


class UnknownHandle(AnyActError):
    """No handle has this name for this principal: unknown, expired and foreign look alike."""

    kind = Kind.NOT_FOUND


class InvalidArguments(AnyActError):
    """Arguments that do not fit the action's schema; `problems` holds one sentence per finding."""

    kind = Kind.INVALID_ARGS

    def __init__(self, message: str, *, problems: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)


class PolicyRefused(AnyActError):
    """A rule forbids the call to this principal."""

    kind = Kind.REFUSED_BY_POLICY


class DownstreamError(AnyActError):
    """No usable answer came from a server.

    Attributes:
        server: its config name.
        kind: one of timeout, unavailable, crashed, protocol, rate_limited, auth, permission, upstream_4xx,
            upstream_5xx, cancelled.
        may_have_run: False only when the request surely never reached the server.
        retry_after_s: when the server itself said how long to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        server: str,
        kind: Kind,
        may_have_run: bool = True,
        retry_after_s: float | None = None,
        status: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.server = server
        self.kind = kind
        self.may_have_run = may_have_run
        self.retry_after_s = retry_after_s
        self.status = status


class NeedsLogin(DownstreamError):
    """The server refuses until somebody logs in; `hint` names the step."""

    def __init__(
        self,
        message: str,
        *,
        server: str,
        hint: str | None = None,
        status: int | None = 401,
    ) -> None:
        super().__init__(
            message,
            server=server,
            kind=Kind.AUTH,
            may_have_run=False,
            status=status,
            hint=hint,
        )


class RemoteError(AnyActError):
    """A JSON-RPC error exactly as the server sent it."""

    kind = Kind.INTERNAL

    def __init__(self, code: int, message: str, data: Json = None, *, server: str) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.server = server


class StorageError(AnyActError):
    """The home folder, the database or an index folder cannot be used."""


class HomeLocked(StorageError):
    """Another instance holds the home folder."""


class IndexMismatch(StorageError):
    """An index folder that does not fit its meta file or the encoder."""


class EncoderError(AnyActError):
    """The encoder cannot be loaded, or it gives vectors that cannot be used."""


class ScreenError(AnyActError):
    """What reads screens is not installed, or cannot be used."""

    kind = Kind.NOT_SUPPORTED
