"""Open the built site in Chromium: widths, requests, scripts and the search.

Run ``make docs`` before. Screenshots of a few pages, at the width of a desktop and of a phone, are
written to ``results/site``; the search must find what a reader would ask for.
"""

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, TimeoutError, sync_playwright

ROOT = Path(__file__).parent.parent
SITE, SHOTS = ROOT / "docs" / "_build" / "html", ROOT / "results" / "site"
WIDTHS = (1280, 390)
PAGES = (
    "index.html",
    "start/table.html",
    "choosing.html",
    "guide/index.html",
    "guide/lmnn.html",
    "guide/ridge.html",
    "auto_examples/index.html",
    "auto_examples/plot_21_lmnn_parameters.html",
    "reference.html",
    "project/security.html",
)
SEARCHES = ("imbalance", "DTW", "pgvector")


class QuietHandler(SimpleHTTPRequestHandler):
    """A file server that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Ignore the message."""


def main() -> None:
    """Check the site; exit with an error that lists the problems."""
    if not (SITE / "index.html").exists():
        raise SystemExit(f"{SITE.relative_to(ROOT)} has no site: run make docs first.")
    SHOTS.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        problems: list[str] = []
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            watch(page, address, problems)
            for name in PAGES:
                problems += look(page, address, name, width)
        problems += search(page, address)
        browser.close()
    server.shutdown()
    if problems:
        raise SystemExit("\n".join(dict.fromkeys(problems)))
    print(f"site-check: all right; screenshots are in {SHOTS.relative_to(ROOT)}")


def watch(page: Page, address: str, problems: list[str]) -> None:
    """Collect failed requests, requests to other hosts, and errors of scripts."""
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    page.on(
        "response",
        lambda answer: answer.status >= 400 and problems.append(f"{answer.status} {answer.url}"),
    )
    page.on(
        "request",
        lambda request: (
            request.url.startswith(("http", "ws"))
            and not request.url.startswith(address)
            and problems.append(f"{page.url} loads {request.url}")
        ),
    )


def look(page: Page, address: str, name: str, width: int) -> list[str]:
    """Take a screenshot of a page, and return whether it is wider than the window."""
    page.goto(f"{address}/{name}", wait_until="load")
    shot = SHOTS / f"{name.removesuffix('.html').replace('/', '-')}-{width}.png"
    page.screenshot(path=shot)
    excess = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return [f"{name} is {excess} pixels wider than {width}"] if excess > 0 else []


def search(page: Page, address: str) -> list[str]:
    """Return the words that the search does not find."""
    lost = []
    for word in SEARCHES:
        page.goto(f"{address}/search.html?q={word}")
        try:
            page.wait_for_selector("#search-results li a", timeout=20_000)
            found = page.locator("#search-results li a").first.inner_text()
            print(f"search for {word}: {page.locator('#search-results li').count()}, {found}")
        except TimeoutError:
            lost.append(f"the search does not find {word}")
    return lost


if __name__ == "__main__":
    main()
