"""What outcomes say about an action: pure functions from belief and outcome to belief, and from belief to estimate.

Success is a Beta posterior with forgetting and a prior drawn from the action's server:

    alpha = K * m + s        beta = K * (1 - m) + f
    m     = (S + K0 * M) / (S + F + K0)

`s` and `f` are the decayed masses of successes and failures of the action, `S` and `F` those of the other actions of
its server, each of which counts for at most `POOL_CAP` outcomes. Every outcome multiplies the older mass by `STEP`
(discounted Bayesian updating, West and Harrison, "Bayesian Forecasting and Dynamic Models", ch. 6), every `HALF_LIFE_S`
without one halves it. Drawing an action's prior from its siblings is empirical Bayes shrinkage (Efron and Morris 1975).

Two rules make the belief follow a change quickly without shaking on noise: from the fourth failure in a row on, old
successes fade by `STREAK_FADE` per failure; after a success that ends five or more failures in a row, old failures fade
by `RECOVERY_FADE` per success until the next failure. At a failure rate of 3 % four failures in a row come about once
in a million calls. An action that always fails is pruned after 7 calls when it is new, after 8 when it always worked.

A caller who never had a success with an action while others had weighs `UNPROVEN` in its failures and ends nobody's
streak: one caller's habits must not condemn a sound action.

How much of a failure a kind is stands in `types.KINDS`; faults of the caller, the environment and the user's cancelling
move nothing. Suspected failures are a mass of their own, by confidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from anyact_server.types import KINDS, SUCCESSES, Estimate, Fault, Kind, Outcome

from .beta import quantile
from .sketch import NO_LATENCIES, Sketch

MEAN = 0.9
"""M: success expected where nothing is known. Of the calls to public servers about one in ten fails by their fault."""

STRENGTH = 2.0
"""K: the prior of an action weighs as much as so many outcomes."""

POOL_STRENGTH = 4.0
"""K0: `MEAN` weighs as much as so many outcomes of a server."""

POOL_CAP = 10.0
"""Outcomes for which one action counts at most in its server's prior: one broken action must not condemn the rest."""

STEP = 0.98
"""What an outcome leaves of the older mass: a memory of about 50 outcomes."""

HALF_LIFE_S = 6 * 3600.0
"""Seconds without an outcome that halve all masses."""

STREAK = 4
STREAK_FADE = 0.5
RECOVERY = 5
RECOVERY_FADE = 0.5
UNPROVEN = 0.25
PROVEN = 8
"""Callers with a success that are remembered per action."""

LOW, HIGH = 0.05, 0.95
"""The interval of an estimate holds the true success rate with probability 0.9."""

FLOOR = 0.5
"""An action is pruned when even the upper bound of its success is below this."""

LEAST_FAILURES = 3.0
"""Mass of failures below which nothing is pruned."""

TRIAL_PAUSE_S = 5.0
LONGEST_PAUSE_S = 60.0
"""A pruned action is shown again for a trial after 5, 10, 20, 40, then 60 s since its last failure."""

LONGEST_HOLD_S = 60.0
"""A rate limit holds calls back for at most so long, whatever the server asks for."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What is remembered of an action; masses are as of the second `at`.

    Attributes:
        successes, failures, suspected, answered: decayed masses; `answered` counts calls that had an answer.
        calls: calls sent, ever.
        streak: failures in a row by callers that count.
        recovering: a long streak ended and no failure came since.
        needs_login: the last answer wanted a login.
        held_until: second until which the server asked to be spared.
        digest: fingerprint of the action that the belief is about.
        proven: callers with a success, the latest last.
        last_failure: kind, message and second of the last failure.
        latency: seconds of answered calls.
    """

    successes: float = 0.0
    failures: float = 0.0
    suspected: float = 0.0
    answered: float = 0.0
    calls: int = 0
    at: float = 0.0
    streak: int = 0
    recovering: bool = False
    needs_login: bool = False
    held_until: float = 0.0
    digest: str = ""
    proven: tuple[str, ...] = ()
    last_failure: tuple[str, str, float] | None = None
    latency: Sketch = NO_LATENCIES


