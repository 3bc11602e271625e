"""Checks for every page that the package writes, on every screen."""

from __future__ import annotations

import pytest

axe_module = pytest.importorskip("axe_playwright_python.sync_playwright")

PHONE = (390, 844)
SCREENS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "size": PHONE, "has_touch": True},
}


def violations(page):
    """Return the rules of accessibility that an open page breaks, with the first places."""
    found = axe_module.Axe().run(page).response["violations"]
    return [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found]


def check_all_details(page):
    """Open all details of a page. It must be accessible and fit the screen."""
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # A shadow marks a table that is wider than the screen.
    cut = "e => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === 'auto'"
    hint = "e => getComputedStyle(e).backgroundImage.includes('gradient')"
    assert page.evaluate(f"[...document.querySelectorAll('*')].filter({cut}).every({hint})")
