"""The daemons of tests/integration."""
import importlib.util

from lib import TESTS

spec = importlib.util.spec_from_file_location("integration_conftest", TESTS / "integration/conftest.py")
its = importlib.util.module_from_spec(spec)
spec.loader.exec_module(its)
CONFIG, daemon, daemon_of = its.CONFIG, its.daemon, its.daemon_of