@dataclass(frozen=True, slots=True)
class Pool:
    """The decayed masses of the actions of a server, each capped."""

    successes: float = 0.0
    failures: float = 0.0

    def without(self, successes: float, failures: float) -> Pool:
        """The pool less one action's capped share."""
        share = capped(successes, failures)
        return Pool(max(self.successes - share[0], 0.0), max(self.failures - share[1], 0.0))

    @property
    def mean(self) -> float:
        """The success expected of an action of this server that was never called."""
        return (self.successes + POOL_STRENGTH * MEAN) / (self.successes + self.failures + POOL_STRENGTH)


def capped(successes: float, failures: float) -> tuple[float, float]:
    """Masses of an action as they count in its server's pool."""
    total = successes + failures
    part = 1.0 if total <= POOL_CAP else POOL_CAP / total
    return successes * part, failures * part


def pooled(beliefs: Iterable[Belief], now: float) -> Pool:
    """The pool of a server's actions at the second `now`."""
    successes = failures = 0.0
    for belief in beliefs:
        kept = fading(belief.at, now)
        s, f = capped(belief.successes * kept, belief.failures * kept)
        successes += s
        failures += f
    return Pool(successes, failures)


def fading(since: float, now: float) -> float:
    """What time leaves of a mass; 1 when the clock went back."""
    return math.pow(0.5, max(now - since, 0.0) / HALF_LIFE_S)


def failed_share(outcome: Outcome) -> float | None:
    """How much of a failure an outcome is, 0 to 1; None where it says nothing about the action."""
    if not outcome.sent:
        return None
    kind = outcome.kind
    if kind is Kind.PARTIAL:
        return min(max(outcome.verdict.share_failed, 0.0), 1.0)
    if kind in SUCCESSES:
        return KINDS[kind].weight
    return KINDS[kind].weight or 1.0 if fault_of(outcome) is Fault.DOWNSTREAM else None


def fault_of(outcome: Outcome) -> Fault:
    """Whose fault a failure is: what its evidence says, else its kind's row in the table."""
    return outcome.verdict.fault or KINDS[outcome.kind].fault


def concerns(outcome: Outcome) -> bool:
    """Whether an outcome is about the action at all: its call reached for the server, or a login was missing."""
    refused_here = outcome.verdict.detected_by == "local" and KINDS[outcome.kind].fault is Fault.CALLER
    return not refused_here and (outcome.sent or fault_of(outcome) is Fault.ENVIRONMENT)


def updated(belief: Belief, outcome: Outcome) -> Belief:
    """The belief after one more outcome. A new digest starts a new belief: a changed action gets a fair start."""
    if not concerns(outcome):
        return belief
    if outcome.digest and belief.digest and outcome.digest != belief.digest:
        belief = Belief()
    belief = replace(belief, calls=belief.calls + 1, digest=outcome.digest or belief.digest)
    belief = _with_latency(_with_access(belief, outcome), outcome)
    share = failed_share(outcome)
    if share is None:
        return belief
    kept = fading(belief.at, outcome.at) * STEP
    doubt = outcome.verdict.confidence if outcome.verdict.suspected is not None else 0.0
    belief = replace(
        belief,
        successes=belief.successes * kept,
        failures=belief.failures * kept,
        suspected=belief.suspected * kept + doubt,
        answered=belief.answered * kept + 1.0,
        at=max(outcome.at, belief.at),
    )
    return _after_failure(belief, outcome, share) if share > 0.5 else _after_success(belief, outcome, share)


def _with_access(belief: Belief, outcome: Outcome) -> Belief:
    kind = outcome.kind
    if kind not in SUCCESSES and fault_of(outcome) is Fault.ENVIRONMENT:
        return replace(belief, needs_login=True)
    if kind is Kind.RATE_LIMITED and outcome.verdict.retry_after_s is not None:
        hold = min(max(outcome.verdict.retry_after_s, 0.0), LONGEST_HOLD_S)
        return replace(belief, held_until=outcome.at + hold)
    return replace(belief, needs_login=False) if kind in SUCCESSES and belief.needs_login else belief


