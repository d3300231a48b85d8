"""A real Kubernetes control plane on 127.0.0.1, without containers, for tests.

    with Plane() as p:                    # etcd, apiserver, scheduler, controllers, kwok
        p.api("POST", "/api/v1/nodes", {...})
        p.kubeconfig                      # a file: cluster admin
        p.kubeconfig_for("ns", "sa")      # a file: that service account, by TokenRequest
        p.apiserver.restart()             # also .stop() .start() .pause() .resume()

Binaries come from `tests/setup.sh k8s`.  Everything lives in a folder of its
own and is ended by pid; ports are free ones, TLS of an authority of its own.
"""
import contextlib
import http.client
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

from lib import PATIENCE, ROOT, ends_with_us, free_ports, kube
from lib.kube import until

HERE = ROOT / "tests" / "k8s"
PARTS = ("scheduler", "kcm", "kwok")
USERS = {  # name: groups
    "admin": "system:masters", "system:kube-scheduler": "", "kcm": "system:masters", "kwok": "system:masters",
    "kuberay-operator": "system:masters", "machines": "system:masters"}
AUDIT = {  # who did what: bodies of writes, the rest by URI; the plane's own parts not at all
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "None", "users": [u for u in USERS if u != "admin"] + ["system:apiserver"]},
              {"level": "Request", "verbs": ["create", "update", "patch", "delete"]},
              {"level": "Metadata"}]}


def binaries():
    """The folder of the programs; built first where they lack (ten minutes)."""
    found = os.environ.get("DAVIT_K8S_BINS")
    if not found:
        found = subprocess.run([ROOT / "tests" / "setup.sh", "k8s"], check=True, stdout=subprocess.PIPE,
                               text=True).stdout.split("\n")[-2]
    return pathlib.Path(found)


def sweep():
    """Folders of planes whose program was killed before it could tidy up; DAVIT_KEEP's are renamed."""
    for path in pathlib.Path(tempfile.gettempdir()).glob("davit-k8s-*-*"):
        pid = path.name.split("-")[2]
        if pid.isdigit() and not pathlib.Path("/proc", pid).exists():
            shutil.rmtree(path, ignore_errors=True)


class Server:
    """One program of the plane: started, stopped, paused by its pid."""

    def __init__(self, plane, name, args, url, wait=60):
        self.plane, self.name, self.url, self.wait = plane, name, url, wait
        self.argv = [str(plane.bins / name), *args]
        self.log = plane.dir / f"{name}.log"
        self.p = None

    def launch(self):
        with open(self.log, "ab") as out:
            self.p = subprocess.Popen(ends_with_us(["nice", "-n", "2", *self.argv]), cwd=self.plane.dir,
                                      stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)

    def start(self):
        self.launch()
        self.await_ready()
        return self

    def await_ready(self):
        def ready():
            if self.p.poll() is not None:
                raise RuntimeError(f"{self.name} ended with {self.p.returncode}:\n{self.text()[-3000:]}")
            return self.plane.answers(self.url)
        until(ready, self.wait, lambda: f"{self.name} is not ready\n{self.text()[-3000:]}", every=0.05)

    def stop(self, hard=False):
        if self.p and self.p.poll() is None:
            self.resume()
            self.p.send_signal(signal.SIGKILL if hard else signal.SIGTERM)
            try:
                self.p.wait(15)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait(10)

    def restart(self, hard=True):
        self.stop(hard)
        return self.start()

    def pause(self):
        """It hangs: connections stay open, nothing is answered."""
        self.p.send_signal(signal.SIGSTOP)
        os.waitpid(self.p.pid, os.WUNTRACED)  # all its threads have stopped

    def resume(self):
        self.p.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def paused(self):
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def rss_mib(self):
        return int(pathlib.Path(f"/proc/{self.p.pid}/statm").read_text().split()[1]) * 4096 / 2**20


