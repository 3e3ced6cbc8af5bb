"""From what a caller wrote to the action that is meant, as far as the caller may know of it.

A hidden action is indistinguishable from one that does not exist: the same error, and it never stands among the
suggestions.
"""

from __future__ import annotations

from anyact_server.errors import PolicyRefused, UnknownAction, UsageError
from anyact_server.interfaces import Catalog, Policy
from anyact_server.types import Action, Kind, Principal


def resolve(name: str, catalog: Catalog, policy: Policy, principal: Principal) -> Action:
    """The action that `name` means to this principal.

    Raises:
        UnknownAction: none, several, or one that is hidden.
    """
    visible = policy.visible(principal, catalog.actions(), catalog.version)
    exact = catalog.get(name)
    if exact is not None and (visible is None or exact.id in visible):
        return exact
    found = catalog.resolve(name, visible=visible)
    if visible is not None and found.id not in visible:
        raise UnknownAction(
            f"no action is called {name[:100]!r}", hint="Search for what you need with `search_actions`."
        )
    return found


def check_allowed(action: Action, policy: Policy, principal: Principal, *, read_only: bool) -> None:
    """Make sure that an action may be called.

    Raises:
        PolicyRefused: a rule forbids it, or only declared read-only actions are wanted and this is none.
        UsageError: the action cannot be called at all, because what the server says of it is faulty.
    """
    reason = policy.refusal(principal, action)
    if reason is not None:
        raise PolicyRefused(reason, hint="Use another action, or ask the owner of this AnyAct to allow it.")
    if read_only and action.hints.read_only is not True:
        raise PolicyRefused(
            f"{action.id} is not declared read-only by its server", hint="Use `call_action` if its effects are wanted."
        )
    if action.fault is not None:
        error = UsageError(
            f"{action.id} cannot be called: {action.fault}",
            hint=f"This has to be mended in the server {action.server!r}; use another action.",
        )
        error.kind = Kind.NOT_SUPPORTED
        raise error
