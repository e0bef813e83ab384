"""Pages in Chromium that may have no fault."""

import contextlib


@contextlib.contextmanager
def watch_pages(chromium, is_expected=lambda message: False):
    """Yields a function that makes a page for an address.

    No page may have an error, open a dialog, ask for another address or log a
    message that is not expected. Options of the page, such as `offline`, are
    those of a context of Playwright.
    """
    contexts, faults = [], []

    def note(message):
        if not is_expected(message):
            faults.append(message.text)

    def make_page(address, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on(
            "request",
            lambda request: (
                request.url.startswith((address, "data:", "blob:"))
                or faults.append(request.url)
            ),
        )
        return page

    yield make_page
    for context in contexts:
        context.close()
    assert not faults
