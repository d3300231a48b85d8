"""Machines of a test cloud that really start: each is a host of its own (network,
processes, mounts), wired to the head's, and runs the user data it was given.

The head's network is the test's own namespace, with a bridge at 10.77.0.1; the
metadata service answers at 169.254.169.254 there and tells machines apart by
their address.  Needs root, as `unshare` and `ip` do; nothing leaves the
namespace, and all of it goes with its last process.
"""
import base64
import http.server
import json
import os
import socket
import subprocess
import threading

from lib import until

HEAD = "10.77.0.1"
BOOT = """
mount -t tmpfs none /tmp && mount -t tmpfs none /var/log && mount -t tmpfs none /dev/shm
mkdir /tmp/home && printf 'export PATH=%s:$PATH\\n' "$RAY_PATH" > /tmp/home/.bash_profile
cp /tmp/home/.bash_profile /tmp/home/.profile
read go
ip link set lo up; ip addr add $ADDRESS/24 dev eth0; ip link set eth0 up; ip route add default via 10.77.0.1
echo "$USER_DATA" | base64 -d > /tmp/user-data
cd /tmp; HOME=/tmp/home bash /tmp/user-data; echo "user data: $?"
exec sleep 100000
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def bridge():
    ip("link", "add", "br0", "type", "bridge")
    ip("addr", "add", f"{HEAD}/24", "dev", "br0")
    ip("link", "set", "br0", "up")
    ip("addr", "add", "169.254.169.254/32", "dev", "lo")


def unbridge():
    """The bridge goes, and what a machine's end has left of its wire for a moment."""
    for _, name in socket.if_nameindex():
        if name != "lo":
            subprocess.run(["ip", "link", "del", name], check=False, capture_output=True)
    ip("addr", "del", "169.254.169.254/32", "dev", "lo")


class Host:
    """One machine, from its start to its end."""

    def __init__(self, name, n, user_data, ray_path, log):
        self.address = f"10.77.0.{n}"
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ADDRESS": self.address,
               "USER_DATA": user_data, "RAY_PATH": ray_path, "RAY_USAGE_STATS_ENABLED": "0",
               "RAY_enable_autoscaler_v2": "1", "RAY_local_fs_capacity_threshold": "1.0", "LANG": "C.UTF-8"}
        self.p = subprocess.Popen(["unshare", "-n", "-m", "-p", "--fork", "--mount-proc", "--kill-child", "bash", "-c", BOOT],
                                  stdin=subprocess.PIPE, stdout=log, stderr=log, env=env)
        ip("link", "add", f"m{n}", "type", "veth", "peer", "name", f"e{n}")
        self.until_apart()
        ip("link", "set", f"e{n}", "netns", str(self.p.pid))
        ip("link", "set", f"m{n}", "master", "br0", "up")
        subprocess.run(["nsenter", "-t", str(self.p.pid), "-n", "ip", "link", "set", f"e{n}", "name", "eth0"], check=True)
        self.p.stdin.write(b"go\n")
        self.p.stdin.flush()

    def until_apart(self):
        until(lambda: os.readlink(f"/proc/{self.p.pid}/ns/net") != os.readlink("/proc/self/ns/net"),
              why="the machine has no network of its own")

    def end(self):
        self.p.kill()  # --kill-child: its init, and with it all that it started
        self.p.wait(20)
        self.p.stdin.close()


class Metadata(http.server.BaseHTTPRequestHandler):
    hosts = {}    # address -> id, of Compute Engine ZONE/NAME
    token = None  # of a service account; None: there is none
    taken = None  # id of a machine that Azure takes back

    def do_PUT(self):
        self.say("TOKEN" if self.path == "/latest/api/token" else None)

    def do_GET(self):
        here = self.client_address[0]
        ours = (self.google if self.path.startswith("/computeMetadata/v1/") else
                self.azure if self.path.startswith("/metadata/") else self.amazon)
        ours(self.hosts.get(here), here if here in self.hosts else HEAD)

    def amazon(self, machine, address):
        if self.headers.get("X-aws-ec2-metadata-token") != "TOKEN":
            return self.say(None, 401)
        self.say({"/latest/meta-data/instance-id": machine, "/latest/meta-data/local-ipv4": address}.get(self.path))

    def google(self, machine, address):
        """docs.cloud.google.com/compute/docs/metadata/predefined-metadata-keys"""
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.say(None, 403)
        zone, _, name = (machine or "").partition("/")
        path = self.path.removeprefix("/computeMetadata/v1/instance/").partition("?")[0]
        if path == "service-accounts/default/token" and self.token:
            return self.say(json.dumps({"access_token": type(self).token(), "expires_in": 3599, "token_type": "Bearer"}))
        self.say({"name": name, "zone": zone and f"projects/123456/zones/{zone}", "network-interfaces/0/ip": address}.get(path))

    def azure(self, machine, address):
        """learn.microsoft.com/azure/virtual-machines/instance-metadata-service"""
        path, _, query = self.path.partition("?")
        if self.headers.get("Metadata") != "true" or "api-version=" not in query:
            return self.say(None, 400)
        if path == "/metadata/identity/oauth2/token" and self.token:
            return self.say(json.dumps({"access_token": type(self).token(), "expires_in": "3599", "token_type": "Bearer"}))
        event = {"EventId": "A1", "EventType": "Preempt", "ResourceType": "VirtualMachine", "Resources": [self.taken], "EventStatus": "Scheduled"}
        self.say({"/metadata/scheduledevents": json.dumps({"DocumentIncarnation": 1, "Events": [event] if self.taken else []}),
                  "/metadata/instance/compute/name": machine,
                  "/metadata/instance/network/interface/0/ipv4/ipAddress/0/privateIpAddress": address}.get(path))

    def say(self, text, status=404):
        self.send_response(200 if text else status)
        out = (text or "no").encode()
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    def log_message(self, *_):
        pass


class Hosts(threading.Thread):
    """Starts what the cloud has started, ends what it has ended."""
    n = 10  # the last part of an address: no two hosts of a session have the same

    def __init__(self, billed, ray_path, log):
        super().__init__(daemon=True)
        self.billed, self.ray_path, self.log = billed, ray_path, open(log, "wb")
        self.going, self.on, self.problem = True, {}, None
        self.server = http.server.ThreadingHTTPServer(("169.254.169.254", 80), Metadata)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def run(self):
        try:
            while self.going:
                self.turn(self.billed())
                threading.Event().wait(0.3)  # wait: between two looks at what the cloud has
        except Exception as e:
            self.problem = e

    def turn(self, billed):
        for i in [i for i in self.on if i not in billed]:
            self.on.pop(i).end()
        for i in [i for i in billed if i not in self.on]:
            Hosts.n += 1
            Metadata.hosts[f"10.77.0.{self.n}"] = i
            self.on[i] = Host(i, self.n, billed[i]["user_data"], self.ray_path, self.log)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.going = False
        self.join(60)
        for h in self.on.values():
            h.end()
        self.server.shutdown()
        self.server.server_close()
        self.log.close()
        if kind is None:
            assert self.problem is None, self.problem


def decoded(user_data):
    return base64.b64decode(user_data).decode()