def _with_latency(belief: Belief, outcome: Outcome) -> Belief:
    """A time-out counts with the time it took: at least so long. A quick failure says nothing about speed."""
    if outcome.seconds <= 0.0:
        return belief
    if outcome.kind in SUCCESSES or outcome.kind is Kind.TIMEOUT:
        return replace(belief, latency=belief.latency.added(outcome.seconds))
    if outcome.kind is Kind.RATE_LIMITED:
        wait = min(outcome.verdict.retry_after_s or 0.0, LONGEST_HOLD_S)
        return replace(belief, latency=belief.latency.added(outcome.seconds + wait))
    return belief


def _after_failure(belief: Belief, outcome: Outcome, share: float) -> Belief:
    failure = (outcome.kind.value, outcome.verdict.message[:200], outcome.at)
    if belief.proven and outcome.principal not in belief.proven:
        return replace(belief, failures=belief.failures + share * UNPROVEN, last_failure=failure)
    streak = belief.streak + 1
    fade = STREAK_FADE if streak >= STREAK else 1.0
    return replace(
        belief,
        successes=belief.successes * fade + (1.0 - share),
        failures=belief.failures + share,
        streak=streak,
        recovering=False,
        last_failure=failure,
    )


def _after_success(belief: Belief, outcome: Outcome, share: float) -> Belief:
    recovering = belief.recovering or belief.streak >= RECOVERY
    fade = RECOVERY_FADE if recovering else 1.0
    others = tuple(name for name in belief.proven if name != outcome.principal)
    return replace(
        belief,
        successes=belief.successes + (1.0 - share),
        failures=belief.failures * fade + share,
        streak=0,
        recovering=recovering,
        proven=(*others, outcome.principal)[-PROVEN:],
    )


def trial_pause(streak: int) -> float:
    """Seconds after its last failure in which a poor action stays hidden: 5 s, doubled per failure beyond the sixth."""
    return min(TRIAL_PAUSE_S * 2.0 ** max(min(streak, 20) - 6, 0), LONGEST_PAUSE_S)


@dataclass(frozen=True, slots=True)
class Numbers:
    """The posterior of an action at one moment."""

    alpha: float
    beta: float
    failures: float
    low: float
    high: float

    @property
    def mean(self) -> float:
        return self.alpha / (self.alpha + self.beta)

    @property
    def poor(self) -> bool:
        """Whether even the optimistic bound is too low to show the action."""
        return self.failures >= LEAST_FAILURES and self.high < FLOOR


def numbers(belief: Belief, pool: Pool, now: float) -> Numbers:
    """The posterior of an action; `pool` is that of its server, the action's own share included."""
    kept = fading(belief.at, now)
    successes, failures = belief.successes * kept, belief.failures * kept
    mean = pool.without(successes, failures).mean
    alpha = round(STRENGTH * mean + successes, 2)
    beta = round(STRENGTH * (1.0 - mean) + failures, 2)
    return Numbers(
        alpha, max(beta, 0.01), failures, quantile(LOW, alpha, max(beta, 0.01)), quantile(HIGH, alpha, max(beta, 0.01))
    )


def trial_due(belief: Belief) -> float:
    """Second at which a poor action is shown again for a trial."""
    return belief.last_failure[2] + trial_pause(belief.streak) if belief.last_failure else 0.0


def estimate(action_id: str, belief: Belief, found: Numbers, now: float, words: str) -> Estimate:
    """The belief as others see it.

    `pruned` holds while the action is poor and its next trial is not due; then it may be shown and tried again.
    """
    answered = belief.answered * fading(belief.at, now)
    return Estimate(
        action_id,
        found.mean,
        found.low,
        found.high,
        belief.calls,
        belief.latency.quantile(0.5),
        belief.latency.quantile(0.95),
        pruned=found.poor and now < trial_due(belief),
        needs_login=belief.needs_login,
        suspected=belief.suspected * fading(belief.at, now) / answered if answered > 0.0 else 0.0,
        words=words,
    )
