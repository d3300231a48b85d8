#!/bin/bash
# Packs a staged tree (stage.sh, PREFIX=/usr) as a Debian package.
#
#   SOURCE_DATE_EPOCH=N configs/packaging/deb.sh STAGE VERSION OUT.deb
#
# dpkg's own programs do it: dpkg-shlibdeps finds what the program and its plug-ins are linked with, dpkg-deb packs.  The same
# stage gives the same bytes.
set -euo pipefail
stage=$1 version=$2-1 out=$3
from=$(cd "$(dirname "$0")/debian" && pwd)
umask 022
doc=$stage/usr/share/doc/davit

find "$stage/usr/bin" "$stage/usr/lib/davit" -type f -exec strip --strip-unneeded -R .comment -R .note {} +
install -D -m644 "$doc/examples/davit.yaml" "$stage/etc/davit/davit.yaml"
# systemd's units are below /lib in Debian 12, and Debian has the licence itself.
mkdir -p "$stage/lib/systemd/system"
mv "$stage/usr/lib/systemd/system/davit.service" "$stage/lib/systemd/system/"
rmdir -p --ignore-fail-on-non-empty "$stage/usr/lib/systemd/system"
rm "$doc/LICENSE"
install -m644 "$from/copyright" "$doc/copyright"
install -D -m644 "$from/lintian-overrides" "$stage/usr/share/lintian/overrides/davit"
mv "$doc/CHANGELOG.md" "$doc/changelog"
printf 'davit (%s) unstable; urgency=medium\n\n  * /usr/share/doc/davit/changelog.gz says what is new.\n\n -- %s  %s\n' "$version" \
    "$(sed -n 's/^Maintainer: //p' "$from/control")" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" > "$doc/changelog.Debian"
find "$stage/usr/share/man" "$doc/changelog" "$doc/changelog.Debian" -type f -exec gzip -9nf {} +

# dpkg-shlibdeps wants a source package's folder around it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
printf 'Source: davit\n\nPackage: davit\nArchitecture: any\n' > "$work/debian/control"
tree=$(cd "$stage" && pwd)
depends=$(cd "$work" && find "$tree/usr/bin" "$tree/usr/lib/davit" -type f -print0 |
    xargs -0 dpkg-shlibdeps -O --ignore-missing-info 2>/dev/null | sed -n 's/^shlibs:Depends=//p')

mkdir "$stage/DEBIAN"
for script in postinst prerm postrm; do install -m755 "$from/$script" "$stage/DEBIAN/$script"; done
install -m644 "$from/conffiles" "$stage/DEBIAN/conffiles"
(cd "$stage" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' md5sum) > "$stage/DEBIAN/md5sums"
size=$(cd "$stage" && find . -type f ! -path './DEBIAN/*' -printf '%s\n' | awk '{n += int(($1 + 1023) / 1024)} END {print n}')
sed "s|@VERSION@|$version|; s|@ARCH@|$(dpkg --print-architecture)|; s|@SIZE@|$size|; s|@DEPENDS@|$depends|" "$from/control" > "$stage/DEBIAN/control"
chmod 644 "$stage/DEBIAN"/{control,md5sums}
find "$stage" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$stage" "$out" > /dev/null
