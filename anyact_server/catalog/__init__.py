"""What actions exist, and how their servers are reached.

Primitives: `read_configs` turns configuration files into server specs and names every mistake in them; `action_id` is
the one rule of names; `repair` makes a server's input schema fit for every client; `Store` remembers snapshots and
approvals; `Catalog` answers what there is, and tells what changes; `Watch` follows the configuration files;
`Discovery` keeps the catalog true; `HomeLock` keeps one instance per home. `understand` and `carry_out` add a server by
name, package, URL or file; `import_clients` reads what other clients have, `plan_connect` puts AnyAct into them; `pull`
takes snapshots of servers that only a manifest names. This room does not know how a server is spoken to, how actions
are searched, or who asks.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .catalog import Catalog
from .config import ConfigSet, read_configs
from .config_entry import Problem
from .diagnosis import Finding, of_entry, of_error, of_snapshot
from .discovery import Discovery, worth_reading
from .lock import Holder, HomeLock
from .naming import action_id
from .repair import Repaired, repair
from .site import Site
from .store import Store
from .store_approvals import Approval
from .watch import Watch

if TYPE_CHECKING:
    from .additions import (
        Addition,
        Surroundings,
        Wish,
        carry_out,
        remove,
        shown,
        understand,
    )
    from .clients import (
        CLIENTS,
        Client,
        Target,
        client,
        places,
    )
    from .clients_read import (
        Imports,
        file_places,
        import_clients,
    )
    from .connect import (
        Plan,
        carry_out_plan,
        choose_place,
        own_servers,
        plan_connect,
        plan_undo,
        read_journal,
        take_in,
    )
    from .environments import (
        Progress,
    )
    from .manifests import (
        find_manifest,
        manifest_folders,
        read_manifests,
    )
    from .manifests_pull import (
        Checked,
        Pulled,
        changes_since,
        check_manifests,
        counted,
        manifest_spec,
        pull,
    )
    from .runners import (
        look,
    )

_ON_FIRST_USE = {
    "Addition": "additions",
    "Surroundings": "additions",
    "Wish": "additions",
    "carry_out": "additions",
    "remove": "additions",
    "shown": "additions",
    "understand": "additions",
    "CLIENTS": "clients",
    "Client": "clients",
    "Target": "clients",
    "client": "clients",
    "places": "clients",
    "Imports": "clients_read",
    "file_places": "clients_read",
    "import_clients": "clients_read",
    "Plan": "connect",
    "carry_out_plan": "connect",
    "choose_place": "connect",
    "own_servers": "connect",
    "plan_connect": "connect",
    "plan_undo": "connect",
    "read_journal": "connect",
    "take_in": "connect",
    "Progress": "environments",
    "find_manifest": "manifests",
    "manifest_folders": "manifests",
    "read_manifests": "manifests",
    "Checked": "manifests_pull",
    "Pulled": "manifests_pull",
    "changes_since": "manifests_pull",
    "check_manifests": "manifests_pull",
    "counted": "manifests_pull",
    "manifest_spec": "manifests_pull",
    "pull": "manifests_pull",
    "look": "runners",
}
"""Name → file of what only the changing of configurations needs: serving starts faster without it."""

__all__ = [
    "CLIENTS",
    "Addition",
    "Approval",
    "Catalog",
    "Checked",
    "Client",
    "ConfigSet",
    "Discovery",
    "Finding",
    "Holder",
    "HomeLock",
    "Imports",
    "Plan",
    "Problem",
    "Progress",
    "Pulled",
    "Repaired",
    "Site",
    "Store",
    "Surroundings",
    "Target",
    "Watch",
    "Wish",
    "action_id",
    "carry_out",
    "carry_out_plan",
    "changes_since",
    "check_manifests",
    "choose_place",
    "client",
    "counted",
    "file_places",
    "find_manifest",
    "import_clients",
    "look",
    "manifest_folders",
    "manifest_spec",
    "of_entry",
    "of_error",
    "of_snapshot",
    "own_servers",
    "places",
    "plan_connect",
    "plan_undo",
    "pull",
    "read_configs",
    "read_journal",
    "read_manifests",
    "remove",
    "repair",
    "shown",
    "take_in",
    "understand",
    "worth_reading",
]


def __getattr__(name: str) -> object:
    """The room's one loader: fetch what is not needed for serving when it is first used."""
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ON_FIRST_USE[name]}", __name__), name)
