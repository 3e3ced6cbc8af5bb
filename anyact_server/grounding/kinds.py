"""What kind of failure a message tells of: ordered rules over the words of an error, its codes and its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from anyact_server.types import Fault, Json, Kind

_LOOKED_AT = 1500
"""Characters of a message that are read; the cause of a failure stands at its head."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message was understood to say; `sure` is 0 to 1, `fault` is set where it is not the kind's usual one."""

    kind: Kind
    sure: float
    fault: Fault | None = None


def _rules(*rules: tuple[Kind, str]) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in rules)


_STATUS = re.compile(
    r"(?:\bHTTP(?:/[\d.]+)?(?: (?:status|error|code))*[ :=]{1,3}|\bstatus(?:[ _]?code)?[ :=\"']{1,4}(?:of )?"
    r"|\bcode[ :=\"']{1,4}"
    r"|\berror[ :=(]{1,3}|\breturned |\breceived |\bfailed with |^\W{0,3}|\(|\berror '|\[)"
    r"([45]\d\d)\b(?![.:]\d|,\d{3})(?= |\)|,|'|\"|\]|:|$|\.|\n|;|}|-)",
    re.IGNORECASE,
)
"""An HTTP status named as such: after a word that announces it, at the start, or in brackets."""
_PHRASE = re.compile(
    r"\b([45]\d\d) (?:bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed"
    r"|not acceptable"
    r"|request time-?out|conflict|gone|(?:request entity|payload|content) too large|unsupported media type"
    r"|unprocessable|too many requests|internal server error|not implemented|bad gateway|service unavailable"
    r"|service temporarily|gateway time-?out|(?:client|server) error)|\b(?:client|server) error '?([45]\d\d)\b",
    re.IGNORECASE,
)

