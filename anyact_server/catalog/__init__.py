"""What actions exist, and how their servers are reached.

Primitives: `read_configs` turns configuration files into server specs and names every mistake in them; `action_id` is
the one rule of names; `repair` makes a server's input schema fit for every client; `Store` remembers snapshots and
approvals; `Catalog` answers what there is, and tells what changes; `Watch` follows the configuration files;
`Discovery` keeps the catalog true; `HomeLock` keeps one instance per home. This room does not know how a server is
spoken to, how actions are searched, or who asks.
"""

from .additions import Addition, Surroundings, Wish, carry_out, remove, understand
from .catalog import Catalog
from .config import ConfigSet, read_configs
from .config_entry import Problem
from .diagnosis import Finding, of_entry, of_error, of_snapshot
from .discovery import Discovery, worth_reading
from .environments import Progress
from .lock import Holder, HomeLock
from .manifests import find_manifest, manifest_folders, read_manifests
from .naming import action_id
from .repair import Repaired, repair
from .runners import look
from .store import Store
from .store_approvals import Approval
from .watch import Watch

__all__ = [
    "Addition",
    "Approval",
    "Catalog",
    "ConfigSet",
    "Discovery",
    "Finding",
    "Holder",
    "HomeLock",
    "Problem",
    "Progress",
    "Repaired",
    "Store",
    "Surroundings",
    "Watch",
    "Wish",
    "action_id",
    "carry_out",
    "find_manifest",
    "look",
    "manifest_folders",
    "of_entry",
    "of_error",
    "of_snapshot",
    "read_configs",
    "read_manifests",
    "remove",
    "repair",
    "understand",
    "worth_reading",
]
