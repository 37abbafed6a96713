"""Run the recipes for LangChain and LlamaIndex against a real server.

The code is that of docs/guide/recipes.md. It runs in an environment of its own, ``.venv-recipes``,
with the real packages, which the tests do not install.
"""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guide" / "recipes.md"
ENVIRONMENT = ROOT / ".venv-recipes"
PACKAGES = ("langchain-core>=1.7,<2", "llama-index-core>=0.14,<0.15")
NAMES = ("LangChain", "LlamaIndex")
TEXTS = {
    "boots": "warm boots for snow and winter",
    "rubber": "rubber shoes for rain and wet streets",
    "sandals": "sandals for the beach in summer",
    "umbrella": "an umbrella against rain",
    "cap": "a cap against the sun",
}
# A small encoder instead of a language model: hashed words.
_ENCODER = """
from zlib import crc32
import numpy as np

def encode(texts):
    rows = np.zeros((len(texts), 64))
    for row, text in zip(rows, texts):
        for word in text.lower().split():
            row[crc32(word.encode()) % 64] += 1
    return rows
"""


def code_of(name: str) -> str:
    """Return the code of the section with a heading."""
    section = PAGE.read_text(encoding="utf8").split(f"\n## {name}\n")[1].split("\n## ")[0]
    return "\n".join(re.findall(r"```py\n(.*?)```", section, flags=re.DOTALL))


def main() -> None:
    """Make the environment where it is missing, and run all recipes in it."""
    if "--check" in sys.argv:
        check()
        return
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--editable", f"{ROOT}[server]", *PACKAGES], check=True)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([python, "-m", "tools.recipes", "--check"], cwd=ROOT, env=clean, check=True)


def check() -> None:
    """Run the recipes in this environment; exit with an error at the first problem."""
    from likewise.server import Client

    with serving() as address, Client(address) as client:
        for number, name in enumerate(NAMES):
            recipe: dict[str, Any] = {"address": address}
            exec(compile(code_of(name), f"{PAGE.name}: {name}", "exec"), recipe)
            found = client.search(text="shoes for rain", k=3)
            expected = [(str(match.id), TEXTS[str(match.id)]) for match in found.matches]
            synchronous = [_pair(part) for part in recipe.get("documents") or recipe["nodes"]]
            _equal(synchronous, expected, name)
            _equal(asyncio.run(_asked(recipe["retriever"], "shoes for rain")), expected, name)
            _equal(client.wait(60).applied, 2 * (number + 1), f"comparisons of {name}")
            print(f"{name}: {', '.join(identifier for identifier, _ in synchronous)}")
    print("recipes: all right")


async def _asked(retriever: Any, text: str) -> list[tuple[str, str]]:
    ask = getattr(retriever, "ainvoke", None) or retriever.aretrieve
    return [_pair(part) for part in await ask(text)]


def _pair(part: Any) -> tuple[str, str]:
    """Return the id and the text of a document, or of a node with its score."""
    if hasattr(part, "node"):
        return part.node_id, part.text
    return part.id, part.page_content


def _equal(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        sys.exit(f"{what}: {found} instead of {expected}")


@contextmanager
def serving() -> Iterator[str]:
    """Serve texts that a small encoder encodes, and yield the address."""
    import numpy as np

    import likewise as lw

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lines = ["id,text,price", *(f"{name},{text},10" for name, text in TEXTS.items())]
        (folder / "items.csv").write_text("\n".join(lines) + "\n", encoding="utf8")
        (folder / "hashed_words.py").write_text(_ENCODER, encoding="utf8")
        lw.save(lw.Bilinear(np.eye(64), norm="cosine"), folder / "model.safetensors")
        command = [sys.executable, "-m", "likewise", "serve", str(folder / "model.safetensors")]
        options = ["--items", str(folder / "items.csv"), "--encoder", "hashed_words:encode"]
        with subprocess.Popen(
            [*command, *options, "--port", "0"],
            env={**os.environ, "PYTHONPATH": place},
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            try:
                assert server.stdout is not None
                yield server.stdout.readline().removeprefix("serving at ").strip()
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
