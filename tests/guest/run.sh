#!/bin/sh
# What the runtime believes of the kernel (kernel.c), asked of Debian's kernels in QEMU, without KVM and without root:
#     tests/guest/run.sh [METAPACKAGE...]         # default: those of Debian 12, 6.1 and 6.12
# Needs qemu-system-x86, cpio, gcc and apt's package lists. What is missing is said, and that part skipped; the exit status is 77 if no kernel
# was asked at all. Each run has a folder of its own below build/guest, which stays if something failed. Not part of `make test`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "SKIPPED: tests/guest: $1" >&2; exit 77; }
for tool in qemu-system-x86_64 cpio gcc apt-get dpkg-deb; do
    command -v $tool >/dev/null || skip "no $tool"
done
[ $# -gt 0 ] || set -- linux-image-cloud-amd64 linux-image-6.12-cloud-amd64
mkdir -p "$here/../../build/guest"
work=$(mktemp -d "$here/../../build/guest/run.XXXXXX")
mkdir -p "$work/root/proc"
cd "$work"
gcc -O2 -static -Wall -o root/init "$here/kernel.c"
(cd root && find . | cpio --quiet -o -H newc) > initrd
status=0
asked=0
for package; do
    # The metapackage's name stays, that of the kernel has its version in it.
    kernel=$(LC_ALL=C apt-cache depends "$package" 2>/dev/null | awk '/ Depends: linux-image-/ { print $2; exit }')
    if [ -z "$kernel" ] || ! apt-get download "$kernel" >/dev/null 2>&1; then
        echo "SKIPPED: tests/guest: $package cannot be had" >&2
        continue
    fi
    asked=$((asked + 1))
    mkdir -p "$package"
    dpkg-deb --fsys-tarfile "$(ls -t "$kernel"_*.deb | head -1)" | tar -x -C "$package" --wildcards './boot/vmlinuz-*'
    timeout 300 qemu-system-x86_64 -nodefaults -no-user-config -display none -M pc -accel tcg -cpu max,-smap -m 512 -no-reboot \
        -kernel "$(ls -t "$package"/boot/vmlinuz-* | head -1)" -initrd initrd -serial "file:$package/console" \
        -append "console=ttyS0 panic=-1 quiet loglevel=3 mitigations=off" </dev/null || true
    tr -d '\r' < "$package/console" | grep -E '^(kernel|ok|FAILED|here|RESULT)' || true
    grep -q 'RESULT: passed' "$package/console" || { echo "tests/guest: $package: failed: $work/$package/console" >&2; status=1; }
done
[ $status -ne 0 ] || rm -rf "$work"
[ $asked -gt 0 ] || skip "there was no kernel to ask"
exit $status
