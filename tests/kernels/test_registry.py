"""Kernels of one's own: named, saved and loaded once they are registered, and sentences where they are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, ModelFileError, load, marginalise
from bayes_lssvm.kernels import (
    RBF,
    Kernel,
    Linear,
    OnInputs,
    Parametric,
    Periodic,
    as_kernel,
    kernel_from_dict,
    register,
)
from bayes_lssvm.kernels import _registry as registry

X = np.random.default_rng(0).normal(size=(30, 2))
Y = X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=30)


@dataclass(frozen=True)
class Laplacian(Parametric):
    """exp(−Σ|x_k − z_k|/width), as a user would write it."""

    width: float = 1.0
    free: ClassVar[tuple[str, ...]] = ("width",)

    def _distance(self, X, Z):
        Z = X if Z is None else Z
        return np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2) / self.width

    def __call__(self, X, Z=None):
        return np.exp(-self._distance(X, Z))

    def diag(self, X):
        return np.ones(len(X))

    def gradient(self, X, Z=None):
        distance = self._distance(X, Z)
        yield distance * np.exp(-distance)


@pytest.fixture
def forgetful(monkeypatch):
    """A registry that forgets afterwards what the test has registered."""
    monkeypatch.setattr(registry, "_BY_KIND", dict(registry._BY_KIND))
    monkeypatch.setattr(registry, "_BY_NAME", dict(registry._BY_NAME))


@pytest.mark.parametrize("wrap", [lambda k: k, lambda k: Linear() + 0.5 * k, lambda k: OnInputs(k, (1, 0)) * RBF()])
def test_a_registered_kernel_is_saved_and_loaded(wrap, tmp_path, forgetful):
    register(Laplacian)
    for model, target in ((BayesianLSSVR(wrap(Laplacian(2.0))), Y), (BayesianLSSVC(wrap(Laplacian(2.0))), Y > 0)):
        model.fit(X, target)
        again = load(model.save(tmp_path / "model.npz"))
        assert again.kernel_ == model.kernel_
        assert again.kernel == model.kernel
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_registered_name_stands_for_the_kernel(forgetful):
    register(Laplacian, name="laplacian", default=lambda width: Laplacian(float(width)))
    assert as_kernel("Laplacian", 3) == Laplacian(3.0)
    assert isinstance(BayesianLSSVR("laplacian").fit(X, Y).kernel_, Laplacian)
    with pytest.raises(ValueError, match=r"the names are .*white, (.*, )?laplacian"):
        as_kernel("laplace", 3)


def test_register_can_decorate_a_class_and_a_newer_one_takes_its_place(forgetful):
    @register
    @dataclass(frozen=True)
    class Own(Laplacian):
        pass

    assert kernel_from_dict(Own(1.5).to_dict()) == Own(1.5)
    older = Own(1.5)
    register(type("Own", (Own,), {}))
    with pytest.raises(ValueError, match=r"register\(Own\)"):
        BayesianLSSVR(older).fit(X, Y).save("never written")


def test_a_kernel_that_is_not_registered_is_refused_before_it_is_saved(tmp_path):
    model = BayesianLSSVR(Linear() + Laplacian(2.0)).fit(X, Y)
    with pytest.raises(ValueError, match=r"call bayes_lssvm\.kernels\.register\(Laplacian\) before saving"):
        model.save(tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())
    posterior = marginalise(X, Y, kernel=Laplacian(2.0), method="laplace", standardise=False)
    with pytest.raises(ValueError, match=r"register\(Laplacian\)"):
        posterior.save(tmp_path / "posterior.nc")


def test_a_file_with_an_unknown_kernel_is_not_called_damaged(tmp_path, forgetful):
    register(Laplacian)
    path = BayesianLSSVR(Laplacian(2.0)).fit(X, Y).save(tmp_path / "model.npz")
    del registry._BY_KIND["Laplacian"]
    with pytest.raises(ModelFileError, match=r"'Laplacian'.*import the module that defines it") as raised:
        load(path)
    assert "damaged" not in str(raised.value)


@pytest.mark.parametrize("kind", [3, RBF(1.0), dict, "RBF"])
def test_register_takes_classes_of_kernels_only(kind):
    with pytest.raises(ValueError, match="takes a class of kernels"):
        register(kind)


def test_names_of_the_library_are_not_given_away(forgetful):
    with pytest.raises(ValueError, match="a kernel RBF of its own"):
        register(type("RBF", (Laplacian,), {}))
    for name in ("rbf", "two words", ""):
        with pytest.raises(ValueError, match="a word that bayes_lssvm does not use itself"):
            register(Laplacian, name=name)


def test_parametric_spares_a_kernel_the_parts_that_all_have():
    kernel = Laplacian(2.0)
    assert kernel.param_names == ("width",)
    assert kernel.log_params == pytest.approx([np.log(2.0)])
    assert kernel.with_log_params(np.log([3.0])).width == pytest.approx(3.0)
    assert kernel.to_dict() == {"kind": "Laplacian", "width": 2.0}
    assert isinstance(kernel + Periodic(), Kernel)
