#!/usr/bin/env python3
"""From a bare Debian 12 to the first node, with a stop-watch: `make first-node`.

    first_node.py [sim|ray|kubernetes]...      as root; needs mmdebstrap and Debian's packages, Ray also pip's

A root file system with nothing but apt is made by mmdebstrap (kept in the cache; this is not counted). In it the commands of
README and of the guides are run as printed, by the runner of tests/docs: first what installs, with this machine's network, then
the guide, in a network namespace with lo alone. `kubernetes` has the tests' control plane beside it, whose nodes are played; pods
and scheduler are real. What this script prints goes into docs/notes/first-node.md.
"""
import contextlib
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/docs"), str(ROOT / "tests"), str(ROOT / "tests/k8s")]

import aids  # noqa: E402
import blocks  # noqa: E402
import pages  # noqa: E402
import shell  # noqa: E402
from lib import until  # noqa: E402

CACHE = pathlib.Path(os.environ.get("DAVIT_CACHE", pathlib.Path.home() / ".cache/davit"))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
GUIDES = {"sim": ("README.md", "davit nodes"), "ray": ("docs/guides/ray.md", "davit why ray")}
# How this machine reaches its package registries: a user's own does by itself.
CERTIFICATES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
NETWORK = ["/etc/resolv.conf", "/etc/pip.conf", *map(str, pathlib.Path("/etc/apt/apt.conf.d").glob("99*"))]
HIDDEN = ("DAVIT_", "RAY_", "KUBE", "PYTHON", "CCACHE", "MAKE", "MFLAGS")
POD = """
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  containers:
    - {name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}
"""


class Watch:
    """Each command with its seconds of clock and of processor."""

    def __init__(self, what):
        self.what, self.rows = what, []

    @contextlib.contextmanager
    def row(self, text):
        wall, cpu = time.monotonic(), self.cpu()
        yield
        self.rows.append((time.monotonic() - wall, self.cpu() - cpu, text.strip().split("\n")[0]))
        print("%8.1f s %8.1f s of CPU  %s" % self.rows[-1], flush=True)

    @staticmethod
    def cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def total(self):
        print("%8.1f s %8.1f s of CPU  %s: from a bare Debian 12 to the first node, at a load of %.0f\n"
              % (sum(r[0] for r in self.rows), sum(r[1] for r in self.rows), self.what, os.getloadavg()[0]), flush=True)


