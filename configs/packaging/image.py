#!/usr/bin/env python3
"""A root file system as an OCI image layout, with no container daemon.

    SOURCE_DATE_EPOCH=N configs/packaging/image.py ROOTFS DOCKERFILE VERSION REVISION OUT

How it is run (ENV, USER, WORKDIR, EXPOSE, ENTRYPOINT, CMD) is read from the Dockerfile's last stage, so that both make the
same image.  Times, owners and order are fixed: the same root file system gives the same digest.  REVISION is the commit, or
"".  Rules: OCI image-spec 1.1 (image-layout.md, config.md, manifest.md, annotations.md).
"""
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile

TYPE = "application/vnd.oci.image."
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def layer_tar(root):
    """All below root, in the order of their names, owned by root:root."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            info = tar.gettarinfo(str(path), str(path.relative_to(root)))
            if info.type == tarfile.LNKTYPE:  # a second name of a file: a copy is as good
                info = tar.gettarinfo(str(path.resolve()), str(path.relative_to(root)))
                info.type = tarfile.REGTYPE
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            info.mtime = EPOCH
            if info.isreg():
                with open(path, "rb") as f:
                    tar.addfile(info, f)
            else:
                tar.addfile(info)
    return out.getvalue()


def squeezed(data):
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=6, mtime=0) as f:
        f.write(data)
    return out.getvalue()


def run_config(dockerfile):
    """What the last stage says, as an image's "config"."""
    text = dockerfile.read_text().replace("\\\n", " ")
    last = text[text.rindex("\nFROM "):]
    words = re.findall(r"^(ENV|USER|WORKDIR|EXPOSE|ENTRYPOINT|CMD) (.*)$", last, re.M)
    config = {}
    for word, rest in words:
        if word == "ENV":
            config["Env"] = shlex.split(rest)
        elif word == "EXPOSE":
            config["ExposedPorts"] = {f"{port}/tcp": {} for port in rest.split()}
        elif word in ("ENTRYPOINT", "CMD"):
            config[word.capitalize()] = json.loads(rest)
        else:
            config["User" if word == "USER" else "WorkingDir"] = rest.strip()
    return config


class Layout:
    def __init__(self, folder):
        self.folder = folder
        (folder / "blobs/sha256").mkdir(parents=True)

    def write(self, name, value):
        (self.folder / name).write_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())

    def blob(self, data, kind):
        """Stores it; its descriptor."""
        if not isinstance(data, bytes):
            data = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(data)
        return {"mediaType": TYPE + kind, "digest": f"sha256:{digest}", "size": len(data)}


def main():
    root, dockerfile, version, revision, out = sys.argv[1:]
    out = pathlib.Path(out)
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    created = datetime.datetime.fromtimestamp(EPOCH, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"org.opencontainers.image.title": "davit", "org.opencontainers.image.version": version,
              "org.opencontainers.image.description": "Davit, an autoscaler of GPU machines for Ray and Kubernetes",
              "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.created": created,
              **({"org.opencontainers.image.revision": revision} if revision else {})}
    shutil.rmtree(out, ignore_errors=True)
    layout = Layout(out)
    tar = layer_tar(pathlib.Path(root))
    layer = layout.blob(squeezed(tar), "layer.v1.tar+gzip")
    config = layout.blob({
        "created": created, "os": "linux", "architecture": ARCHITECTURES.get(machine, machine),
        "config": {**run_config(pathlib.Path(dockerfile)), "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest()]},
        "history": [{"created": created, "created_by": "make image"}]}, "config.v1+json")
    manifest = layout.blob({"schemaVersion": 2, "mediaType": TYPE + "manifest.v1+json", "config": config, "layers": [layer],
                            "annotations": labels}, "manifest.v1+json")
    layout.write("index.json", {"schemaVersion": 2, "mediaType": TYPE + "index.v1+json",
                                "manifests": [{**manifest, "annotations": {"org.opencontainers.image.ref.name": version}}]})
    layout.write("oci-layout", {"imageLayoutVersion": "1.0.0"})
    print(f"{out}: davit:{version} {manifest['digest']}, {layer['size'] / 1e6:.1f} MB")


main()
