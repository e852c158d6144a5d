"""The user's own settings file, which is weaker than that of a folder and may set everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from echoless.core.errors import InputError
from echoless.core.settings import Choices, layered

SENDS_TEXTS = 'verifier = "openai:small@http://127.0.0.1:9/v1"\n'


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "config"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(folder))
    return folder / "echoless.toml"


def write(path: Path, text: str, mode: int = 0o600) -> None:
    path.write_text(text)
    path.chmod(mode)


def test_the_file_of_the_folder_goes_before_that_of_the_user(tmp_path: Path, users: Path) -> None:
    write(users, 'survivor = "oldest"\nlimit = 7\nnamespace = "own"\n')
    write(tmp_path / "echoless.toml", 'survivor = "newest"\nnamespace = "project"\n')
    chosen = layered(
        Choices(), folder=tmp_path, environment={"ECHOLESS_NAMESPACE": "of the environment"}
    )
    assert (chosen.survivor, chosen.limit, chosen.namespace) == ("newest", 7, "of the environment")


def test_the_file_of_the_user_may_set_all_and_its_addresses_are_as_typed(
    tmp_path: Path, users: Path
) -> None:
    write(users, SENDS_TEXTS + "questions = 3\n")
    chosen = layered(Choices(), folder=tmp_path, environment={})
    assert (chosen.verifier, chosen.questions) == ("openai:small@http://127.0.0.1:9/v1", 3)


def test_in_a_file_that_others_may_change_a_key_that_is_not_harmless_is_refused(
    tmp_path: Path, users: Path
) -> None:
    write(users, f'{SENDS_TEXTS}survivor = "oldest"\n', 0o666)
    with pytest.raises(InputError, match=rf"{users} is not obeyed.*'verifier'.*chmod go-w {users}"):
        layered(Choices(), folder=tmp_path, environment={})
    chosen = layered(Choices(verifier="none"), folder=tmp_path, environment={})
    assert (chosen.verifier, chosen.survivor) == ("none", "oldest")


def test_a_folder_that_others_may_change_counts_as_its_file_does(
    tmp_path: Path, users: Path
) -> None:
    write(users, SENDS_TEXTS)
    users.parent.chmod(0o777)
    with pytest.raises(InputError, match=f"others may write to {users.parent}"):
        layered(Choices(), folder=tmp_path, environment={})


def test_the_file_may_be_a_link_as_tools_for_settings_files_make_them(
    tmp_path: Path, users: Path
) -> None:
    write(tmp_path / "settings of mine.toml", "limit = 4\n")
    users.symlink_to(tmp_path / "settings of mine.toml")
    assert layered(Choices(), folder=tmp_path, environment={}).limit == 4


def test_in_the_folder_of_the_file_it_is_read_once_and_as_the_users_own(users: Path) -> None:
    write(users, SENDS_TEXTS)
    assert layered(Choices(), folder=users.parent, environment={}).verifier is not None


@pytest.mark.parametrize("text", ["limit = ", 'colour = "red"', "limit = true"])
def test_a_broken_file_of_the_user_is_named(tmp_path: Path, users: Path, text: str) -> None:
    write(users, text)
    with pytest.raises(InputError, match=str(users)):
        layered(Choices(), folder=tmp_path, environment={})


def test_no_file_is_read_where_the_environment_says_so(tmp_path: Path, users: Path) -> None:
    write(users, "limit = true")
    assert layered(Choices(), folder=tmp_path, environment={"ECHOLESS_NO_CONFIG": "1"}) == Choices()