class Plane:
    def __init__(self, scheduler=True, kcm=True, kwok=True, admission=(), apiserver=(), seconds=150):
        self.bins = binaries()
        self.parts = [name for name, on in zip(PARTS, (scheduler, kcm, kwok)) if on]
        self.admission, self.more, self.wait = list(admission), list(apiserver), seconds
        sweep()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"davit-k8s-{os.getpid()}-"))
        self.servers = []
        self.tokens = {user: secrets.token_hex(16) for user in USERS}
        self.took = None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    # ---- life

    def start(self):
        began = time.monotonic()
        ports = free_ports(6)
        self.port, etcd, peers, scheduler, kcm, kwok = ports
        self.server, self.etcd_url = f"https://127.0.0.1:{self.port}", f"http://127.0.0.1:{etcd}"
        self._certificates()
        self._files()
        self.client = kube.Client(self.server, self.ca, self.tokens["admin"])
        peer = f"http://127.0.0.1:{peers}"
        self.etcd = self._run("etcd", [
            "--data-dir", "etcd", "--unsafe-no-fsync", "--log-level", "warn",
            "--listen-client-urls", self.etcd_url, "--advertise-client-urls", self.etcd_url,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}"], self.etcd_url + "/health")
        self.apiserver = self._run("kube-apiserver", self._apiserver_args(), self.server + "/readyz")
        # before the garbage collector looks what kinds there are: it does so every 30 s
        self.install_raycluster()
        rest = []
        if "scheduler" in self.parts:
            rest.append(self._program("kube-scheduler", [
                "--config", "scheduler.json", "--bind-address", "127.0.0.1", "--secure-port", str(scheduler),
                "--authentication-kubeconfig", "system:kube-scheduler.conf",
                "--authorization-kubeconfig", "system:kube-scheduler.conf",
                "--authorization-always-allow-paths", "/healthz,/readyz,/livez,/metrics"],
                f"https://127.0.0.1:{scheduler}/readyz"))
        if "kcm" in self.parts:
            rest.append(self._program("kube-controller-manager", [
                "--kubeconfig", "kcm.conf", "--authentication-kubeconfig", "kcm.conf",
                "--authorization-kubeconfig", "kcm.conf", "--bind-address", "127.0.0.1", "--secure-port", str(kcm),
                "--leader-elect=false", "--root-ca-file", "ca.crt", "--service-account-private-key-file", "sa.key",
                "--use-service-account-credentials=false", "--kube-api-qps", "500", "--kube-api-burst", "1000"],
                f"https://127.0.0.1:{kcm}/healthz"))
        if "kwok" in self.parts:
            rest.append(self._program("kwok", [
                "--kubeconfig", "kwok.conf", "--config", str(HERE / "stages.yaml"), "--manage-all-nodes=true",
                "--node-ip", "127.0.0.1", "--cidr", "10.1.0.0/16", "--server-address", f"127.0.0.1:{kwok}",
                "--node-lease-duration-seconds", "40"], f"http://127.0.0.1:{kwok}/healthz"))
        for server in rest:
            server.launch()
        for server in rest:
            server.await_ready()
        if "kcm" in self.parts:  # pods are refused until it is there
            until(lambda: self.api("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200,
                  self.wait, "no default service account", every=0.05)
        self.took = time.monotonic() - began
        return self

    def stop(self):
        for server in reversed(self.servers):
            # kept data would be removed anyway, and a drain of watches takes a while
            server.stop(hard=server.name in ("etcd", "kube-apiserver"))
        keep = os.environ.get("DAVIT_KEEP")
        if keep:
            kept = self.dir.with_name(f"kept-{self.dir.name}")
            self.dir.rename(kept)
            print(f"kept: {kept}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def server_named(self, name):
        return next(s for s in self.servers if s.name == name)

    def _program(self, name, args, url):
        server = Server(self, name, args, url, self.wait)
        self.servers.append(server)
        return server

    def _run(self, name, args, url):
        return self._program(name, args, url).start()

    def _apiserver_args(self):
        # Without the controller manager nobody takes off the not-ready taint
        # of a new node, and nobody makes default service accounts.
        off = ["StorageObjectInUseProtection"]
        if "kcm" not in self.parts:
            off += ["TaintNodesByCondition", "ServiceAccount"]
        on = ["--enable-admission-plugins", ",".join(self.admission)] if self.admission else []
        return [
            "--etcd-servers", self.etcd_url, "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
            "--secure-port", str(self.port), "--tls-cert-file", "apiserver.crt",
            "--tls-private-key-file", "apiserver.key", "--token-auth-file", "tokens.csv",
            "--authorization-mode", "RBAC", "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-account-key-file", "sa.pub", "--service-account-signing-key-file", "sa.key",
            "--service-cluster-ip-range", "10.0.0.0/16", "--endpoint-reconciler-type", "none",
            "--disable-admission-plugins", ",".join(off), *on, "--enable-priority-and-fairness=false",
            "--delete-collection-workers=8", "--allow-privileged=true", "--profiling=false", "--audit-policy-file", "audit.json",
            "--audit-log-path", str(self.dir / "audit.log"), *self.more]

    def _openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.dir, check=True, capture_output=True)

    def _certificates(self):
        self.ca = self.dir / "ca.crt"
        for name in ("ca", "apiserver", "sa"):
            self._openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
        self._openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=davit-test-ca", "-days", "2",
                      "-out", "ca.crt")
        (self.dir / "ext").write_text(
            "subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost,DNS:kubernetes.default.svc\n"
            "extendedKeyUsage=serverAuth\n")
        self._openssl("req", "-new", "-key", "apiserver.key", "-subj", "/CN=kube-apiserver", "-out", "apiserver.csr")
        self._openssl("x509", "-req", "-in", "apiserver.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial",
                      "0x" + secrets.token_hex(8), "-days", "2", "-extfile", "ext", "-out", "apiserver.crt")
        self._openssl("ec", "-in", "sa.key", "-pubout", "-out", "sa.pub")

    def _files(self):
        with open(self.dir / "tokens.csv", "w") as f:
            for user, group in USERS.items():
                f.write(f"{self.tokens[user]},{user},{user}" + (f',"{group}"\n' if group else "\n"))
        for user, token in self.tokens.items():
            self.write_kubeconfig(self.dir / f"{user}.conf", token)
        self.kubeconfig = self.dir / "admin.conf"
        self.token = self.tokens["admin"]
        (self.dir / "audit.json").write_text(json.dumps(AUDIT))
        # a pod that did not fit is tried again after a second, not after up to ten
        (self.dir / "scheduler.json").write_text(json.dumps({
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.dir / "system:kube-scheduler.conf"), "qps": 500,
                                 "burst": 1000},
            "leaderElection": {"leaderElect": False}, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}))

    def write_kubeconfig(self, path, token, namespace="default"):
        path.write_text(json.dumps({  # JSON is YAML
            "apiVersion": "v1", "kind": "Config", "current-context": "davit-test",
            "clusters": [{"name": "davit-test", "cluster": {"server": self.server, "certificate-authority":
                                                            str(self.dir / "ca.crt")}}],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "davit-test", "context": {"cluster": "davit-test", "user": "user",
                                                            "namespace": namespace}}]}, indent=1))
        path.chmod(0o600)
        return path

    # ---- asking

    def answers(self, url):
        context = None
        if url.startswith("https"):
            import ssl
            context = ssl._create_unverified_context()  # the scheduler signs its own
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE, context=context) as r:
                return r.status == 200
        except (OSError, http.client.HTTPException):
            return False

    def client_of(self, user):
        """For one of USERS; what it does is told apart from the tests' own calls."""
        return kube.Client(self.server, self.ca, self.tokens[user])

    def api(self, method, path, body=None, content_type=None):
        """(status, reply) as cluster admin."""
        return self.client.call(method, path, body, content_type)

    def token_for(self, namespace, account, seconds=3600):
        reply = self.client.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
                                 {"spec": {"expirationSeconds": seconds}})
        return reply["status"]["token"]

    def client_for(self, namespace, account):
        return kube.Client(self.server, self.ca, self.token_for(namespace, account))

    def kubeconfig_for(self, namespace, account):
        return self.write_kubeconfig(self.dir / f"{namespace}-{account}.conf", self.token_for(namespace, account),
                                     namespace)

    def mount_for(self, namespace, account):
        """A folder as a pod sees /var/run/secrets/kubernetes.io/serviceaccount, and the pod's environment."""
        folder = self.dir / f"mount-{namespace}-{account}"
        folder.mkdir(exist_ok=True)
        (folder / "token").write_text(self.token_for(namespace, account))
        (folder / "namespace").write_text(namespace)
        shutil.copy(self.ca, folder / "ca.crt")
        return folder, {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.port)}

    def namespace(self, name):
        self.client.post("/api/v1/namespaces", {"metadata": {"name": name}})
        if "kcm" in self.parts:
            until(lambda: self.api("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default")[0] == 200)

    def apply(self, *objects):
        """Creates them, or replaces what is there."""
        return [self._apply(o) for o in objects]

    def _apply(self, obj):
        query = "?fieldManager=davit-tests&force=true"
        return self.client.need("PATCH", self.path_of(obj) + query, obj, "application/apply-patch+yaml")

    def path_of(self, obj):
        group, kind = obj["apiVersion"], obj["kind"].lower()
        plural = kind[:-1] + "ies" if kind.endswith("y") else kind + ("es" if kind.endswith("s") else "s")
        namespace = obj["metadata"].get("namespace", "default")
        wide = ("node", "namespace", "clusterrole", "clusterrolebinding", "customresourcedefinition", "priorityclass")
        return kube.path_of(f"/api/{group}" if "/" not in group else f"/apis/{group}",
                              None if kind in wide else namespace, plural, obj["metadata"]["name"])

    def install_raycluster(self):
        """The RayCluster resource (every plane has it); served when this returns."""
        import yaml
        self._apply(yaml.safe_load((HERE / "raycluster_crd.yaml").read_text()))
        until(lambda: self.api("GET", kube.clusters_path())[0] == 200, why="rayclusters are not served")

    # ---- faults and proof

    def recover(self):
        """The scheduler, the controllers and kwok anew: they would retry up to half a minute late
        after the apiserver was away, and it is not them that is tested."""
        rest = [s for s in self.servers if s not in (self.etcd, self.apiserver)]
        for server in rest:
            server.stop(hard=True)
        # a new kwok would wait until those of the old one are over
        self.client.delete("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
        for server in rest:
            server.launch()
        for server in rest:
            server.await_ready()

    def compact(self):
        """Versions before now are forgotten: a watch from one of them gets 410 Gone after a restart."""
        def etcd(path, body):
            with urllib.request.urlopen(self.etcd_url + path, json.dumps(body).encode(), timeout=10) as r:
                return json.loads(r.read())
        revision = etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"]
        etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    def audit(self, since=0, **fields):
        """What was asked, as the apiserver's audit log has it: verb=, user=, resource=, name=, subresource=."""
        found = []
        if not (self.dir / "audit.log").exists():
            return found
        for line in (self.dir / "audit.log").read_text().splitlines()[since:]:
            try:
                e = json.loads(line)
            except ValueError:
                continue  # being written
            ref = e.get("objectRef", {})
            has = {"verb": e["verb"], "user": e["user"]["username"].rsplit(":", 1)[-1],
                   "resource": ref.get("resource"), "name": ref.get("name"), "subresource": ref.get("subresource")}
            if all(has[k] == v for k, v in fields.items()):
                found.append(dict(has, code=e["responseStatus"]["code"], uri=e["requestURI"],
                                  body=e.get("requestObject"), at=e["requestReceivedTimestamp"], until=e["stageTimestamp"],
                                  agent=e.get("userAgent", "")))
        return found

    def audit_mark(self):
        """For audit(since=): from now on."""
        log = self.dir / "audit.log"
        return len(log.read_text().splitlines()) if log.exists() else 0
