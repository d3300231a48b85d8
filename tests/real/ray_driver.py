"""The load of ray_storm.py: a Ray driver that loses a task for every node that is ended too early.

Tasks hold one GPU for seconds, and Ray starts none of them again (max_retries=0).  They come in
bursts.  After half of them it waits until all are done, and then for about as long as an idle
timeout: the next burst meets nodes that are about to be ended.

Environment: LOAD_SEED, LOAD_IDLE (seconds), LOAD_STARTED (a file: each task writes a line when it
begins), LOAD_STOP (a file: when it is there, no new tasks come).  Prints a line for each task that
ended: its number, when, and the error or "".
"""
import json
import os
import random
import time

import ray

STARTED, STOP, IDLE = os.environ["LOAD_STARTED"], os.environ["LOAD_STOP"], float(os.environ["LOAD_IDLE"])
AT_ONCE, SHORT, LONG = 5, 6, 30     # tasks; seconds: a raylet takes some 3 to end


@ray.remote(num_gpus=1, num_cpus=0, max_retries=0)
def work(n, seconds):
    with open(STARTED, "a", encoding="ascii") as f:
        f.write(json.dumps([n, ray.get_runtime_context().get_node_id(), time.time(), seconds]) + "\n")
    time.sleep(seconds)  # wait: work, which takes so long
    return n


def ended(todo, timeout):
    """Tells of one that ended, if one does in that time."""
    for x in ray.wait(list(todo), timeout=timeout)[0]:
        try:
            ray.get(x)
            error = ""
        except ray.exceptions.RayError as e:
            error = f"{type(e).__name__}: {e}"
        print(json.dumps([todo.pop(x), time.time(), error]), flush=True)


def main():
    ray.init(log_to_driver=False)
    chance, todo, n = random.Random(int(os.environ["LOAD_SEED"])), {}, 0
    while not os.path.exists(STOP):
        for _ in range(chance.randint(1, 3)):
            todo[work.remote(n, chance.uniform(SHORT, LONG))] = n
            n += 1
        most = chance.choice([0, AT_ONCE - 3])
        while len(todo) > most and not os.path.exists(STOP):
            ended(todo, 0.3)
        time.sleep(chance.uniform(IDLE - 0.5, IDLE + 2.5) if not todo else chance.uniform(0, 1))  # wait: the moment is drawn
    while todo:
        ended(todo, 1)


main()
