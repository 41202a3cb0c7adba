"""Drives Chromium for mod.rs: reads commands from stdin and writes results to stdout, one JSON object per line.

The first line has the options of the browser:

    {"proxy": URL or null, "flags": [FLAG, ...]}

All requests go to the proxy if there is one. The next lines are commands:

    {"open": URL, "width": 1000, "height": 700, "scale": 1, "screenshot": FILE or null}
        Opens the URL in a new tab with an empty profile, scrolls through the page, waits until everything is loaded, and
        saves a screenshot of the whole page. The result has the requests and the messages of the console.
    {"evaluate": EXPRESSION}
        The result has the value of a JavaScript expression in that page.
"""

import faulthandler
import json
import sys
import time

from playwright.sync_api import Error, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Frames of other hosts in processes of their own are blurred at two device pixels per CSS pixel.
    "--disable-site-isolation-trials",
]
# Seconds that a command, the start or the end of the browser may take.
MAX_COMMAND = 100
# Seconds until a page must be loaded, and seconds without a request after which it is loaded.
MAX_LOAD = 60
QUIET = 0.3

# Scrolls through the page, so that lazy images are requested.
SCROLL = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight) {
        scrollTo(0, top);
        await frame();
    }
    scrollTo(0, 0);
    await frame();
}"""
LOADED = """async () => {
    await document.fonts.ready;
    // A lazy image outside the window of a frame is never decoded.
    const images = Array.from(document.images).filter((image) => image.complete);
    await Promise.allSettled(images.map((image) => image.decode()));
}"""


class Tab:
    """A page with a profile of its own, and everything that it requested."""

    def __init__(self, browser, width, height, scale):
        self.width = width
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=scale,
            reduced_motion="reduce",
        )
        self.requests, self.console, self.entries, self.pending = [], [], {}, set()
        self.last_request = time.monotonic()
        self.context.on("request", self.on_request)
        self.context.on("response", lambda response: self.update(response.request, status=response.status))
        self.context.on("requestfinished", lambda request: self.pending.discard(request))
        self.context.on("requestfailed", self.on_failure)
        self.context.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        self.context.on("weberror", lambda error: self.console.append(f"exception: {error.error}"))
        self.page = self.context.new_page()
        self.page.set_default_timeout(MAX_LOAD * 1000)

    def on_request(self, request):
        self.last_request = time.monotonic()
        self.pending.add(request)
        self.entries[request] = {"url": request.url, "kind": request.resource_type, "status": None, "failure": None}
        self.requests.append(self.entries[request])

    def on_failure(self, request):
        self.pending.discard(request)
        self.update(request, failure=request.failure)

    def update(self, request, **fields):
        self.entries[request].update(fields)

    def wait_until_quiet(self):
        """Waits until every request has ended and no new one began for a while. Playwright's own `networkidle` does not
        occur in a page whose requests the browser refuses."""
        deadline = time.monotonic() + MAX_LOAD
        while self.pending or time.monotonic() - self.last_request < QUIET:
            if time.monotonic() > deadline:
                raise Error("these requests do not end: " + " ".join(request.url for request in self.pending))
            self.page.wait_for_timeout(20)

    def open(self, url, screenshot):
        self.page.goto(url, wait_until="load")
        self.page.evaluate(SCROLL)
        self.wait_until_quiet()
        # The window becomes as tall as the page: a screenshot beyond the window would lack the frames of other hosts.
        height = self.page.evaluate("document.documentElement.scrollHeight")
        self.page.set_viewport_size({"width": self.width, "height": height})
        self.wait_until_quiet()
        for frame in self.page.frames:
            frame.evaluate(LOADED)
        if screenshot:
            self.page.screenshot(path=screenshot, animations="disabled")
        return {"requests": self.requests, "console": self.console}


def run(browser, commands):
    tab = None
    for line in commands:
        command = json.loads(line)
        limit_time()
        try:
            if "open" in command:
                if tab:
                    tab.context.close()
                tab = Tab(browser, command["width"], command["height"], command["scale"])
                result = tab.open(command["open"], command["screenshot"])
            else:
                result = {"value": tab.page.evaluate(command["evaluate"])}
        except Error as error:
            result = {"error": str(error)}
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(result), flush=True)


def limit_time():
    """Ends the driver with a stack trace after a while, unless it is called again or cancelled before."""
    faulthandler.dump_traceback_later(MAX_COMMAND, exit=True)


def main():
    options = json.loads(sys.stdin.readline())
    limit_time()
    with sync_playwright() as playwright:
        proxy = {"server": options["proxy"]} if options["proxy"] else None
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS + options["flags"], proxy=proxy)
        faulthandler.cancel_dump_traceback_later()
        run(browser, sys.stdin)
        limit_time()
        browser.close()


if __name__ == "__main__":
    main()
