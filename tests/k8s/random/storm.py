"""Random worlds on a real control plane, for as long as one likes.

    storm.py --seconds 600 [--first 1]     worlds from that seed on; those that break a law are kept in found/
    storm.py --seed N [--keep DIR]         one again
    storm.py --file found/x.json           one that was kept
    storm.py --written NAME,...            of written.py ("all")
"""
import argparse
import json
import pathlib
import sys
import time
import traceback

sys.path[:0] = [str(pathlib.Path(__file__).parents[1]), str(pathlib.Path(__file__).parent)]
import world as worlds  # noqa: E402
from judge import Broken, judge  # noqa: E402
from lib.plane import Plane  # noqa: E402
from written import WORLDS  # noqa: E402


def play(plane, world, keep=None):
    began = time.monotonic()
    try:
        judge(plane, world, brute=True, keep=keep)
        text, ok = "holds", True
    except Broken as e:
        text, ok = str(e), False
    except Exception:  # pylint: disable=broad-except
        text, ok = traceback.format_exc(), False
    features = ",".join(f for w in world["loads"] for f in w["features"])
    print(f"seed {world['seed']} {time.monotonic() - began:.0f} s [{features}] {text}", flush=True)
    return ok


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--first", type=int, default=int(time.time()) % 1000000)
    p.add_argument("--seed", type=int)
    p.add_argument("--file")
    p.add_argument("--keep")
    p.add_argument("--save", action="store_true")
    p.add_argument("--written")
    a = p.parse_args()
    if a.keep:
        pathlib.Path(a.keep).mkdir(parents=True, exist_ok=True)
    with Plane() as plane:
        if a.seed is not None or a.file:
            world = json.loads(pathlib.Path(a.file).read_text()) if a.file else worlds.draw(a.seed)
            return 0 if play(plane, world, a.keep) else 1
        if a.written:
            names = list(WORLDS) if a.written == "all" else a.written.split(",")
            broken = [n for n in names if not play(plane, WORLDS[n], a.keep)]
            print(f"{len(names)} written worlds, {len(broken)} broke a law: {', '.join(broken)}")
            return 1 if broken else 0
        seed, broken, end = a.first, 0, time.monotonic() + a.seconds
        while time.monotonic() < end:
            world = worlds.draw(seed)
            if not play(plane, world):
                broken += 1
                if a.save:
                    pathlib.Path(__file__).with_name("found").joinpath(f"{seed}.json").write_text(json.dumps(world, indent=1) + "\n")
            seed += 1
        print(f"{seed - a.first} worlds, {broken} broke a law")
        return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
