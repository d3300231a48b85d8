"""The pages that have a cloud's test server beside them."""
import pytest

from conftest import CLOUD_PAGES, run_page


@pytest.mark.parametrize("page", CLOUD_PAGES)
def test_page(page, tree, search, tmp_path):
    run_page(page, tree, search, tmp_path)
