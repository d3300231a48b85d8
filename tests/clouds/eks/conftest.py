import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import eks_operations  # noqa: E402
import eks_rig  # noqa: E402


@pytest.fixture(scope="session")
def eks_process():
    c = eks_rig.Cloud()
    yield c
    c.stop()


@pytest.fixture
def cloud(eks_process):
    """No request may have been refused for its signature, unless said so."""
    eks_process.clear()
    eks_process.expect_rejected = False
    yield eks_process
    assert eks_operations.unknown(eks_process.log()) == [], "an operation that is not in the table"
    if not eks_process.expect_rejected:
        assert eks_process.rejected() == []
