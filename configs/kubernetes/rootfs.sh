#!/bin/bash
# Stages the root file system of the image: the installed davit, what it and its plug-ins are linked with, bash, the CAs.
#
#   configs/kubernetes/rootfs.sh INSTALLED OUT      INSTALLED: DESTDIR of `make install PREFIX=/usr`
#
# The Dockerfile copies OUT into an empty image; tests/integration/test_image.py measures it and runs it in a chroot.
# bash is there for KubeRay up to 1.6, which starts its autoscaler as /bin/bash -c "ray kuberay-autoscaler ...".
set -euo pipefail
installed=$1 out=$2
mkdir -p "$out"/{usr/bin,usr/lib/davit,etc/ssl/certs,tmp,proc,sys,dev,run,etc/davit,home/davit}
for link in bin lib lib64; do
    mkdir -p "$out/usr/$link"
    ln -sfn "usr/$link" "$out/$link"
done
chmod 1777 "$out/tmp"

install -m755 "$installed/usr/bin/davit" "$out/usr/bin/davit"
install -m755 "$installed"/usr/lib/davit/davit-*.so "$out/usr/lib/davit/"
rm -f "$out/usr/lib/davit/davit-local.so"            # starts raylets on its own machine: no use in here
ln -sfn davit "$out/usr/bin/ray"
install -m755 "$(readlink -f "$(command -v bash)")" "$out/usr/bin/bash"
ln -sfn bash "$out/usr/bin/sh"
strip --strip-unneeded "$out/usr/bin/davit" "$out"/usr/lib/davit/*.so

# Libraries under the names they are asked for by, from the folders they are found in.
for f in "$out/usr/bin/davit" "$out/usr/bin/bash" "$out"/usr/lib/davit/*.so; do
    ldd "$f"
done | awk '$3 ~ /^\// {print $3} $1 ~ /^\// {print $1}' | sort -u | while read -r lib; do
    to=$out/$lib
    case $lib in /usr/*) ;; *) to=$out/usr$lib ;; esac
    mkdir -p "$(dirname "$to")"
    install -m755 "$(readlink -f "$lib")" "$to"
done

# Which packages these came from, where scanners look in images without dpkg.
mkdir -p "$out/var/lib/dpkg/status.d"
{
    # dpkg is asked once: it reads all of its lists each time. It tells of diversions, too (Debian 13's libc6).
    find "$out/usr" -type f -name '*.so*' ! -path '*/usr/lib/davit/*' -printf '*/%f\n' | { xargs -r dpkg -S || true; } 2>/dev/null |
        sed '/^\(local \)\?diversion by /d; s/: .*//; s/,.*//'
    printf 'bash\nca-certificates\n'
} | sort -u | while read -r package; do
    dpkg-query -s "$package" > "$out/var/lib/dpkg/status.d/${package%%:*}"
done

install -m644 "$(readlink -f /etc/ssl/certs/ca-certificates.crt)" "$out/etc/ssl/certs/ca-certificates.crt"
printf 'root:x:0:0:root:/:/bin/bash\nray:x:1000:100:ray:/home/davit:/bin/bash\nnonroot:x:65532:65532:davit:/home/davit:/bin/bash\n' > "$out/etc/passwd"
printf 'root:x:0:\nusers:x:100:\nnonroot:x:65532:\n' > "$out/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' > "$out/etc/nsswitch.conf"
