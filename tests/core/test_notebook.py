"""The HTML of a tensor: what the table says, and that the picture decodes to the pixels meant."""

import base64
import re
import struct
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from chainrule.core.notebook import PICTURE_SIDE, STATISTICS_LIMIT, html_text


class Table(HTMLParser):
    """The cells of the page's table, and whether each tag was closed."""

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "td":
            self.texts.append(data)


def facts_of(page):
    table = Table()
    table.feed(page)
    assert table.open == []
    return dict(zip(table.texts[::2], table.texts[1::2], strict=True))


def pixels_of(page):
    """The colour of each pixel of the picture, as (height, width, 3)."""
    data = base64.b64decode(re.search(r"base64,([^\"]+)", page)[1])
    width, height = struct.unpack(">II", data[16:24])
    palette = data[data.index(b"PLTE") + 4 :][: 256 * 3]
    lines = zlib.decompress(data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8])
    levels = np.frombuffer(lines, np.uint8).reshape(height, width + 1)[:, 1:]
    return np.frombuffer(palette, np.uint8).reshape(256, 3)[levels].astype(int)


def test_the_table_states_the_facts():
    page = html_text(np.array([[1.0, 3.0], [np.nan, -np.inf]], "float32"), grad_fn="MulBackward0")
    wanted = {"shape": "(2, 2)", "dtype": "float32", "device": "cpu", "grad_fn": "MulBackward0"}
    assert facts_of(page) == wanted | {"min": "1", "mean": "2", "max": "3", "nan": "1", "inf": "1"}


@pytest.mark.parametrize(
    ("array", "rows"),
    [
        (np.array([True, False, True]), {"true": "2 of 3"}),
        (np.array([1, 2]), {"min": "1", "mean": "1.5", "max": "2"}),
        (np.array([3 + 4j]), {"|z| min": "5", "|z| mean": "5", "|z| max": "5"}),
        (np.array(2.5), {"min": "2.5", "mean": "2.5", "max": "2.5"}),
        (np.array([np.nan]), {"nan": "1"}),
        (np.ones((0, 3)), {}),
    ],
)
def test_statistics_follow_the_kind(array, rows):
    facts = facts_of(html_text(array))
    assert {label: facts[label] for label in facts if label not in ("shape", "dtype", "device")} == rows


def test_without_values_there_is_neither_statistic_nor_picture():
    page = html_text(None, size=(2, 3), dtype_name="float32", device="meta", requires_grad=True)
    facts = {"shape": "(2, 3)", "dtype": "float32", "device": "meta", "requires_grad": "True"}
    assert facts_of(page) == facts
    assert "<img" not in page
    with pytest.raises(ValueError, match="size and dtype_name"):
        html_text(None)
    with pytest.raises(ValueError, match="only when array is None"):
        html_text(np.ones(2), size=(2,))


def test_everything_is_escaped():
    page = html_text(np.ones(2), title="<b>&", grad_fn='<script>"', device="'")
    assert "<script>" not in page and "&lt;b&gt;&amp;" in page
    assert facts_of(page)["grad_fn"] == '<script>"'


@pytest.mark.parametrize("shape", [(5,), (4, 7), (64, 64), (65,), (1000, 3), (300, 300)])
def test_the_picture_has_a_pixel_per_element_up_to_its_side(shape):
    page = html_text(np.arange(np.prod(shape)).reshape(shape))
    height, width = (1, *shape)[-2:]
    assert pixels_of(page).shape[:2] == (min(height, PICTURE_SIDE), min(width, PICTURE_SIDE))
    assert ("sampled" in page) == (max(shape) > PICTURE_SIDE)


def test_signs_and_nan_have_their_colours():
    pixels = pixels_of(html_text(np.array([-2.0, 0.0, 2.0, np.nan, np.inf, -np.inf])))[0]
    negative, zero, positive, nan = pixels[:4]
    assert negative[2] > negative[0] and positive[0] > positive[2] and zero.min() > 230
    assert tuple(nan) == (208, 0, 208)
    assert (pixels[4] == positive).all() and (pixels[5] == negative).all()


EXTREMES = [[1.0, 1.0], [0.0], [np.inf, -np.inf], [1.7e308, -1.7e308], [np.nan], [5e-324, 0.0]]


@pytest.mark.parametrize("values", EXTREMES)
@pytest.mark.filterwarnings("error")
def test_extreme_values_draw_without_warning(values):
    assert pixels_of(html_text(np.array(values))).shape == (1, len(values), 3)


def test_no_picture_outside_one_and_two_dimensions():
    assert "<img" not in html_text(np.ones(())) + html_text(np.ones((2, 2, 2)))


def test_large_arrays_are_sampled_and_the_page_stays_small():
    huge = np.broadcast_to(np.float32(1), (10**5, 10**5))
    page = html_text(huge)
    assert facts_of(page)["from"].startswith("a sample of")
    assert int(facts_of(page)["from"].split()[-1]) <= STATISTICS_LIMIT
    noise = np.random.default_rng(0).standard_normal((300, 300))
    assert len(html_text(noise)) < 10_000


def test_bfloat16():
    array = np.array([1.5, -2.0], pytest.importorskip("ml_dtypes").bfloat16)
    assert facts_of(html_text(array))["mean"] == "-0.25"
