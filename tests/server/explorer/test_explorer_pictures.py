"""Screenshots for the guide: ``LIKEWISE_PICTURES=docs/images pytest -k pictures``."""

import os
from base64 import b64encode
from pathlib import Path

import pytest
from tests.server.explorer.sets import promote_learned, serving, teach, write_set
from tests.server.explorer.visit import LOOKS, Visit

KEPT = Path(os.environ.get("LIKEWISE_PICTURES", "results"))
pytestmark = pytest.mark.skipif(
    "LIKEWISE_PICTURES" not in os.environ, reason="LIKEWISE_PICTURES names no folder for pictures"
)
MOST_BYTES = 150_000
WIDE = {"width": 1180, "height": 790}
TAUGHT = {"digits": 600, "wines": 160}


@pytest.fixture(scope="module")
def taught(browser, zygote, tmp_path_factory):
    """Serve digits and wines that were taught enough to see it."""
    folder = tmp_path_factory.mktemp("pictured")
    with (
        _served(zygote, "digits", folder) as digits,
        _served(zygote, "wines", folder) as wines,
    ):
        yield {"digits": digits, "wines": wines}


class _served:
    def __init__(self, zygote, name, folder):
        self._name, self._set = name, write_set(name, folder)
        self._server = serving(zygote, name, folder)

    def __enter__(self):
        server = self._server.__enter__()
        teach(server, *self._set, TAUGHT[self._name])
        promote_learned(server)
        return server

    def __exit__(self, *error):
        self._server.__exit__(*error)


def _keep(name, page):
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"explorer-{name}.png"
    page.screenshot(path=path)
    assert 5_000 < path.stat().st_size < MOST_BYTES


def _most_helped(server):
    """Return the item that gained most neighbors of its own label: there is something to see."""
    with server.client() as client:
        items = [item for after in (0, 200) for item in client.items(after, 200).items]
        label = {item.id: item.label for item in items}

        def fitting(name, version):
            found = client.search(id=name, version=version).matches
            return sum(label[match.id] == label[name] for match in found)

        return max(list(label)[:100], key=lambda name: fitting(name, None) - fitting(name, 1))


def test_pictures_of_every_page(browser, taught):
    with Visit(browser, taught["digits"], color_scheme="light", viewport=WIDE) as visit:
        page = visit.open(f"neighbors/{_most_helped(taught['digits'])}")
        page.locator(".side.after .near button").first.click()
        page.wait_for_selector(".why")
        _keep("neighbors", page)
        page = visit.open("teach")
        for key in ("ArrowLeft", "ArrowRight", "ArrowLeft"):
            page.keyboard.press(key)
            page.wait_for_timeout(400)
        page.wait_for_selector("aside .chart")
        _keep("teach", page)
        page = visit.open("map")
        page.locator("canvas.plane").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".over img")
        _keep("map", page)
        page = visit.open("quality")
        page.wait_for_selector(".triplet")
        _keep("quality", page)
        _keep("models", visit.open("models"))
    dark = {"color_scheme": "dark", "viewport": {**WIDE, "height": 880}}
    with Visit(browser, taught["wines"], **dark) as visit:
        _keep("teach-rows", visit.open("teach", "aside .chart"))


def test_pictures_on_a_phone(browser, taught):
    shots = []
    with Visit(browser, taught["digits"], **LOOKS["phone"]) as visit:
        for route in ("neighbors", "teach", "models"):
            page = visit.open(route)
            page.wait_for_load_state("networkidle")
            shots.append(b64encode(page.screenshot()).decode())
    row = "".join(f"<img src='data:image/png;base64,{shot}' width=270>" for shot in shots)
    page = browser.new_page(viewport={"width": 870, "height": 625})
    page.set_content(f"<body style='margin:20px;display:flex;gap:10px'>{row}")
    page.wait_for_function("[...document.images].every(image => image.complete)")
    _keep("phone", page)
    page.close()