class Bare:
    """The root file system, mounted for as long as this process lives: it has a mount namespace of its own."""

    def __init__(self, scratch):
        self.root, self.scratch = scratch / "root", scratch / "user"
        for folder in (self.root, self.scratch):
            folder.mkdir()
        run("tar", "-xf", self.tar(), "-C", self.root)
        for kind, what, where in (("proc", "proc", "proc"), ("tmpfs", "run", "run"), ("tmpfs", "shm", "dev/shm")):
            if where == "dev/shm":
                run("mount", "--rbind", "/dev", self.root / "dev")
            run("mount", "-t", kind, what, self.root / where)
        inside = self.root / str(self.scratch)[1:]
        inside.mkdir(parents=True)
        run("mount", "--bind", self.scratch, inside)
        for name in filter(os.path.exists, NETWORK):
            to = self.root / name[1:]
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, to)
        shutil.copy(CERTIFICATES, self.root / "etc/registries.crt")  # its own come with the package ca-certificates
        checkout = self.root / "root/davit"
        checkout.mkdir()
        tree = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", checkout], input=tree, check=True)

    @staticmethod
    def tar():
        """With apt and what it needs, and no more."""
        to = CACHE / "bare-debian-12.tar"
        if not to.exists():
            sources = "/etc/apt/sources.list.d/debian.sources"
            run("mmdebstrap", "--variant=apt", "bookworm", to.with_suffix(".new.tar"), *[sources] * os.path.exists(sources))
            to.with_suffix(".new.tar").rename(to)
        return to

    def env(self):
        here = {k: "/etc/registries.crt" if v == str(CERTIFICATES) else v for k, v in os.environ.items() if not k.startswith(HIDDEN)}
        return {**here, "HOME": "/root", "PATH": PATH, "LC_ALL": "C.UTF-8", "PIP_CERT": "/etc/registries.crt"}

    def do(self, text):
        """A command of the installation, in the checkout, with this machine's network; as root, so without sudo."""
        log = self.scratch / "install.log"
        with open(log, "a") as out:
            p = subprocess.run(["chroot", self.root, "/bin/bash", "-ec", "cd /root/davit\n" + re.sub(r"\bsudo ", "", text)], env=self.env(),
                               stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
        if p.returncode:
            sys.exit(f"`{text}` ended with {p.returncode}:\n{log.read_text()[-4000:]}")


def run(*words):
    subprocess.run(words, check=True)


def printed(page, title):
    """The commands of the blocks of a page's section, those too that no test runs."""
    text = (ROOT / page).read_text()
    begin = text.index(f"\n## {title}\n") + 1
    end = text.find("\n## ", begin)
    found = [c.text for b in blocks.Page(text[begin:end if end > 0 else None]).blocks if b.runs for c in blocks.commands(b)]
    assert found, f"{page} has no commands under {title}"
    return found


class FirstNode(Exception):
    pass


class Guide(pages.Run):
    """A page, up to the command whose answer shows the first node."""

    def __init__(self, page, last, bare, watch):
        super().__init__(ROOT / page, pathlib.Path("/"), bare.scratch, f"/root/ray/bin:{PATH}")
        self.bare, self.watch, self.last = bare, watch, last

    def open_shell(self):
        return shell.Shell(self.folder, self.env, before=["chroot", self.bare.root, "/usr/bin/env", "-C", self.folder])

    def one(self, block):
        if block.runs and "in the checkout" in block.notes:
            return  # it was run when it was installed
        super().one(block)

    def command(self, command, notes):
        with self.watch.row(command.text):
            super().command(command, notes)
        if command.text.startswith(self.last):
            raise FirstNode


@contextlib.contextmanager
def small_ray(folder):
    aid = aids.Aid()
    aid.env = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_object_store_memory": "80000000", "PYTHONUNBUFFERED": "1"}
    yield aid


def pending_pod(bare, watch):
    """A cluster that is there already, an admin's kubeconfig, one pod that waits for a GPU."""
    from kwoknodes import SimNodes, Template
    from lib.plane import Plane
    folder = bare.scratch / "p1"
    folder.mkdir()
    (folder / "pod.yaml").write_text(POD)
    (folder / "davit.yaml").write_text("cluster: first\nhead: {kubernetes: {}}\nlimits: {max_nodes: 4}\n"
                                       f"providers: {{sim: {{boot: 5s, state: {folder}/cloud.json}}}}\n"
                                       "node_types:\n  t4: {machine: n1-standard-8+t4, max: 2}\n")
    with Plane() as plane, SimNodes(plane, folder / "cloud.json", {"t4": Template(cpu=8, gpus=1)}):
        shutil.copy(plane.ca, folder / "ca.crt")
        (folder / "kubeconfig").write_text(plane.kubeconfig.read_text().replace(str(plane.ca), str(folder / "ca.crt")))
        admin = shell.Shell(folder, {**bare.env(), "KUBECONFIG": str(folder / "kubeconfig")}, before=["chroot", bare.root, "/usr/bin/env", "-C", folder])
        try:
            for text in ("davit validate davit.yaml", "davit doctor davit.yaml", "davit run davit.yaml &"):
                with watch.row(text):
                    code, out = admin.run(text)
                    assert code == 0, out
            with watch.row("kubectl apply -f pod.yaml, until the scheduler has bound it to a node of ours"):
                subprocess.run([ROOT / "tests/docs/bin/kubectl", "apply", "-f", folder / "pod.yaml"], check=True, stdout=subprocess.DEVNULL,
                               env={**os.environ, "KUBECONFIG": str(folder / "kubeconfig"), "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"})
                until(lambda: plane.client.get("/api/v1/namespaces/default/pods/first")["spec"].get("nodeName"), every=0.1,
                      why=lambda: admin.run("davit status; davit why first")[1])
            print(admin.run("davit nodes")[1], end="")
        finally:
            admin.close()


def install(what, bare, watch):
    for title in ("See it", "Install it"):
        for text in printed("README.md", title):
            with watch.row(text):
                bare.do(text)
    for text in printed("docs/guides/ray.md", "0. Ray") if what == "ray" else ():
        with watch.row(text):
            bare.do(text)


def guide(what, bare, watch):
    if what == "kubernetes":
        return pending_pod(bare, watch)
    aids.AIDS["ray"] = small_ray
    try:
        Guide(*GUIDES[what], bare, watch).all()
    except FirstNode:
        return None
    raise SystemExit(f"{GUIDES[what][0]} has no command {GUIDES[what][1]}")


def network_of_its_own():
    os.unshare(os.CLONE_NEWNET) if hasattr(os, "unshare") else libc_unshare(0x40000000)
    run("ip", "link", "set", "lo", "up")


def libc_unshare(flag):
    import ctypes
    if ctypes.CDLL(None, use_errno=True).unshare(flag):
        raise OSError(ctypes.get_errno(), "unshare")


def main():
    if os.environ.get("FIRST_NODE") != "inside":
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv], {**os.environ, "FIRST_NODE": "inside"})
    what = sys.argv[1]
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="fn"))
    try:
        bare, watch = Bare(scratch), Watch(what)
        print(f"== {what}", flush=True)
        install(what, bare, watch)
        network_of_its_own()
        guide(what, bare, watch)
        watch.total()
    finally:
        # Its mounts go with this process's namespace: never into one of them, /dev is among them.
        run("umount", "--recursive", "--lazy", *(scratch / "root" / where for where in ("dev", "proc", "run", str(scratch / "user")[1:])))
        run("rm", "-rf", "--one-file-system", scratch)


if __name__ == "__main__":
    for one in sys.argv[1:] if len(sys.argv) > 2 else ():
        run(sys.executable, __file__, one)
    if len(sys.argv) == 1:
        for one in ("sim", "ray", "kubernetes"):
            run(sys.executable, __file__, one)
    if len(sys.argv) == 2:
        main()
