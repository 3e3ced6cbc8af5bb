"""Every setting with its default, as one frozen value that is passed in; nothing reads the environment after start.

Sources, the later wins: defaults, the `"anyact"` object of each configuration file, `ANYACT_*` variables, flags of the
command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from .errors import ConfigError
from .types import Limits, Origin

Exposure = Literal["search", "direct", "auto"]


class Settings(BaseModel):
    """Settings of one instance.

    Times in seconds, sizes in bytes unless a name says otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    exposure: Exposure = Field(
        "search",
        description="What clients see: the eight tools, every action as a tool, or whichever is small enough.",
    )
    auto_tokens: int = Field(
        4000,
        ge=0,
        description="Under `auto`, actions are shown directly while their definitions stay under this.",
    )
    start_s: float = Field(60.0, gt=0, description="Limit for starting a server.")
    list_s: float = Field(60.0, gt=0, description="Limit for reading one list of a server.")
    call_s: float = Field(60.0, gt=0, description="Limit for one call; progress restarts it.")
    ceiling_s: float = Field(900.0, gt=0, description="Hard limit for one call, progress or not.")
    idle_s: float = Field(600.0, gt=0, description="A server without calls for so long is stopped.")
    question_s: float = Field(300.0, gt=0, description="How long a server's question to the client is held.")
    parallel_starts: int = Field(4, ge=1, description="Servers that may start at the same time.")
    budget_tokens: int = Field(4000, ge=100, description="Tokens of one observation.")
    search_tokens: int = Field(6000, ge=500, description="Tokens of one search answer.")
    run_tasks: int = Field(500, ge=1, description="Tasks of one run.")
    run_parallel: int = Field(16, ge=1, description="Tasks of one run that run at the same time.")
    server_parallel: int = Field(4, ge=1, description="Calls of one run to the same server at the same time.")
    artifact_bytes: int = Field(512 * 1024 * 1024, ge=1024, description="Bytes of stored results in all.")
    artifact_s: float = Field(24 * 3600.0, gt=0, description="How long a stored result is kept.")
    body_bytes: int = Field(4 * 1024 * 1024, ge=1024, description="Largest HTTP request body.")
    line_bytes: int = Field(
        64 * 1024 * 1024,
        ge=1024,
        description="Largest line or event that a server may send.",
    )
    encoder: str = Field(
        "builtin",
        description="`builtin`, `off`, a sentence-transformers model name, or the URL of an embeddings endpoint, "
        "its model as fragment.",
    )
    encoder_key: SecretStr | None = Field(None, description="Bearer token for the embeddings endpoint.")
    encoder_threads: int = Field(1, ge=1, description="Threads of the encoder.")
    indexes: tuple[str, ...] = Field(
        (), description="Index folders made elsewhere; what they hold of the catalog is not encoded again."
    )
    refresh_s: float = Field(
        3600.0,
        gt=0,
        description="A running server's lists are read again after so long.",
    )
    strict_output: bool = Field(
        False,
        description="Fail a call whose result does not fit the action's output schema.",
    )
    allow: tuple[str, ...] = Field(
        (),
        description="If given, only actions whose id matches one of these patterns are visible.",
    )
    deny: tuple[str, ...] = Field((), description="Actions whose id matches one of these patterns are invisible.")
    restart_allowed: bool = Field(True, description="Whether the tool `servers` may restart a server.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="Least severity that is logged."
    )

    def limits(self) -> Limits:
        """The default limits of a server."""
        return Limits(
            self.start_s,
            self.list_s,
            self.call_s,
            self.ceiling_s,
            self.idle_s,
            self.question_s,
        )


def load(layers: list[tuple[Mapping[str, Any], str]]) -> Settings:
    """Merge layers of settings, the later wins.

    Args:
        layers: pairs of (values, where they come from).

    Raises:
        ConfigError: an unknown setting or a value that does not fit, named with its source.
    """
    merged: dict[str, Any] = {}
    source: dict[str, str] = {}
    for values, where in layers:
        for key, value in values.items():
            merged[key] = value
            source[key] = where
    try:
        return Settings(**merged)
    except ValidationError as error:
        first = error.errors()[0]
        key = str(first["loc"][0]) if first["loc"] else "?"
        known = ", ".join(Settings.model_fields)
        unknown = first["type"] == "extra_forbidden"
        hint = f"Known settings: {known}." if unknown else None
        raise ConfigError(
            f"setting {key!r}: {'there is no such setting' if unknown else first['msg']}",
            origin=Origin(source.get(key, "settings")),
            entry=key,
            hint=hint,
        ) from error


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings given as `ANYACT_<NAME>` variables; lists are separated by commas."""
    given = {name: environment.get(f"ANYACT_{name.upper()}") for name in Settings.model_fields}
    return {name: from_text(name, text) for name, text in given.items() if text is not None}


def from_text(name: str, text: str) -> str | tuple[str, ...]:
    """A setting given as a text: the parts between commas where it is a list."""
    info = Settings.model_fields.get(name)
    if info is None or info.annotation != tuple[str, ...]:
        return text
    return tuple(part.strip() for part in text.split(",") if part.strip())


def home_folder(option: str | None, environment: Mapping[str, str]) -> Path:
    """The home folder: the option, else ANYACT_HOME, else the platform's data folder.

    Raises:
        ConfigError: the option is empty, as it is when a variable behind it is not set.
    """
    if option is not None and not option.strip():
        raise ConfigError("--home is empty", hint="Name a folder, or leave the option out.")
    chosen = option or environment.get("ANYACT_HOME")
    return (
        Path(chosen).expanduser().resolve() if chosen else Path(platformdirs.user_data_dir("anyact", appauthor=False))
    )
