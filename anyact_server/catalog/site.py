"""Where an instance lives and what it is told: home folder, configuration files, settings, servers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anyact_server.errors import StorageError
from anyact_server.settings import Settings, from_environment, home_folder, load
from anyact_server.telemetry import MASK
from anyact_server.types import Limits

from .config import ConfigSet, read_configs

USER_CONFIG = "config.json"
"""The user's own configuration file in the home folder, where `anyact add` writes."""
Flags = Mapping[str, Any]


@dataclass(frozen=True)
class Site:
    """Where an instance lives and what it is told: home folder, configuration files, settings, servers."""

    home: Path
    files: tuple[Path, ...]
    settings: Settings
    configs: ConfigSet
    flags: Flags
    named: bool = False
    """Whether the files were named by the user, and not found in the home folder."""

    @classmethod
    def find(
        cls, config: Sequence[str], home: str | None, flags: Flags, environment: Mapping[str, str] | None = None
    ) -> Site:
        """Find home and files and read them.

        Args:
            config: files named on the command line; else `ANYACT_CONFIG` (separated as in PATH), else the home's own.
            home: the folder named on the command line.
            flags: settings named on the command line; they win over every other source.
            environment: the process's own when None.

        Raises:
            ConfigError: a named file is missing or broken, or a setting does not fit.
        """
        environment = os.environ if environment is None else environment
        folder = home_folder(home, environment)
        named = list(config) or [part for part in environment.get("ANYACT_CONFIG", "").split(os.pathsep) if part]
        own = folder / USER_CONFIG
        files = tuple(Path(name).expanduser().absolute() for name in named) or ((own,) if own.exists() else ())
        return cls(folder, files, Settings(), ConfigSet(), flags, bool(named)).read(environment)

    def read(self, environment: Mapping[str, str] | None = None) -> Site:
        """The same place with its files read anew. Raises ConfigError."""
        environment = os.environ if environment is None else environment
        found: list[Settings] = []

        def limits(layers: Sequence[tuple[Mapping[str, Any], str]]) -> Limits:
            every = [*layers, (from_environment(environment), "the environment"), (self.flags, "the command line")]
            found.append(load(every))
            return found[-1].limits()

        configs = read_configs(self.files, environment, defaults=limits)
        settings = found[-1] if found else load([])
        MASK.protect(secret for spec in configs.specs for secret in spec.secrets)
        return replace(self, settings=settings, configs=configs)

    def make_home(self) -> Path:
        """The home folder, made if it is not there. Raises StorageError."""
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        except FileExistsError as error:
            raise StorageError(
                f"the home {self.home} is a file, not a folder", hint="Name another one: --home or ANYACT_HOME."
            ) from error
        except OSError as error:
            raise StorageError(
                f"the home folder {self.home} cannot be made: {error}", hint="Name another one: --home or ANYACT_HOME."
            ) from error
        return self.home

    @property
    def own_file(self) -> Path:
        """The file that `anyact add` writes: the first named one, else the home's own."""
        return self.files[0] if self.named else self.home / USER_CONFIG

    def problems(self) -> list[str]:
        """Everything that is wrong or odd in the configuration, one line each."""
        return [str(problem) for problem in self.configs.problems]
