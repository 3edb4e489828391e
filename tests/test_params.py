import pytest

from treemend.exceptions import ParameterError
from treemend.params import check_names


def test_names_of_columns():
    check_names("passthrough", ["a", 1, ("b", 2)])
    check_names("passthrough", ())
    for wrong in ("ab", None, ["a", "a"], [["a"]], ["a", (1, [2])]):
        with pytest.raises(ParameterError, match="passthrough must be a list or tuple of different column names, got"):
            check_names("passthrough", wrong)
