"""Takes the picture of kt-studio on the first page.

    python docs/site/studio_picture.py http://localhost:8600 docs/studio.png

It needs playwright and Chromium, and waits until the studio runs.
"""

import shutil
import sys
import time

from playwright.sync_api import Error
from playwright.sync_api import sync_playwright

SENTENCE = "Tomorrow the old uncle will pick up his sister."
WORD = "Schwester"  # whose alternatives are shown
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main(address, path):
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 900, "height": 480})
        for _ in range(60):
            try:
                page.goto(address)
                break
            except Error:  # nobody listens yet
                time.sleep(1)
        page.get_by_label("Sentence").fill(SENTENCE)
        page.get_by_role("button", name=WORD, exact=True).click(timeout=120_000)
        page.get_by_label("Other words").wait_for()
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
