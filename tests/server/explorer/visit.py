"""A browser page on the explorer, with its messages and requests."""

PAGES = ("neighbors", "teach", "map", "quality", "models")
READY = {
    "neighbors": ".side.after .near",
    "teach": ".choice.right .pick",
    "map": "canvas.plane",
    "quality": ".outcomes",
    "models": ".versions tbody tr",
}
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 800}},
    "phone": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}

# Each set in one look, and one of them in every look.
SHOWN = [
    *(("digits", look) for look in LOOKS),
    ("sentences", "dark"),
    ("wines", "phone"),
    ("abstracts", "phone"),
]


class Visit:
    """A page, and all that happened on it.

    Requests are intercepted (`page.route`) before the first page is opened: in an open one, those
    sent right after the call may still go to the server.
    """

    def __init__(self, browser, server, **settings):
        self.address = server.address
        self.context = browser.new_context(reduced_motion="reduce", **settings)
        self.page = self.context.new_page()
        self.troubles, self.asked = [], []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("response", self._answered)

    def _answered(self, response):
        if response.status >= 400:
            self.troubles.append(f"{response.status} {response.url}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def open(self, route, ready=None):
        self.page.goto(f"{self.address}/#/{route}")
        self.page.wait_for_selector(ready or READY[route.split("/")[0].split("?")[0]])
        return self.page

    def until(self, expression, argument=None):
        """Wait for a function to be true; the page forbids the eval by which playwright waits."""
        for _ in range(300):
            if self.page.evaluate(expression, argument):
                return
            self.page.wait_for_timeout(50)
        seen = self.page.locator(".notice, .told").all_inner_texts()
        raise AssertionError(f"never true: {expression}; {seen=}, {self.troubles=}")

    def asked_elsewhere(self):
        return [url for url in self.asked if not url.startswith((self.address, "data:", "blob:"))]

    def untroubled(self):
        return self.troubles == [] and self.asked_elsewhere() == []
