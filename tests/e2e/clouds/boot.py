"""What a machine's image does once the cloud has made it: joins the Ray head.

One raylet of the real Ray per machine that the cloud's books call up, under the
cloud's own id; it is killed when the machine is no more, as its host would be.
"""
import threading


class Boot(threading.Thread):
    def __init__(self, side, ray):
        super().__init__(daemon=True)
        self.side, self.ray = side, ray
        self.running = threading.Event()
        self.running.set()
        self.on = {}        # machine -> the raylet's name
        self.problem = None

    def run(self):
        try:
            while self.running.wait(0) and not self.turn():
                threading.Event().wait(0.2)  # wait: between two looks at what the cloud has
        except Exception as e:  # told by close()
            self.problem = e

    def turn(self):
        up = {i: p for p in self.side.pools() for i in self.side.up(p)}
        for i in [i for i in self.on if i not in up]:
            self.ray.kill_worker(self.on.pop(i))
        for i in [i for i in up if i not in self.on]:
            cpu = up[i] == "cpu"
            self.on[i] = name = f"{self.side.name}-{len(self.on)}-{i[-12:]}"
            self.ray.add_worker(name, cpus=8 if cpu else 4, gpus=0 if cpu else 1, accelerator=None if cpu else "T4",
                                type="cpu" if cpu else "t4", instance_id=i, wait=False)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.running.clear()
        self.join(60)
        for name in self.on.values():
            self.ray.kill_worker(name)
        if kind is None:
            assert self.problem is None, self.problem
