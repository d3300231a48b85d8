"""Many owners, each with all that may be asked for: memory and time have a ceiling (docs/api.md, Limits)."""
CEILING_MIB = 256


def peak(d):
    """The most memory it ever had, MiB."""
    with open(f"/proc/{d.p.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:")) // 1024


def bundles(first, n, of=10 ** 9):
    """n bundles of as many shapes, numbered from first; `of` shapes in all."""
    return [{"CPU": 1 + i % 2, "memory": (1 + (first + i) * 11 % of) * 1000, f"r{(first + i) * 11 % of % 200}": 1,
             "labels": {"zone": "a", "l" + "x" * 60: "y" * 60}} for i in range(n)]


def post(d, owner, what):
    r = d.exchange("POST", "/v1/request_resources", {"owner": owner, "bundles": what})
    return r.code, r.json


def test_a_flood_has_a_ceiling(daemon):
    d = daemon
    small = post(d, "small", [{"GPU": 1}])[1]
    assert small["feasible"]
    # The flood that once took 2.7 GB and 19 s a reply.
    for i in range(4):
        code, reply = post(d, f"f{i}", [{"CPU": 1, "memory": 1000 * (60000 * i + k + 1)} for k in range(60000)])
        assert code in (413, 429), reply
    # As many as may be, of as many shapes as may be.
    for i in range(10):
        code, reply = post(d, f"o{i}", bundles(i * 2000, 1990, of=4800))
        assert code == 202, reply
    code, reply = post(d, "more", bundles(0, 2000, of=4800))
    assert code == 429 and reply["error"]["status"] == "QUOTA" and "at most 20000 may be" in reply["error"]["text"], reply
    code, reply = post(d, "o1", bundles(100000, 1990))
    assert code == 429 and "different shapes of bundles; at most 5000 may be" in reply["error"]["text"], reply
    code, reply = post(d, "o1", [{f"other-{i}": 1} for i in range(60)])
    assert code == 429 and "different names of resources; at most 256" in reply["error"]["text"], reply

    # Everybody has a plan, and who asks for less is never refused.
    assert d.get("/v1/request_resources/small")[1]["feasible"]
    assert post(d, "o1", bundles(2000, 10, of=4800))[0] == 202
    for path in ("/v1/status", "/v1/nodes", "/v1/request_resources"):
        assert d.get(path)[0] == 200
    assert peak(d) < CEILING_MIB, peak(d)
    print(f"{peak(d)} MiB at most")
