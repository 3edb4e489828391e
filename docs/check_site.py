"""Open every page of the built site in headless Chromium: no console error, no request beyond the site, no dead link.

Run it with ``make docs-check``. The search is asked for "TCS", which must find the page of the class.
"""

import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

SITE = Path(__file__).parent / "_build" / "html"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that does not log."""

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def served() -> ThreadingHTTPServer:
    """Serve the site on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def dead_links(page_url: str, root: str, links: list[str], anchors: dict[str, set[str]]) -> list[str]:
    """Return the links of a page within the site that lead nowhere."""
    dead = []
    for link in links:
        target, anchor = urldefrag(urljoin(page_url, link))
        if not target.startswith(root):
            continue
        path = unquote(urlsplit(target).path).lstrip("/") or "index.html"
        if not (SITE / path).is_file() or (anchor and path in anchors and unquote(anchor) not in anchors[path]):
            dead.append(f"dead link: {link}")
    return dead


def problems(browser: Any, root: str) -> list[str]:
    """Open all pages and return what is wrong with them."""
    found: list[str] = []
    links: dict[str, list[str]] = {}
    anchors: dict[str, set[str]] = {}
    page = browser.new_page()
    here = ""

    def complain(text: str) -> None:
        found.append(f"{here}: {text}")

    page.on("console", lambda message: complain(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complain(str(error)))
    page.on("response", lambda answer: complain(f"{answer.status}: {answer.url}") if answer.status >= 400 else None)
    page.on("requestfailed", lambda request: complain(f"failed: {request.url}"))
    page.on("request", lambda request: None if request.url.startswith((root, "data:")) else complain(request.url))
    for path in sorted(SITE.rglob("*.html")):
        if "_static" in path.parts:  # templates of the theme
            continue
        here = path.relative_to(SITE).as_posix()
        page.goto(f"{root}/{here}", wait_until="load")
        links[here] = page.eval_on_selector_all("a[href]", "all => all.map(a => a.getAttribute('href'))")
        anchors[here] = set(page.eval_on_selector_all("[id]", "all => all.map(a => a.id)"))
        broken = page.eval_on_selector_all(
            "img", "all => all.filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        )
        found += [f"{here}: picture {source} is not shown" for source in broken]
    for here, targets in links.items():
        found += [f"{here}: {text}" for text in sorted(set(dead_links(f"{root}/{here}", root, targets, anchors)))]
    here = "search for TCS"
    page.goto(f"{root}/search.html?q=TCS")
    page.wait_for_selector("#search-results li a", timeout=30_000)
    page.wait_for_timeout(2_000)
    results = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.getAttribute('href'))")
    if not any("treemend.TCS" in result for result in results):
        complain(f"does not find the class, only {results}")
    print(f"{len(links)} pages, {sum(map(len, links.values()))} links, {len(results)} results of a search for TCS")
    return found


def main() -> int:
    """Check the site; return 1 if anything is wrong."""
    if CHROMIUM is None:
        print("docs-check needs Chromium: apt-get install chromium")
        return 1
    from playwright.sync_api import sync_playwright

    server = served()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        found = problems(browser, f"http://127.0.0.1:{server.server_port}")
        browser.close()
    server.shutdown()
    print(*found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
