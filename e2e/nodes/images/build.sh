#!/usr/bin/env bash
# Makes the images of clusters with nodes, all in one tar for `ctr images import`, from programs of this machine. All have
# the same one layer, so that a node stores and unpacks it once; they differ in name and first program.
#
#   build.sh OUT SERVER COREDNS COREDNS_VERSION
#
# Layer: static programs (busybox with all its applets, pod-server, coredns), and of Debian's packages dash, wget, socat and
# nc.openbsd with their libraries: the static busybox has a wget that crashes, another nc, and a sh that prefers both.
# alpine/socat and nicolaka/netshoot bear the names that the conformance suite of the MCS API asks for, and have every
# program that it calls; e2e/nodes/tests/nodes/images.rs calls each as it does.
set -euo pipefail

out=$1
server=$2
coredns=$3
version=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# with_libraries PROGRAM TARGET: copies a program to TARGET of the image, with the libraries that it loads.
with_libraries() {
    local library
    install -D -m 0755 "$1" "$root$2"
    ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
        [ -e "$root$library" ] || install -D -m 0755 "$(readlink -f "$library")" "$root$library"
    done
}

mkdir -p "$root"/{bin,etc,root,usr/bin,var/run} "$root/tmp"
chmod 1777 "$root/tmp"
install -m 0755 "$(command -v busybox)" "$root/bin/busybox"
for applet in $("$root/bin/busybox" --list); do
    [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
install -m 0755 "$server" "$root/pod-server"
install -m 0755 "$coredns" "$root/coredns"
# PROGRAM:NAME, each in place of the applet of that name.
for pair in dash:sh wget:wget socat:socat nc.openbsd:nc; do
    program=${pair%:*}
    with_libraries "$(readlink -f "$(command -v "$program")")" "/usr/bin/$program"
    ln -sf "../usr/bin/$program" "$root/bin/${pair#*:}"
done
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"

case $(uname -m) in
aarch64 | arm64) architecture=arm64 ;;
*) architecture=amd64 ;;
esac
mkdir "$work/image"
# What is inside does not depend on when and by whom it was made.
tar --create --directory "$root" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
    --file "$work/image/layer.tar" .
layer=$(sha256sum "$work/image/layer.tar" | cut -d' ' -f1)

# image NAME ENTRYPOINT: adds an image; ENTRYPOINT is a list in JSON.
manifest=
image() {
    local config
    config=$(printf '{"architecture":"%s","os":"linux","config":{"Env":["PATH=/usr/bin:/bin"],"Entrypoint":%s},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
        "$architecture" "$2" "$layer")
    printf '%s' "$config" >"$work/config"
    local file
    file=$(sha256sum "$work/config" | cut -d' ' -f1).json
    mv "$work/config" "$work/image/$file"
    manifest+=${manifest:+,}$(printf '{"Config":"%s","RepoTags":["%s"],"Layers":["layer.tar"]}' "$file" "$1")
}
image registry.k8s.io/pause:3.10 '["/pod-server","pause"]'
image "registry.k8s.io/coredns/coredns:$version" '["/coredns"]'
image localhost/fleet-e2e/server:1 '["/pod-server"]'
image localhost/fleet-e2e/shell:1 'null'
image docker.io/alpine/socat:1.7.4.4 '["socat"]'
image docker.io/nicolaka/netshoot:v0.15 'null'
printf '[%s]' "$manifest" >"$work/image/manifest.json"
tar --create --directory "$work/image" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner \
    --file "$work/out.tar" .
mv "$work/out.tar" "$out"
