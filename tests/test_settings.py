"""Settings: defaults, sources, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyact_server.errors import ConfigError
from anyact_server.settings import Settings, from_environment, from_text, home_folder, load


def test_every_setting_has_a_default_and_a_description() -> None:
    """So that nothing has to be set, and the documentation can be checked."""
    assert load([]) == Settings()
    assert all(field.description for field in Settings.model_fields.values())


def test_the_later_layer_wins() -> None:
    """Setting by setting."""
    made = load([({"call_s": 5, "idle_s": 7}, "file"), ({"call_s": "6"}, "the environment")])
    assert (made.call_s, made.idle_s) == (6.0, 7.0)
    assert made.limits().call_s == 6.0


@pytest.mark.parametrize(
    ("values", "word"), [({"cal_s": 1}, "Known settings"), ({"call_s": -1}, ""), ({"deny": 1}, "")]
)
def test_a_wrong_setting_is_named_with_its_source(values: dict[str, object], word: str) -> None:
    """An unknown name with those that exist."""
    with pytest.raises(ConfigError, match=next(iter(values))) as caught:
        load([({}, "file"), (values, "the environment")])
    assert str(caught.value.origin) == "the environment"
    assert word in (caught.value.hint or "")


def test_settings_come_from_the_environment() -> None:
    """Under their names in capitals; lists between commas."""
    found = from_environment({"ANYACT_CALL_S": "3", "ANYACT_DENY": "a__*, b__c,", "OTHER": "x"})
    assert found == {"call_s": "3", "deny": ("a__*", "b__c")}
    assert load([(found, "the environment")]).deny == ("a__*", "b__c")
    assert from_text("no_such", "a,b") == "a,b"


def test_secrets_do_not_show() -> None:
    """When settings are printed."""
    assert "hush-1" not in repr(load([({"encoder_key": "hush-1"}, "file")]))


def test_the_home_folder_is_the_option_else_the_variable_else_the_platforms() -> None:
    """Absolute, with `~`."""
    assert home_folder("/a", {"ANYACT_HOME": "/b"}) == Path("/a")
    assert home_folder(None, {"ANYACT_HOME": "/b"}) == Path("/b")
    assert home_folder("~/x", {}) == (Path.home() / "x").resolve()
    assert home_folder(None, {}).name == "anyact"


def test_an_empty_home_is_a_mistake_and_not_the_default() -> None:
    """As it comes from a variable that is not set."""
    with pytest.raises(ConfigError, match="--home is empty"):
        home_folder(" ", {"ANYACT_HOME": "/elsewhere"})
