"""How a call can end: the kinds, whose fault each is, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal


class Fault(StrEnum):
    """Who has to change something before the same call can succeed."""

    NONE = "none"
    CALLER = "caller"
    ENVIRONMENT = "environment"
    OVERLOAD = "overload"
    DOWNSTREAM = "downstream"


class Kind(StrEnum):
    """How a call ended.

    One vocabulary for dispatch, reliability, grounding and REST.
    """

    OK = "ok"
    OK_EMPTY = "ok_empty"
    PARTIAL = "partial"
    INVALID_ARGS = "invalid_args"
    UNKNOWN_ACTION = "unknown_action"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    NOT_SUPPORTED = "not_supported"
    UPSTREAM_4XX = "upstream_4xx"
    AUTH = "auth"
    PERMISSION = "permission"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    CRASHED = "crashed"
    PROTOCOL = "protocol"
    UPSTREAM_5XX = "upstream_5xx"
    INTERNAL = "internal"
    SCHEMA_MISMATCH = "schema_mismatch"
    DRIFT = "drift"
    CANCELLED = "cancelled"
    REFUSED_BY_POLICY = "refused_by_policy"
    SKIPPED = "skipped"


Retry = Literal["no", "after_change", "after_login", "after_pause", "if_safe"]


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What follows from a kind.

    Attributes:
        fault: whose fault it is.
        weight: how much of a failure it counts for in the success estimate, 0 to 1.
        retry: when the same call may be tried again.
        status: the HTTP status that REST answers with.
    """

    fault: Fault
    weight: float
    retry: Retry
    status: int


def _kinds() -> Mapping[Kind, KindFacts]:
    none, caller, env, over, down = (
        Fault.NONE,
        Fault.CALLER,
        Fault.ENVIRONMENT,
        Fault.OVERLOAD,
        Fault.DOWNSTREAM,
    )
    return MappingProxyType(
        {
            Kind.OK: KindFacts(none, 0.0, "no", 200),
            Kind.OK_EMPTY: KindFacts(none, 0.0, "no", 200),
            Kind.PARTIAL: KindFacts(none, 0.0, "no", 200),
            Kind.INVALID_ARGS: KindFacts(caller, 0.0, "after_change", 422),
            Kind.UNKNOWN_ACTION: KindFacts(caller, 0.0, "after_change", 404),
            Kind.NOT_FOUND: KindFacts(caller, 0.0, "after_change", 404),
            Kind.CONFLICT: KindFacts(caller, 0.0, "after_change", 409),
            Kind.NOT_SUPPORTED: KindFacts(caller, 0.0, "after_change", 400),
            Kind.UPSTREAM_4XX: KindFacts(caller, 0.0, "after_change", 400),
            Kind.AUTH: KindFacts(env, 0.0, "after_login", 401),
            Kind.PERMISSION: KindFacts(env, 0.0, "after_login", 403),
            Kind.RATE_LIMITED: KindFacts(over, 0.0, "after_pause", 429),
            Kind.TIMEOUT: KindFacts(down, 1.0, "if_safe", 504),
            Kind.UNAVAILABLE: KindFacts(down, 1.0, "if_safe", 502),
            Kind.CRASHED: KindFacts(down, 1.0, "if_safe", 502),
            Kind.PROTOCOL: KindFacts(down, 1.0, "if_safe", 502),
            Kind.UPSTREAM_5XX: KindFacts(down, 1.0, "if_safe", 502),
            Kind.INTERNAL: KindFacts(down, 1.0, "if_safe", 502),
            Kind.SCHEMA_MISMATCH: KindFacts(down, 0.5, "no", 200),
            Kind.DRIFT: KindFacts(down, 0.5, "no", 200),
            Kind.CANCELLED: KindFacts(none, 0.0, "no", 499),
            Kind.REFUSED_BY_POLICY: KindFacts(none, 0.0, "no", 403),
            Kind.SKIPPED: KindFacts(none, 0.0, "no", 200),
        }
    )


KINDS: Mapping[Kind, KindFacts] = _kinds()
"""The design's table of kinds, row by row."""
SUCCESSES = frozenset({Kind.OK, Kind.OK_EMPTY, Kind.PARTIAL, Kind.SCHEMA_MISMATCH, Kind.DRIFT})
"""Kinds under which the server did answer with a result."""
