"""Where text is."""

from __future__ import annotations

import numpy as np
import pytest

from anyact_server.grounding.screen import models, overlap
from anyact_server.grounding.screen.regions import Detector, find_strips

from .kit import Page, settings_page


@pytest.fixture(scope="module")
def detector() -> Detector:
    return models.Network(models.load_files().detector)


@pytest.mark.parametrize(("ground", "ink"), [("#ffffff", "#202124"), ("#1e1e1e", "#d4d4d4")])
def test_strips_are_set_to_the_ink(detector: Detector, ground: str, ink: str) -> None:
    """On light and dark pages; what stands in columns is divided."""
    page = settings_page(ground, ink)
    strips = find_strips(page.pixels, detector)
    assert len(strips) == 9
    seen = [(float(one.left), float(one.top), float(one.right), float(one.bottom)) for one in strips]
    total = next(box for word, box in page.words if word == "Total")
    assert max(overlap(total, box) for box in seen) > 0.7
    for strip in strips:
        assert strip.ink.shape == (strip.height, strip.right - strip.left)
        assert strip.columns[0][0] == 0 and strip.columns[-1][1] == strip.right - strip.left


def test_an_underline_is_no_ink(detector: Detector) -> None:
    """So words keep their gaps."""
    page = Page().write(30, 40, "Forgot your password", 18)
    page.draw.line((30, 62, 230, 62), "#202124")
    (strip,) = find_strips(page.pixels, detector)
    assert len(strip.columns) > 10


def test_an_empty_page_has_none(detector: Detector) -> None:
    """Nor has a plain colour."""
    assert find_strips(np.full((96, 96, 3), 200, np.uint8), detector) == []