_WORDS = _rules(
    (
        Kind.CANCELLED,
        r"\b(?:request|operation|call) was (?:cancell?ed|aborted)\b|\bcancell?ed by (?:the )?(?:user|client)",
    ),
    (
        Kind.RATE_LIMITED,
        r"rate.?limit|too many requests|ratelimited|throttl|quota (?:exceeded|exhausted)|retry later|slow down"
        r"|resource_?exhausted|requests? limit|过于频繁|频率|レート制限|usage limit|limit of requests|429",
    ),
    (
        Kind.NOT_FOUND,
        r"unknown tool|tool ['\"`]?[\w./:-]+['\"`]? (?:was )?(?:not found|is not (?:known|available|registered))"
        r"|no (?:such )?tool (?:named|called)|unknown method|method not found",
    ),
    (
        Kind.INVALID_ARGS,
        r"validation errors? for|input validation error|invalid arguments? for tool|invalid input\b|input_value="
        r"|missing (?:\d+ )?required|required (?:argument|parameter|property|field)|is a required property"
        r"|invalid_type|invalid_enum|invalid_arguments|zoderror|fieldvalidation|unexpected keyword argument"
        r"|arguments? (?:is|are) (?:required|missing|invalid)|missing (?:arguments?|parameters?|fields?)"
        r"|unknown (?:parameter|argument|option|field)|additional properties|unrecognized_?keys?|graphql_validation",
    ),
    (
        Kind.TIMEOUT,
        r"\btime[d-]? ?out\b|timeout|deadline (?:exceeded|expired)|etimedout|timelimit|took too long|超时|タイムアウト"
        r"|did not (?:respond|answer) within",
    ),
    (
        Kind.UNAVAILABLE,
        r"enotfound|econnrefused|econnreset|ehostunreach|enetunreach|eai_again|getaddrinfo|fetch failed"
        r"|name or service not known|name ?resolution|failed to resolve|could not resolve|nodename nor servname"
        r"|no address associated|dns|connection (?:refused|reset|error|failed|closed|aborted|attempts? failed)"
        r"|connect(?:ion)?error|cannot connect|can't connect|could not connect|unable to connect|failed to connect"
        r"|error connecting|not connected to|connectionrefused|max retries exceeded|newconnectionerror"
        r"|failed to establish|network (?:error|is unreachable|unreachable|failure|request failed)|socket hang up"
        r"|net::err_(?:name|connection|internet|network|address|proxy|tunnel)|no route to host|host unreachable"
        r"|server (?:is )?(?:down|unreachable|offline|not running|has gone away)"
        r"|service (?:is )?(?:currently |temporarily )?"
        r"unavailable|temporarily unavailable|currently unavailable|request to \S+ failed|connect call failed"
        r"|cannot reach|unreachable|is not running\b|ssl(?:error| handshake)|all connection attempts failed"
        r"|error sending request"
        r"|client(?:connector)?error\b.*connect|http connection|could not reach|unable to reach|backend unavailable",
    ),
    (
        Kind.AUTH,
        r"unauthori[sz]ed|unauthenticated|authenticat(?:e|ion) (?:failed|required|error|is required)"
        r"|authenticationexception"
        r"|not authenticated|authenticate first|invalid[ _](?:\w+[ _])?(?:token|api[ _-]?key|credentials?"
        r"|auth|grant|client)\b"
        r"|(?:token|credentials?|session|login|api key) (?:has |have |is |was |were )?(?:expired|revoked|invalid)"
        r"|token_revoked|token_expired|expired token|invalid_auth|not_authed|bad credentials|wrong password"
        r"|(?:missing|no|requires? an?|set|need|provide|without|configure) (?:\w+[ _]){0,3}"
        r"(?:api[ _-]?key|access[ _]token|auth token|credentials?|cloud_id|token|password)\b"
        r"|api[ _-]?key (?:is )?(?:not|missing|required|must)|\b[A-Z_]*(?:API_KEY|TOKEN|SECRET)\b (?:is "
        r"|environment|not |must)"
        r"|(?:environment variable|env var)[^.]{0,40}(?:key|token|secret)|please (?:log|sign) ?in"
        r"|not logged in|log in to|sign in to"
        r"|login required|requires? (?:a )?(?:login|authentication)|noauth|credentials (?:are|were) (?:not|missing)"
        r"|default credentials|could not load credentials|password authentication failed|no password supplied"
        r"|no user given"
        r"|login failed|invalid_token|credential",
    ),
    (
        Kind.PERMISSION,
        r"permission.?den|eacces|eperm\b|access (?:is )?denied|forbidden|not (?:permitted|authori[sz]ed)"
        r"|not_in_channel"
        r"|insufficient[ _](?:scope|permission|privilege|rights)|permissionerror|operation not permitted"
        r"|outside (?:of )?(?:the )?"
        r"(?:allowed|permitted|workspace|working|project|root|sandbox)|not (?:with)?in (?:the "
        r"|any )?(?:allowed|permitted)|path not allowed"
        r"|path is not allowed|is not allowed to\b|not allowed (?:for|by|to) |(?:blocked|refused|denied"
        r"|rejected|disallowed) (?:by|to|for|because)"
        r"|refusing to|read-?only (?:database|file ?system|mode|transaction|file|replica)|readonly"
        r"|not writ(?:e)?able|not readable"
        r"|private (?:ip|address|network)|path traversal|must be within|escapes? the"
        r"|admin(?:istrator)? (?:rights|privileges)"
        r"|can't write against a read only|noperm\b|not allowed list|security (?:policy|restriction|reasons"
        r"|violation)"
        r"|command (?:is )?(?:not allowed|blocked)|not accessible|secret gate|allowed director"
        r"|do(?:es)? not have (?:the )?(?:permission|access)",
    ),
    (
        Kind.CONFLICT,
        r"already (?:exists?|in use|open|running|been|exported|registered|taken|started|initiali[sz]ed)"
        r"|eexist|conflict\b|duplicate"
        r"|unique constraint|database is locked|is locked|lock (?:is )?held|busy|nothing (?:to|staged"
        r"|added to) commit|nothing to commit"
        r"|no dialog|not (?:yet )?(?:initiali[sz]ed|indexed|loaded|opened)|not been (?:indexed|initiali[sz]ed|loaded)"
        r"|(?:is|are) not empty|no (?:open|active) (?:browser|page|tab|dialog|document|project)|wrong state"
        r"|precondition"
        r"|changed since|modified since|version mismatch|no changes (?:added|staged|to)|no modal state",
    ),
    (
        Kind.NOT_SUPPORTED,
        r"not (?:yet )?(?:supported|implemented)|unsupported|notimplemented|no longer supported"
        r"|not available (?:in|on|for)"
        r"|only available (?:in|on|to|for)|(?:feature|platform|version) (?:is )?not|deprecated and removed",
    ),
    (
        Kind.UNAVAILABLE,
        r"command ['\"`]?[\w.-]+['\"`]? not found|(?:is|are) not installed|not (?:be )?found (?:in"
        r"|on) (?:the |your )?(?:system )?path"
        r"|executable (?:doesn't|does not|not)|no module named|cannot find module|module ?not ?found|spawn \S+ enoent"
        r"|browser .{0,40}not (?:found|installed)|please install|playwright install|chromium|libreoffice"
        r"|could not find (?:chrome|browser)",
    ),
    (
        Kind.NOT_FOUND,
        r"not[ _]found|enoent|no such|do(?:es)?(?: not|n't) exist|did not exist|non-?existent|is missing: "
        r"|unknown (?:id|key|name|user|link|session)"
        r"|could(?: not|n't) (?:be )?f(?:ind|ound)|cannot find|can't find|unable to find|no \w+ (?:named"
        r"|called|with (?:the )?(?:id|name|key|path))"
        r"|not_found|notfound|no (?:[\w-]+ ){1,4}(?:found|exists?|stored|matches|matching)\b|not exist"
        r"|is unknown|unknown (?:repository|table|column|file|resource)"
        r"|there is no \w+|isn't in|is not in (?:this|the)|bad revision|unknown revision|pathspec"
        r"|不存在|未找到|找不到|見つかりません",
    ),
    (
        Kind.UPSTREAM_5XX,
        r"internal server error|bad gateway|gateway time-?out|server error|upstream (?:error|failure)|\b5\d\d\b",
    ),
    (
        Kind.INVALID_ARGS,
        r"\binvalid\b|must (?:be|have|contain|match|start|not|specify|provide)|should be|expected\b|required"
        r"|missing|malformed"
        r"|syntax error|parse error|pars(?:e|ing)\b|unparse?able|not a valid|is not valid|cannot be empty"
        r"|empty|too (?:long|short|large|small|many)"
        r"|out of (?:range|bounds)|at least|at most|between \d+ and|one of|exactly one|either\b|unexpected"
        r"|unknown|bad request|illegal"
        r"|wrong (?:type|format|number)|not (?:a|an) \w+|cannot (?:parse|convert|be parsed)"
        r"|could not (?:parse|convert)|unsupported (?:format|url)"
        r"|constraint failed|no column|unbalanced|bad \w+|unrecognized|only \w+ (?:\w+ )?(?:are|is) allowed"
        r"|cannot be (?:negative|null|blank)"
        r"|division by zero|divide by zero|nan\b|positive|negative|format|argument|parameter|provide|specify"
        r"|valueerror|typeerror",
    ),
)
"""The first rule that matches decides; the order puts causes before their wording ("403" before "not found")."""


