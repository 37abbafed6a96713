"""Run the commands of the Dockerfile without Docker, in a folder with only what it copies.

The packages are installed into a new environment, as the Dockerfile says; then its command serves a
small model and answers a search. The base image and the user are not checked.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
_ENVIRONMENT = "/opt/likewise"
_TOKEN = "a-token-for-this-check"
_MODEL = (
    "import sys; import numpy as np, likewise as lw\n"
    "lw.save(lw.Bilinear(np.eye(2), norm='cosine'), sys.argv[1])\n"
    "import pyarrow, pyarrow.parquet\n"
    "table = pyarrow.table({'id': ['a', 'b', 'c'], 'x': [1.0, 0.9, 0.0], 'y': [0.0, 0.1, 1.0]})\n"
    "pyarrow.parquet.write_table(table, sys.argv[2])\n"
)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield (instruction, arguments) of a Dockerfile, without comments and continued lines."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            yield name.upper(), arguments.strip()


def main() -> None:
    """Install and serve; exit with an error at the first problem."""
    steps = list(instructions((ROOT / "Dockerfile").read_text(encoding="utf8")))
    with tempfile.TemporaryDirectory(prefix="likewise-container-") as place:
        build, environment, data = (Path(place) / name for name in ("build", "opt", "data"))
        build.mkdir()
        data.mkdir()
        for name, arguments in steps:
            if name == "COPY" and not arguments.startswith("--from"):
                *sources, target = arguments.split()
                _copy(sources, build / target)
            elif name == "RUN" and _ENVIRONMENT in arguments:
                command = arguments.replace(_ENVIRONMENT, str(environment))
                print(f"$ {command}", flush=True)
                subprocess.run(shlex.split(command), cwd=build, check=True)
            elif name == "RUN" and arguments.startswith("likewise"):
                print(f"$ {arguments}", flush=True)
                program, *words = shlex.split(arguments)
                subprocess.run([environment / "bin" / program, *words], cwd=build, check=True)
        entry, command = (json.loads(dict(steps)[name]) for name in ("ENTRYPOINT", "CMD"))
        _serve([*entry, *command], environment / "bin", data)
    print("container-check: all right")


def _copy(sources: list[str], target: Path) -> None:
    for source in sources:
        path = ROOT / source
        if path.is_dir():
            shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, target)


def _serve(command: list[str], programs: Path, data: Path) -> None:
    files = [str(data / name) for name in ("model.safetensors", "items.parquet")]
    subprocess.run([programs / "python", "-c", _MODEL, *files], check=True, cwd=data)
    arguments = [word.replace("/data", str(data)) for word in command]
    arguments[0] = str(programs / arguments[0])
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with subprocess.Popen(
        [*arguments, "--port", "0"],
        cwd=data,
        env={**clean, "LIKEWISE_TOKEN": _TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            port = server.stdout.readline().strip().rpartition(":")[2]
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/v1/search",
                json.dumps({"id": "a", "k": 1}).encode(),
                {"content-type": "application/json", "authorization": f"Bearer {_TOKEN}"},
            )
            with urllib.request.urlopen(request, timeout=120) as answer:
                found = json.load(answer)["matches"]
            if [match["id"] for match in found] != ["b"]:
                sys.exit(f"the server found {found} instead of b")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
