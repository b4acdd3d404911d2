"""Call variables: how `${name}` in arguments is expanded, and the files with their values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSON, ExactNumber
from inspector.config.calls.variables import (
    UnknownVariables,
    Variables,
    VariablesFile,
    escape,
    expand,
    expand_object,
    is_reference,
    names_in,
)

SOME = Variables({"n": 7, "name": "Ada", "list": [1, 2], "nothing": None, "cost": ExactNumber("1.10")})


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("${n}", 7),
        ("${name}", "Ada"),
        ("${list}", [1, 2]),
        ("${nothing}", None),
        ("page ${n}", "page 7"),
        ("${name}${n}", "Ada7"),
        ("${list} at ${cost}", "[1,2] at 1.10"),
        ("$${n}", "${n}"),
        ("$$${n}", "$${n}"),
        ("$n {n} $ {n}", "$n {n} $ {n}"),
        ("${}", "${}"),
        ("${a b}", "${a b}"),
        ("${n", "${n"),
        ({"deep": ["${n}", {"${n}": "x"}]}, {"deep": [7, {"${n}": "x"}]}),
    ],
)
def test_template_expands_to_the_sent_value(written: JSON, sent: JSON) -> None:
    assert expand(written, SOME) == sent


def test_a_number_is_sent_as_it_is_written_in_the_file() -> None:
    sent = expand("${cost}", SOME)
    assert isinstance(sent, ExactNumber)
    assert sent.text == "1.10"


def test_all_unknown_names_are_listed_and_nothing_is_expanded() -> None:
    with pytest.raises(
        UnknownVariables, match=r"\$\{a\}, \$\{b\} have no value, so nothing was sent"
    ) as caught:
        expand(["${a} ${n}", "${b}", "${a}"], SOME)
    assert caught.value.names == ("a", "b")


def test_environment_contains_only_allowed_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s")
    with pytest.raises(UnknownVariables, match=r"Allow the environment variable"):
        expand("${env:SECRET}", Variables({"SECRET": "x", "env:SECRET": "y"}))
    assert expand("${env:SECRET}", Variables(environment={"SECRET": "s"})) == "s"


def test_values_are_not_expanded_recursively() -> None:
    assert expand("${a}", Variables({"a": "${b}${a}", "b": "no"})) == "${b}${a}"


@given(st.text(alphabet="${}abn:\\"))
def test_escaped_text_is_sent_literally(text: str) -> None:
    assert expand(escape(text), Variables()) == text


@given(st.text(alphabet="${}abn"))
def test_text_without_variables_is_sent_unchanged_except_for_escapes(text: str) -> None:
    if not names_in(text):
        assert expand(text, Variables()) == text.replace("$${", "${")


def test_names_are_found_in_order_at_any_depth() -> None:
    deep: JSON = ["${inner}"]
    for _ in range(5_000):
        deep = [deep]
    assert names_in({"a": "${x} $${no} ${env:Y}", "b": deep}) == ("x", "env:Y", "inner")
    with pytest.raises(UserError, match="nested too deeply"):
        expand(deep, Variables({"inner": 1}))


def test_only_a_variable_alone_is_a_reference() -> None:
    assert is_reference("${n}")
    assert not any(map(is_reference, ["${n} ", "$${n}", "n", 7, None]))


def test_arguments_stay_an_object() -> None:
    assert expand_object({"a": "${n}"}, SOME) == {"a": 7}


def test_folder_values_round_trip_and_local_ones_win(tmp_path: Path) -> None:
    (tmp_path / "variables.json").write_text('{"a": 1, "b": {"x": 2}}')
    (tmp_path / "variables.local.json").write_text('{"a": "mine"}')
    assert VariablesFile(tmp_path).load() == ({"a": "mine", "b": {"x": 2}}, [])


def test_changed_value_stays_in_its_file(tmp_path: Path) -> None:
    (tmp_path / "variables.local.json").write_text('{"token": "old"}')
    file = VariablesFile(tmp_path)
    file.set("token", "new")
    file.set("page", 3)
    assert "token" not in (tmp_path / "variables.json").read_text()
    assert file.load() == ({"page": 3, "token": "new"}, [])
    file.remove("token")
    file.remove("page")
    assert file.load() == ({}, [])


def test_errors_are_reported_and_the_rest_is_used(tmp_path: Path) -> None:
    (tmp_path / "variables.json").write_text('{"good": 1, "not good": 2}')
    (tmp_path / "variables.local.json").write_text("{ mine")
    values, problems = VariablesFile(tmp_path).load()
    assert values == {"good": 1}
    assert len(problems) == 2
    assert "'not good' is not a valid variable name" in problems[0]
    assert "not valid JSON" in problems[1]


def test_broken_file_is_not_overwritten_and_invalid_names_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "variables.json"
    path.write_text("{ mine")
    with pytest.raises(ConfigError, match="not valid JSON"):
        VariablesFile(tmp_path).set("a", 1)
    with pytest.raises(ConfigError, match="is not a valid variable name"):
        VariablesFile(tmp_path).set("env:HOME", 1)
    assert path.read_text() == "{ mine"