def of_status(status: int) -> Kind | None:
    """The kind that an HTTP status stands for; None below 400 and above 599."""
    special = {
        401: Kind.AUTH,
        403: Kind.PERMISSION,
        404: Kind.NOT_FOUND,
        407: Kind.AUTH,
        408: Kind.TIMEOUT,
        409: Kind.CONFLICT,
        410: Kind.NOT_FOUND,
        429: Kind.RATE_LIMITED,
    }
    if status in special:
        return special[status]
    if 400 <= status < 500:
        return Kind.UPSTREAM_4XX
    return Kind.UPSTREAM_5XX if 500 <= status < 600 else None


def status_in(message: str) -> int | None:
    """The HTTP status that a message names as such."""
    head = message[:_LOOKED_AT]
    phrase = _PHRASE.search(head)
    if phrase is not None:
        return int(phrase[1] or phrase[2])
    found = _STATUS.search(head)
    return int(found[1]) if found is not None else None


def read_message(message: str, code: Json = None) -> Reading:
    """The kind of a failure from its message and, where there is one, its code."""
    known = _of_code(code)
    if known is not None:
        return known
    head = message[:_LOOKED_AT]
    status = status_in(head)
    kind = of_status(status) if status is not None else None
    if kind is not None:
        return Reading(kind, 0.95, _fault(kind, head, http=True))
    for kind, pattern in _WORDS:
        if pattern.search(head):
            return Reading(kind, 0.8, _fault(kind, head, http=False))
    return Reading(Kind.INTERNAL, 0.4)


