"""The figures of docs/guide/multiclass.md show the code books and the probabilities that the library gives."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from bayes_lssvm.multiclass import MulticlassLSSVC, code_book
from reports.draw.multiclass import (
    CLASS_COLOURS,
    NAMES,
    SIGNS,
    blend,
    figure_code_books,
    figure_three_classes,
    three_class_plane,
    three_classes,
)


@pytest.fixture(scope="module")
def plane():
    return three_class_plane(20, pixels=30)


def test_code_books_are_drawn_sign_by_sign():
    figure = figure_code_books()
    panels = figure.subfigs[0].axes + figure.subfigs[1].axes
    codes = [*(code_book(coding, 4) for coding in ("ovo", "ova", "moc", "ecoc")), code_book("ecoc", 10)]
    for axes, code in zip(panels, codes, strict=True):
        np.testing.assert_array_equal(axes.images[0].get_array(), code)
        drawn = {tuple(int(v) for v in text.get_position()): text.get_text() for text in axes.texts}
        expected = {(column, row): SIGNS[int(value)][0] for (row, column), value in np.ndenumerate(code)}
        assert drawn == expected
    assert "40 bits, closest 17 apart" in panels[-1].get_title(loc="left")


def test_colours_are_white_where_nothing_is_known_and_a_classs_own_where_it_is_certain():
    np.testing.assert_allclose(blend(np.full(3, 1 / 3)), 1.0, atol=1e-12)
    for k, colour in enumerate(CLASS_COLOURS):
        certain = blend(np.eye(3)[k])
        np.testing.assert_allclose(1.0 - certain, 0.65 * (1.0 - np.array(to_rgb(colour))))


def test_the_plane_holds_the_classifiers_probabilities(plane):
    X, labels = three_classes(20)
    np.testing.assert_array_equal(plane.X, X)
    model = MulticlassLSSVC(coding="ova", shared_kernel=True).fit(X, np.array(NAMES)[labels])
    for i, j in ((3, 4), (12, 20), (20, 9)):
        point = np.array([[plane.x1[j], plane.x2[i]]])
        np.testing.assert_allclose(plane.bayes[i, j], model.predict_proba(point)[0], atol=1e-9)
    for shares in (plane.bayes, plane.votes):
        np.testing.assert_allclose(shares.sum(axis=2), 1.0, atol=1e-9)


def test_the_figure_of_the_plane_shows_points_and_both_maps(plane):
    figure = figure_three_classes(plane)
    left, right = figure.axes
    np.testing.assert_allclose(left.images[0].get_array(), blend(plane.bayes))
    np.testing.assert_allclose(right.images[0].get_array(), blend(plane.votes))
    shown = np.concatenate([points.get_offsets() for points in right.collections])
    np.testing.assert_allclose(shown, plane.X)
