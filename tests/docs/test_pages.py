"""Every block of README and the documents is run as printed (blocks.py says how)."""
import pytest

from conftest import ALL_PAGES, CLOUD_PAGES, run_page


@pytest.mark.parametrize("page", [p for p in ALL_PAGES if p not in CLOUD_PAGES])
def test_page(page, tree, search, tmp_path):
    run_page(page, tree, search, tmp_path)
