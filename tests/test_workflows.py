"""The workflows of continuous integration are valid, and call commands that exist."""

import re
import tomllib
from itertools import chain

import pytest
import yaml
from tools.install_lines import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf8"), re.MULTILINE)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


class StrictLoader(yaml.SafeLoader):
    """A loader that refuses repeated keys, as GitHub does."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if repeated := sorted({str(key) for key in keys if keys.count(key) > 1}):
            raise ValueError(f"line {node.start_mark.line + 1} repeats {', '.join(repeated)}")
        return super().construct_mapping(node, deep)


def parsed(path):
    return yaml.load(path.read_text(encoding="utf8"), StrictLoader)


def jobs_of(name):
    return parsed(ROOT / ".github" / "workflows" / name)["jobs"]


def commands(jobs):
    """Return the commands of jobs, a line each."""
    steps = chain.from_iterable(job["steps"] for job in jobs.values())
    return [line for step in steps for line in step.get("run", "").splitlines()]


def test_a_repeated_key_is_refused():
    with pytest.raises(ValueError, match="line 1 repeats if"):
        yaml.load("if: a\nruns-on: b\nif: c", StrictLoader)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_commands_that_exist(path):
    jobs = parsed(path)["jobs"]
    assert all(job["runs-on"] and job["steps"] for job in jobs.values())
    for line in commands(jobs):
        for target in re.findall(r"\bmake ([a-z-]+)", line):
            assert target in TARGETS
        for module in re.findall(r"-m (tools\.\w+)", line):
            assert (ROOT / f"{module.replace('.', '/')}.py").exists()


def test_the_tests_run_on_every_declared_version_and_system():
    matrix = jobs_of("ci.yml")["test"]["strategy"]["matrix"]
    prefix = "Programming Language :: Python :: "
    declared = [each.removeprefix(prefix) for each in PROJECT["classifiers"]]
    assert matrix["python"] == [each for each in declared if re.fullmatch(r"3\.\d+", each)]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    oldest = jobs_of("ci.yml")["lowest"]["steps"][1]["with"]["python-version"]
    assert PROJECT["requires-python"] == f">={oldest}"


def test_every_check_of_the_project_has_a_job():
    called = " ".join(commands(jobs_of("ci.yml")))
    for target in ("lint", "lowest", "coverage", "docs", "linkcheck", "release-check"):
        assert f"make {target}" in called
    assert "numpy scipy scikit-learn" in " ".join(commands({"": jobs_of("ci.yml")["nightly"]}))


def test_a_tag_publishes_what_was_checked_without_a_stored_token():
    workflow = parsed(ROOT / ".github" / "workflows" / "release.yml")
    assert workflow[True]["push"] == {"tags": ["v*"]}  # YAML 1.1 reads "on" as true
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert "make release-check" in commands({"": build})
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "release"
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf8")
    assert "secrets." not in text


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml", "config.yml"])
def test_issue_templates_are_valid(name):
    template = parsed(ROOT / ".github" / "ISSUE_TEMPLATE" / name)
    assert "contact_links" in template if name == "config.yml" else template["body"]


def test_a_commit_runs_the_linters_of_continuous_integration():
    hooks = parsed(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf8")
    linters = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    for hook in hooks:
        command = hook["entry"].removeprefix(".venv/bin/").split(" --")[0]
        assert f"$(BIN)/{command}" in linters
    assert len(hooks) == len(linters.splitlines())