def _of_code(code: Json) -> Reading | None:
    """The kind of a code that names it: an HTTP status or a word such as `RATE_LIMITED`."""
    if isinstance(code, bool) or code is None:
        return None
    if isinstance(code, int):
        kind = of_status(code)
        return Reading(kind, 0.95) if kind is not None else None
    text = str(code)
    if text.isdecimal() and len(text) == 3:
        return _of_code(int(text))
    for kind, pattern in _CODES:
        if pattern.search(text):
            return Reading(kind, 0.9)
    return None


_CODES = _rules(
    (Kind.RATE_LIMITED, r"rate.?limit|too_?many|throttl|quota|exhausted"),
    (Kind.AUTH, r"unauth|invalid_?(?:auth|token|key|grant)|not_?authed|token_|expired_?token|login"),
    (Kind.PERMISSION, r"forbidden|permission|access_?denied|insufficient|not_in_channel|e?acces$|eperm"),
    (Kind.NOT_FOUND, r"not_?found|no_?such|enoent|unknown_?(?:id|tool)"),
    (Kind.CONFLICT, r"conflict|already_?exists|eexist|duplicate"),
    (Kind.TIMEOUT, r"time_?d?_?out|deadline"),
    (Kind.UNAVAILABLE, r"unavailable|econn|enotfound|network|eai_again"),
    (Kind.NOT_SUPPORTED, r"not_?implemented|unsupported|not_?supported"),
    (
        Kind.INVALID_ARGS,
        r"validation|invalid_?(?:arg|param|input|sql|request_body|type)|bad_?request|parse_error|missing_",
    ),
)

_SETUP = re.compile(
    r"command ['\"`]?[\w.-]+['\"`]? not found|(?:is|are) not installed|please install|playwright install"
    r"|no module named|cannot find module"
    r"|spawn \S+ enoent|make sure|(?:addon|add-on|plugin|extension|app|application|daemon|browser|docker"
    r"|studio|editor|bridge) (?:is )?(?:not )?running"
    r"|not found (?:in|on) (?:the |your )?(?:system )?path|libreoffice|chromium|chrome\b|libgl|shared librar"
    r"|is not configured",
    re.IGNORECASE,
)
_FENCE = re.compile(
    r"outside|not (?:with)?in (?:the |any )?allowed|path not allowed|not allowed|blocked|refus|ssrf|private"
    r"|must be within|traversal|allowed director"
    r"|policy|forbidden (?:path|command)|escapes?",
    re.IGNORECASE,
)
_THROWN = re.compile(r"evaluat|\bscript\b|page\.|nosuch|user code|your code|javascript", re.IGNORECASE)


def _fault(kind: Kind, message: str, *, http: bool) -> Fault | None:
    """Whose fault it is where the kind's usual answer is wrong; None where it is right."""
    if kind is Kind.UNAVAILABLE and not http and _SETUP.search(message):
        return Fault.ENVIRONMENT
    if kind is Kind.PERMISSION and not http and _FENCE.search(message):
        return Fault.CALLER
    if kind is Kind.CONFLICT and re.search(r"locked|busy|lock (?:is )?held", message, re.IGNORECASE):
        return Fault.ENVIRONMENT
    return Fault.CALLER if kind is Kind.INTERNAL and _THROWN.search(message) else None


def retry_after(value: Json, message: str) -> float | None:
    """Seconds to wait before the next try, where fields or words of a failure name them."""
    if isinstance(value, Mapping):
        for key in ("retry_after", "retryAfter", "retry_after_s", "retry_after_seconds", "retryAfterSeconds"):
            given = value.get(key)
            if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e6:
                return float(given)
        if isinstance(value.get("retryAfterMs"), int | float):
            return float(value["retryAfterMs"]) / 1000
    found = _WAIT.search(message[:_LOOKED_AT])
    if found is None:
        return None
    unit = found[2].lower()
    scale = 0.001 if unit.startswith("m") and unit in ("ms", "milliseconds") else 60.0 if unit[0] == "m" else 1.0
    return float(found[1]) * scale


_WAIT = re.compile(
    r"(?:retry|try again|wait)\D{0,24}?(\d+(?:\.\d+)?) ?(ms|milliseconds|s|secs?|seconds|m|mins?|minutes)\b",
    re.IGNORECASE,
)
