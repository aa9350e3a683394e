"""DEN: its mechanisms one by one, and what time stamps preserve."""

from checks import check_learner


def test_den_is_a_learner(tmp_path):
    check_learner("den", tmp_path)
