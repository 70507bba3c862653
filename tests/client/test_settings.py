"""Settings: their sources, their errors, and that no key is shown."""

import json
from pathlib import Path

import pytest

from bridge_client import settings
from bridge_client.errors import SettingsError

KEY = "abk_0123456789_" + "s" * 40
ENVIRONMENT = {"ASK_BRIDGE_URL": "https://env.test", "ASK_BRIDGE_KEY": KEY, "ASK_BRIDGE_ROOM": "env-room"}


def store(folder: Path, mode: int = 0o600, **values: object) -> str:
    path = folder / "ask-bridge" / "config.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values))
    path.chmod(mode)
    return str(path)


def test_flags_come_before_the_environment_before_the_file(tmp_path: Path) -> None:
    store(tmp_path, url="https://file.test", key=KEY, room="file-room")
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "ASK_BRIDGE_URL": "https://env.test"}
    assert settings.load(environ=environment).url == "https://env.test"
    assert settings.load(environ=environment).room == "file-room"
    assert settings.load(url="https://flag.test", environ=environment).url == "https://flag.test"


def test_the_file_is_in_the_home_folder_by_default(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert settings.config_path({}) == str(tmp_path / ".config" / "ask-bridge" / "config.json")
    assert settings.config_path({"XDG_CONFIG_HOME": "/x"}) == "/x/ask-bridge/config.json"
    assert settings.config_path({"XDG_CONFIG_HOME": "/x", "ASK_BRIDGE_CONFIG": "/y"}) == "/y"


def test_another_file_can_be_named(tmp_path: Path) -> None:
    path = store(tmp_path, url="https://file.test", key=KEY, room="file-room")
    assert settings.load(environ={"ASK_BRIDGE_CONFIG": path}).room == "file-room"
    assert settings.load(config=path, environ={}).room == "file-room"


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        settings.load(config=str(tmp_path / "none.json"), environ={})


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_file_that_others_can_read_is_refused_with_the_fix(tmp_path: Path, mode: int) -> None:
    path = store(tmp_path, mode, url="https://file.test", key=KEY, room="r")
    with pytest.raises(SettingsError, match=f"chmod 600 {path}") as refused:
        settings.load(config=path, environ={})
    assert KEY not in str(refused.value)


def test_a_file_that_is_not_needed_is_not_read(tmp_path: Path) -> None:
    store(tmp_path, 0o644, url="x")
    environment = {**ENVIRONMENT, "ASK_BRIDGE_CARE": "{}", "XDG_CONFIG_HOME": str(tmp_path)}
    assert settings.load(environ=environment).room == "env-room"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"url": 7}'])
def test_a_broken_file_is_an_error(tmp_path: Path, text: str) -> None:
    path = Path(store(tmp_path))
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"config\.json"):
        settings.load(config=str(path), environ={})


def test_missing_settings_are_named_with_the_ways_to_set_them(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    with pytest.raises(SettingsError) as missing:
        settings.load(environ=environment)
    for word in ("--url", "ASK_BRIDGE_URL", "--key", "ASK_BRIDGE_KEY", "--room", "ASK_BRIDGE_ROOM"):
        assert word in str(missing.value)
    assert str(tmp_path) in str(missing.value)


def test_some_commands_need_no_room() -> None:
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "ASK_BRIDGE_ROOM"}
    assert settings.load(environ={**environment, "HOME": "/"}, needs_room=False).room == ""


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://portal.test/tools/ask/", "https://portal.test/tools/ask"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        (" https://portal.test/ ", "https://portal.test"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
    ],
)
def test_an_address_may_have_a_prefix_and_a_slash_at_the_end(given: str, kept: str) -> None:
    assert settings.load(url=given, environ=ENVIRONMENT).url == kept


@pytest.mark.parametrize(
    "url", ["portal.test", "ftp://portal.test", "https://", "http://x:port/", "https://a:b@x/", "http://x/?q"]
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="bridge's address"):
        settings.load(url=url, environ=ENVIRONMENT)


@pytest.mark.parametrize("key", ["secret", "abk_x\r\nX-Evil: 1", "Bearer abk_x", "abk_ä"])
def test_an_invalid_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(SettingsError, match="abk_") as refused:
        settings.load(key=key, environ=ENVIRONMENT)
    assert key not in str(refused.value)


def test_the_key_is_not_in_the_representation() -> None:
    assert KEY not in repr(settings.load(environ=ENVIRONMENT))


def test_stored_settings_are_private_and_keep_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.json"
    settings.store({"url": "https://a.test", "key": KEY}, str(path))
    settings.store({"room": "ops"}, str(path))
    assert json.loads(path.read_text()) == {"url": "https://a.test", "key": KEY, "room": "ops"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_care_comes_from_the_environment_before_the_file(tmp_path: Path) -> None:
    store(tmp_path, care={"votes": 2})
    environment = {**ENVIRONMENT, "XDG_CONFIG_HOME": str(tmp_path)}
    assert settings.load(environ=environment).care == {"votes": 2}
    environment["ASK_BRIDGE_CARE"] = '{"first": "ana"}'
    assert settings.load(environ=environment).care == {"first": "ana"}
    environment["ASK_BRIDGE_CARE"] = "{}"  # no care, although the file has some
    assert settings.load(environ=environment).care == {}


def test_without_care_there_is_none(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "ASK_BRIDGE_CARE": " ", "XDG_CONFIG_HOME": str(tmp_path)}
    assert settings.load(environ=environment).care is None


@pytest.mark.parametrize("text", ["2", "votes: 2", "null", '["ana"]', "[" * 100_000])
def test_care_that_is_no_object_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SettingsError, match=r"ASK_BRIDGE_CARE has to be a JSON object such as"):
        settings.load(environ={**ENVIRONMENT, "ASK_BRIDGE_CARE": text})


def test_care_of_the_file_that_is_no_object_is_refused_with_its_place(tmp_path: Path) -> None:
    path = store(tmp_path, care=2)
    with pytest.raises(SettingsError, match=f'"care" in {path} has to be a JSON object'):
        settings.load(environ={**ENVIRONMENT, "ASK_BRIDGE_CONFIG": path})
