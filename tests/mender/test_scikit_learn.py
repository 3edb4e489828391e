import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from treemend import TreeMender

# The checks fit on 20 rows; that a reference is too small for the promised rate is said, and tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:.*too few to promise:UserWarning")

OWN_COPY = "on the reference every row is judged and repaired by the others, its own copy left out"

MISSING = "NaN in suspect rows stands for a missing value, which is filled; in the reference it is refused"


def deviations(estimator):
    differing = ["check_outliers_fit_predict"]
    if estimator.tau is not None:  # by default the checks' 30 rows are too few for anything to be declared
        differing += ["check_transformer_general", "check_transformer_data_not_an_array"]
    return dict.fromkeys(differing, OWN_COPY) | {"check_estimators_nan_inf": MISSING}


@parametrize_with_checks(
    [
        TreeMender(),
        TreeMender(alpha=1.0, donors="sibling", imputation="nearest", refine=False),
        TreeMender.as_published(0.05),
    ],
    expected_failed_checks=deviations,
)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)
