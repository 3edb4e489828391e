import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from treemend import Mender

# The checks fit on 20 rows; that a reference is too small for the promised rate is said, and tested elsewhere.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*too few for a false-alarm rate:UserWarning"),
]

OWN_COPY = "on the reference every row is judged by a model that has not seen it"


DEVIATIONS = ("check_outliers_fit_predict", "check_transformer_general", "check_transformer_data_not_an_array")


@parametrize_with_checks(
    [Mender(), Mender(false_alarm_rate=0.2, layout="sequence", imputation="mode"), Mender(contaminated=True)],
    expected_failed_checks=lambda estimator: dict.fromkeys(DEVIATIONS, OWN_COPY),
)
def test_scikit_learn_s_checks(estimator, check):
    check(estimator)
