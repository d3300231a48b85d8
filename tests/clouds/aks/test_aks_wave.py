"""A spot wave and a broken list, with the real daemon: lib/wave.py has the story."""
from aks_rig import config, environment
from lib import wave
from lib.daemon import Daemon


def take(cloud, ids):
    with cloud.lock:
        p = cloud.pools["gpu"]
        for i in ids:
            del p.vms[i]
        p.props["count"] -= len(ids)
        p.tag += 1


def hidden(cloud, ids):
    with cloud.lock:
        cloud.hidden = set(ids)
        cloud.pools["gpu"].tag += 1


def test_a_spot_wave(server, cloud, tmp_path):
    text = config(server, "poll: 100ms, wait: 1s, reads: {every: 0}, writes: {every: 0}").replace(
        "limits: {max_nodes: 2000}", "limits: {max_nodes: 20, idle_timeout: 1h}")
    with Daemon(tmp_path, text, env=environment()) as d:
        wave.story(d, "t4", {"GPU": 1}, cloud.machines, lambda ids: hidden(cloud, ids), lambda ids: take(cloud, ids))
