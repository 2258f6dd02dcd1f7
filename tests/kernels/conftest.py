"""The kernels are compiled before the first test."""

import pytest

from lowlift._kernels.compilation import prepare


@pytest.fixture(scope="session", autouse=True)
def _compiled():
    prepare("merging", "partitions", "search")
