"""The Dockerfile and the compose file name only what exists, and recipes have code.

``make container-check`` and ``make recipes`` run them in environments of their own.
"""

import json
import re
import shlex
import tomllib
from inspect import signature
from pathlib import Path
from typing import get_args

import pytest
import yaml
from tools import recipes
from tools.container_check import instructions

from likewise.cli._serve import command

ROOT = Path(__file__).parent.parent
STEPS = list(instructions((ROOT / "Dockerfile").read_text()))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
OPTIONS = {f"--{name.replace('_', '-')}" for name in signature(command).parameters}
VARIABLES = {
    found.envvar
    for parameter in signature(command).parameters.values()
    for found in get_args(parameter.annotation)
    if getattr(found, "envvar", None)
}


def step(name):
    return [arguments for found, arguments in STEPS if found == name]


def options_of(words):
    return {word for word in words if word.startswith("--")}


def test_every_copied_path_exists_and_is_sent_to_the_build():
    sent = [
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    copied = [
        source
        for arguments in step("COPY")
        if not arguments.startswith("--from")
        for source in arguments.split()[:-1]
    ]
    assert set(copied) == set(sent)
    assert all((ROOT / source).exists() for source in copied)
    # What hatchling needs for a wheel.
    assert {"pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]} <= set(copied)


def test_every_extra_exists_and_has_what_the_command_uses():
    (install,) = (line for line in step("RUN") if "pip install" in line)
    extras = set(re.search(r"\.\[([a-z,]+)\]", install)[1].split(","))
    assert extras <= set(PROJECT["optional-dependencies"])
    assert {"server", "pgvector"} <= extras


def test_the_commands_are_programs_and_options_of_ours():
    (entry,), (default,) = (map(json.loads, step(name)) for name in ("ENTRYPOINT", "CMD"))
    assert entry == ["likewise", "serve"]
    assert entry[0] in PROJECT["scripts"]
    commands = [default, COMPOSE["services"]["server"]["command"]]
    for words in commands:
        assert options_of(words) <= OPTIONS
        assert words[0] == "/data/model.safetensors"
    (warmup,) = (line for line in step("RUN") if line.startswith("likewise"))
    assert shlex.split(warmup)[:2] == ["likewise", "warmup"]
    assert step("USER") == ["likewise"]


def test_stages_and_paths_fit_together():
    stages = re.findall(r" AS (\w+)", " ".join(f" {line}" for line in step("FROM")))
    used = re.findall(r"--from=(\w+)", " ".join(step("COPY")))
    assert set(used) <= set(stages)
    assert len({line.split()[0] for line in step("FROM")}) == 1  # the same Python builds and runs
    (health,) = step("HEALTHCHECK")
    ports = set(re.findall(r":(\d{4})/", health)) | set(step("EXPOSE"))
    assert ports == {str(signature(command).parameters["port"].default)}
    healthy = json.loads(health.partition("CMD ")[2])
    compile(healthy[2], "health", "exec")


def test_the_services_depend_on_what_is_there():
    services = COMPOSE["services"]
    server, database = services["server"], services["database"]
    assert set(server["depends_on"]) <= set(services)
    assert database["healthcheck"]["test"][0] == "CMD"
    assert (ROOT / server["build"] / "Dockerfile").exists()
    named = {v.partition(":")[0] for v in database["volumes"] if not v.startswith((".", "/"))}
    assert named == set(COMPOSE["volumes"])
    assert set(server["environment"]) <= VARIABLES
    assert "@database/" in server["environment"]["LIKEWISE_STORE"]
    assert "pgvector" in database["image"]
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])  # a proxy serves others


@pytest.mark.parametrize("name", recipes.NAMES)
def test_the_recipes_have_the_code_that_make_recipes_runs(name):
    code = recipes.code_of(name)
    compile(code, name, "exec")
    assert "class LikewiseRetriever(BaseRetriever)" in code
