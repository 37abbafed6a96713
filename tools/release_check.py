"""Build the distributions, and use the wheel as a user without a clone would.

The wheel is installed into an empty environment, outside the repository, and the code of README
runs there. No file of the tests, the research code or the data may be inside the wheel.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Beside modules, the package has typing information, the pages of the server, and templates.
SHIPPED = {".py", ".typed", ".html", ".css", ".js", ".svg"}
FOREIGN = re.compile(
    r"(^|/)(tests?|benchmarks|reproduce|tools|docs|changes|data|conftest\.py)(/|$)"
)
SDIST = ("pyproject.toml", "README.md", "LICENSE", "src/likewise/py.typed", "conftest.py", "tests")


def main() -> None:
    """Check the distributions of the working tree; exit with an error at the first problem."""
    with tempfile.TemporaryDirectory(prefix="likewise-release-") as folder:
        sdist, wheel = build(Path(folder))
        check_wheel(wheel)
        check_sdist(sdist)
        run_readme(wheel, Path(folder))
    print("release-check: all right")


def build(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the source distribution and of the wheel that is built from it."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    (wheel,) = (folder / "dist").glob("*.whl")
    return sdist, wheel


def check_wheel(wheel: Path) -> None:
    """Raise if the wheel has files that users do not need, or lacks some that they do."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    foreign = foreign_files(names)
    if foreign:
        raise SystemExit(f"{wheel.name} has files that are not for users: {', '.join(foreign)}")
    wanted = {str(path.relative_to(ROOT / "src")) for path in tracked_sources()}
    if missing := sorted(wanted - set(names)):
        raise SystemExit(f"{wheel.name} lacks {', '.join(missing)}")
    print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1e6:.1f} MB")


def foreign_files(names: list[str]) -> list[str]:
    """Return the names of files that do not belong into the wheel."""
    return [
        name
        for name in names
        if not name.startswith("likewise/")
        or FOREIGN.search(name)
        or Path(name).suffix not in SHIPPED
        or "__pycache__" in name
    ]


def tracked_sources() -> list[Path]:
    """Return the files of the package that are under version control."""
    command = ["git", "ls-files", "-z", "src/likewise"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def check_sdist(sdist: Path) -> None:
    """Raise if the source distribution lacks what is needed to build and to test."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = {name.partition("/")[0] for name in names}
    if missing := [name for name in SDIST if name not in names | folders]:
        raise SystemExit(f"{sdist.name} lacks {', '.join(missing)}")
    print(f"{sdist.name}: {len(names)} files, {sdist.stat().st_size / 1e6:.1f} MB")


def run_readme(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment, and run the code of README there."""
    venv.create(folder / "venv", with_pip=True)
    scripts = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = shutil.which("python", path=str(scripts))
    if python is None:
        raise SystemExit(f"there is no python in {scripts}")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, str(wheel)], check=True)
    program = folder / "readme.py"
    program.write_text(code_of((ROOT / "README.md").read_text(encoding="utf8")), encoding="utf8")
    subprocess.run([python, "-W", "error", str(program)], check=True, cwd=folder)
    print("README: its code runs with the installed wheel")
    subprocess.run([*install, f"{wheel}[cli]"], check=True)
    subprocess.run([python, "-m", "likewise", "learners"], check=True, cwd=folder)


def code_of(page: str) -> str:
    """Return the Python blocks of a page as one program."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    return "\n".join(blocks)


if __name__ == "__main__":
    main()
