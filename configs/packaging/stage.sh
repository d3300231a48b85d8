#!/bin/bash
# Lays out what is installed, as a tree: `make install`, the Debian package and the image all begin here.
#
#   configs/packaging/stage.sh BUILD OUT PREFIX PLUGIN_DIR VERSION [FILE...]    FILE: the plug-ins
#
# Times are those of SOURCE_DATE_EPOCH, so that the same build gives the same tree.
set -euo pipefail
build=$1 out=$2 prefix=$3 plugins=$4 version=$5
shift 5
umask 022
rm -rf "$out"
put() { install -D -m"$1" "$2" "$out$3"; }

put 755 "$build/davit" "$prefix/bin/davit"
for so in "$@"; do put 755 "$so" "$plugins/${so##*/}"; done
put 644 autoscaler/provider.h "$prefix/include/davit/provider.h"
put 644 configs/catalogue.yaml "$prefix/share/davit/catalogue.yaml"
for f in configs/sim.yaml configs/exec.yaml configs/shared-gpu.yaml configs/resnet-gke.yaml configs/local-ray.yaml; do
    put 644 "$f" "$prefix/share/doc/davit/examples/${f##*/}"
done
put 644 configs/packaging/davit.yaml "$prefix/share/doc/davit/examples/davit.yaml"
put 644 CHANGELOG.md "$prefix/share/doc/davit/CHANGELOG.md"
put 644 LICENSE "$prefix/share/doc/davit/LICENSE"

put 644 configs/davit.service "$prefix/lib/systemd/system/davit.service"
sed -i "s|/usr/bin/davit|$prefix/bin/davit|" "$out$prefix/lib/systemd/system/davit.service"

mkdir -p "$out$prefix/share/pkgconfig"
cat > "$out$prefix/share/pkgconfig/davit.pc" <<PC
prefix=$prefix
includedir=\${prefix}/include
plugindir=$plugins

Name: davit
Description: Davit provider plug-in contract
Version: $version
Cflags: -I\${includedir}
PC

# Pages and scripts, by the program itself.
mkdir -p "$out$prefix/share/man/man1" "$out$prefix/share/man/man5" "$out$prefix/share/bash-completion/completions" \
    "$out$prefix/share/zsh/vendor-completions" "$out$prefix/share/fish/vendor_completions.d"
"$build/davit" __man "$out$prefix/share/man"
"$build/davit" completion bash > "$out$prefix/share/bash-completion/completions/davit"
"$build/davit" completion zsh > "$out$prefix/share/zsh/vendor-completions/_davit"
"$build/davit" completion fish > "$out$prefix/share/fish/vendor_completions.d/davit.fish"

find "$out" -exec touch -hd "@${SOURCE_DATE_EPOCH:-$(date +%s)}" {} +
