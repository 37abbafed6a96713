"""What ``likewise serve`` says before it serves."""

import dataclasses
import socket
from inspect import signature

import numpy as np
import pytest
from typer.testing import CliRunner

import likewise as lw
from likewise.cli._app import app
from likewise.cli._serve import command
from likewise.server import Settings


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    lw.save(lw.Bilinear(np.eye(2)), path)
    return path


def run(*arguments, **environment):
    result = CliRunner(env=environment).invoke(app, ["serve", *map(str, arguments)])
    return result.exit_code, result.stderr


def test_a_host_that_others_reach_needs_a_token(model):
    code, said = run(model, "--host", "0.0.0.0")
    assert (code, "give --token, or set LIKEWISE_TOKEN" in said) == (2, True)
    code, said = run(model, "--host", "0.0.0.0", LIKEWISE_TOKEN="short")
    assert (code, "at least 16 characters, but 5 were given" in said) == (2, True)


def test_a_model_that_is_not_there_is_named(tmp_path):
    code, said = run(tmp_path / "none.safetensors")
    assert (code, "there is no file" in said) == (2, True)


def test_items_that_do_not_fit_are_named(model, tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("id,a,b,c\n1,2,3,4\n")
    code, said = run(model, "--items", items)
    assert (code, "3 features, but the model takes 2" in said) == (1, True)


def test_tables_are_those_of_a_matcher(model, tmp_path):
    table = tmp_path / "left.csv"
    table.write_text("id,name\n1,one\n2,two\n")
    code, said = run(model, "--right", table)
    assert (code, "right needs left, the table of a matcher." in said) == (2, True)
    code, said = run(model, "--left", tmp_path / "none.csv")
    assert (code, "none.csv, but there is no such file." in said) == (2, True)
    code, said = run(model, "--left", table, "--port", 0)
    assert (code, "--left needs a matcher, but" in said) == (1, True)


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--learner", "foo", "--learner must be ridge or aroma, but 'foo' was given."),
        ("--canary", 2, "--canary must be from 0 to below 1, but 2.0 was given."),
        (
            "--forwarded-allow-ips",
            "proxy",
            "--forwarded-allow-ips must be addresses and networks separated by commas, such as "
            "127.0.0.1,10.0.0.0/8, but 'proxy' was given.",
        ),
        ("--feedback-rate", 0, "--feedback-rate must be greater than 0, but 0.0 was given."),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(model, option, value, sentence):
    assert run(model, option, value) == (2, f"error: {sentence}\n")


def test_a_store_of_another_kind_is_refused(model):
    code, said = run(model, "--store", "mysql://here")
    assert (code, "a file or postgresql://" in said) == (1, True)


def test_an_encoder_that_cannot_be_imported_is_named(model):
    code, said = run(model, "--encoder", "no.such.module:encode")
    assert (code, "'no.such.module:encode' cannot be imported" in said) == (1, True)
    code, said = run(model, "--encoder", "encode")
    assert (code, "such as package.module:function" in said) == (2, True)


def test_a_port_that_is_taken_is_named(model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = run(model, "--port", taken.getsockname()[1])
    assert (code, "cannot listen on host 127.0.0.1" in said) == (1, True)


def test_the_command_and_the_settings_have_the_same_defaults():
    given = signature(command).parameters
    for field in dataclasses.fields(Settings):
        if field.name in given and field.name != "model":
            assert given[field.name].default == field.default, field.name
    assert given["r"].default == Settings.r
