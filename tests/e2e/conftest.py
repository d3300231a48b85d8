"""Fixtures of the end-to-end tests.  Run them through tests/netns.sh: Ray is
started only where there is no interface but lo."""
import pytest

from lib import raycluster, raydaemon


# Its raylet answers the head 0.3 s late, as it may on a busy machine: what waits there and has just been placed is
# shown as both (docs/ray.md, "How old a view is").
LATE = {"RAY_testing_asio_delay_us": "NodeManagerService.grpc_server.GetResourceLoad=300000:300000"}


@pytest.fixture(scope="session")
def head():
    """One Ray head, CPU only, for all tests that need no special one."""
    with raycluster.RayCluster(cpus=1, head_env=LATE) as ray:
        yield ray


@pytest.fixture
def ray(head):
    """The head, and an end to every driver a test leaves behind."""
    yield head
    for driver in list(head.drivers):
        head.end(driver)


@pytest.fixture
def start(ray):
    """start(types=..., idle_timeout=...) -> a running Daemon."""
    running = []

    def start_daemon(**settings):
        daemon = raydaemon.RayDaemon(ray, **settings)
        running.append(daemon)
        return daemon.__enter__()

    yield start_daemon
    for daemon in running:
        for driver in list(ray.drivers):  # first, so that nodes end at once
            ray.end(driver)
        if daemon.dir.exists():
            print(daemon.story())
        daemon.close()
