import numpy as np
import pytest

from experiments import datasets


@pytest.mark.parametrize(("name", "shape"), [("wdbc", (569, 30)), ("ringnorm", (7400, 20)), ("twonorm", (7400, 20))])
def test_sets_that_need_no_file(name, shape, tmp_path):
    dataset = datasets.load(name, tmp_path)
    assert dataset.X.shape == shape
    assert dataset.X.min() == 0
    assert dataset.X.max() == 1
    assert set(dataset.y) == {-1, 1}


def test_twonorm_is_as_separable_as_breiman_says(tmp_path):
    dataset = datasets.load("twonorm", tmp_path)
    along = dataset.X @ np.ones(20)
    right = np.mean((along > np.median(along)) == (dataset.y == 1))
    assert right == pytest.approx(0.977, abs=0.01)


@pytest.mark.parametrize("name", sorted(set(datasets.TITLES) - {"wdbc", "ringnorm", "twonorm"}))
def test_a_missing_set_tells_where_it_can_be_had(name, tmp_path):
    assert not datasets.available(name, tmp_path)
    with pytest.raises(
        datasets.MissingDataError, match=f"{datasets.TITLES[name]} is missing.* can be had from .*{name}.npz"
    ):
        datasets.load(name, tmp_path)


def test_a_file_comes_before_a_substitute(tmp_path):
    np.savez(tmp_path / "wdbc.npz", X=np.array([[1.0, 5.0], [3.0, 5.0]]), y=np.array([7, 9]))
    dataset = datasets.load("wdbc", tmp_path)
    np.testing.assert_array_equal(dataset.X, [[0, 0], [1, 0]])
    np.testing.assert_array_equal(dataset.y, [-1, 1])


def test_folder_option_comes_before_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TREEMEND_DATA", str(tmp_path / "environment"))
    assert datasets.data_folder(tmp_path / "option") == tmp_path / "option"
    assert datasets.data_folder() == tmp_path / "environment"
    monkeypatch.delenv("TREEMEND_DATA")
    assert datasets.data_folder().parts[-2:] == ("shared", "data")


def test_repeated_rows_are_kept_once():
    X, y = np.array([[0.0], [1.0], [0.0], [0.0]]), np.array([1, 1, 1, -1])
    once = datasets.without_repeated_rows(datasets.Dataset("svmguide3", X, y, "here"))
    np.testing.assert_array_equal(once.X[:, 0], [0, 1, 0])
    np.testing.assert_array_equal(once.y, [1, 1, -1])
