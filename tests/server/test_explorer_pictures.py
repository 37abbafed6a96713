"""Pictures of the explorer, kept in ``results/``.

Those of the guide are made anew by ``LIKEWISE_PICTURES=docs/images pytest -k pictures``.
"""

import os
from base64 import b64encode
from pathlib import Path

import pytest
from tests.server.explored import serving, teach, write_set
from tests.server.visit import LOOKS, Visit

KEPT = Path(os.environ.get("LIKEWISE_PICTURES", Path(__file__).parents[2] / "results/explorer"))
MOST_BYTES = 150_000
WIDE = {"width": 1180, "height": 790}
TAUGHT = {"digits": 600, "wines": 160}


@pytest.fixture(scope="module")
def taught(browser, tmp_path_factory):
    """Serve digits and wines that were taught enough to see it."""
    folder = tmp_path_factory.mktemp("pictured")
    with (
        _served("digits", folder) as digits,
        _served("wines", folder) as wines,
    ):
        yield {"digits": digits, "wines": wines}


class _served:
    def __init__(self, name, folder):
        self._name, self._set = name, write_set(name, folder)
        self._server = serving(name, folder)

    def __enter__(self):
        server = self._server.__enter__()
        teach(server, *self._set, TAUGHT[self._name])
        return server

    def __exit__(self, *error):
        self._server.__exit__(*error)


def _keep(name, page):
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"explorer-{name}.png"
    page.screenshot(path=path)
    assert 5_000 < path.stat().st_size < MOST_BYTES


def test_pictures_of_every_page(browser, taught):
    with Visit(browser, taught["digits"], color_scheme="light", viewport=WIDE) as visit:
        page = visit.open("neighbours/digit-003")
        page.locator(".side.after .near button").first.click()
        page.wait_for_selector(".why")
        _keep("neighbours", page)
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
    dark = {"color_scheme": "dark", "viewport": WIDE}
    with Visit(browser, taught["wines"], **dark) as visit:
        _keep("teach-rows", visit.open("teach", "aside .chart"))


def test_pictures_on_a_phone(browser, taught):
    shots = []
    with Visit(browser, taught["digits"], **LOOKS["phone"]) as visit:
        for route in ("neighbours", "teach", "models"):
            page = visit.open(route)
            page.wait_for_load_state("networkidle")
            shots.append(b64encode(page.screenshot()).decode())
    row = "".join(f"<img src='data:image/png;base64,{shot}' width=270>" for shot in shots)
    page = browser.new_page(viewport={"width": 870, "height": 625})
    page.set_content(f"<body style='margin:20px;display:flex;gap:10px'>{row}")
    page.wait_for_function("[...document.images].every(image => image.complete)")
    _keep("phone", page)
    page.close()
