import pytest

import eks_operations
import eks_rig


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
