#!/bin/bash
# Runs parts of the tests on emulated processors: without AVX-512, without AVX2, and one of Intel's.
#
#   tests/guest/processors.sh [MODEL...]     (a model is an argument of qemu-system-x86_64 -cpu)
#
# QEMU emulates them (TCG, no virtualisation is needed) under the distribution's own kernel, which is fetched and not installed. The guest has
# no disk: what the tests need of this machine (the compiler, the C libraries, the tree's sources, the test programs) is its initial file system.
# Takes some ten minutes a model. It is no part of `make test`. Each run has a folder of its own below build/guest, in which its logs stay.
# Needs: apt-get install qemu-system-x86 busybox-static cpio
#
# PARTS narrows it down: words out of verifier, evidence, proxies, signals, installed, attacks, refusals; all of them but the last otherwise (it is
# about the kernel: refused system calls and a FUSE server that refuses, on the oldest kernel promised). ATTACKS: their areas.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
PARTS=${PARTS:-verifier evidence proxies signals installed attacks}
ATTACKS=${ATTACKS:-memory processor state signal}
# QEMU 7.2 stops the guest where a return to user space meets SMAP.
models=("$@")
[ $# -gt 0 ] || models=(max,-smap max,-smap,-avx2 Skylake-Client,-smap)
for needed in qemu-system-x86_64 busybox cpio; do
    command -v "$needed" >/dev/null || {
        echo "SKIPPED: there is no $needed (apt-get install qemu-system-x86 busybox-static cpio)" >&2
        exit 77
    }
done
mkdir -p "$root/build/guest"
work=$(mktemp -d "$root/build/guest/run.XXXXXX")
trap 'rm -rf "$work/tree" "$work/initrd" "$work/kernel"' EXIT

# The kernel is the same for all runs, and complete from the moment on at which it has its name.
kernel=${GUEST_KERNEL:-$root/build/guest/vmlinuz}
[ -e "$kernel" ] || (
    mkdir "$work/kernel"
    cd "$work/kernel"
    package=$(LC_ALL=C apt-cache depends linux-image-cloud-amd64 | awk '/ Depends: linux-image-/ { print $2; exit }')
    apt-get download "$package"
    dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x --wildcards './boot/vmlinuz-*' './lib/modules/*/fuse.ko'
    cp lib/modules/*/kernel/fs/fuse/fuse.ko "$kernel.fuse.ko"
    mv boot/vmlinuz-* "$kernel"
)

# ---- The programs, and what each is called with ----

commands=$work/commands
: >"$commands"
programs=()
# NAME, then cargo's arguments for one test program, then -- and the program's.
add() {
    local part=$1 cargo=() program
    shift
    case " $PARTS " in *" $part "*) ;; *) return 0 ;; esac
    while [ "$1" != -- ]; do
        cargo+=("$1")
        shift
    done
    shift
    program=$(cargo test --locked --no-run --message-format=json "${cargo[@]}" 2>"$work/cargo" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
    [ -n "$program" ] || {
        cat "$work/cargo" >&2
        exit 1
    }
    programs+=("$program")
    # Packages' own folders are where cargo runs tests.
    echo "cd $root/$(folder "${cargo[1]}") && $program $*" >>"$commands"
}
folder() {
    case $1 in attacks | installed) echo "tests/$1" ;; *-tests) echo "crates/${1%-tests}/tests" ;; *) echo "crates/$1" ;; esac
}
for test in cases reading encodings tables hostile; do
    add verifier -p lockgate-verify --test suites -- -q $test::
done
add evidence -p lockgate-evidence --test quick -- -q accepted_ the_decoders
add proxies -p lockgate-tests --test units -- -q call:: host::
add signals -p lockgate-tests --test suites -- -q rules_signals::
add signals -p lockgate-tests --test suites -- -q rules_cpu::
add refusals -p lockgate-tests --test suites -- -q refusals::
add installed -p installed --test suites -- -q of_a_program when_a_module_is_loaded
add attacks -p attacks --test hygiene -- -q
case " $PARTS " in
*" attacks "*)
    cargo build --locked -p attacks 2>"$work/cargo"
    programs+=("$root/${CARGO_TARGET_DIR:-target}/debug/attacks")
    echo "$root/${CARGO_TARGET_DIR:-target}/debug/attacks --threads 1 $ATTACKS | grep -v '^held'; exit \${PIPESTATUS[0]}" >>"$commands"
    ;;
esac
# (Beside a test program lies what it starts, and what it has installed.)
target=$root/${CARGO_TARGET_DIR:-target}

[ -s "$commands" ] || {
    echo "SKIPPED: none of the tests' parts is called $PARTS" >&2
    exit 77
}

# ---- The guest's file system ----

files=$work/files
{
    for package in gcc gcc-12 cpp cpp-12 libgcc-12-dev binutils binutils-common binutils-x86-64-linux-gnu libbinutils musl musl-dev musl-tools \
        libc6 libc6-dev libc-bin libc-dev-bin linux-libc-dev bash coreutils grep sed findutils dash util-linux mawk libgcc-s1 libctf0 libctf-nobfd0 libjansson4 \
        libisl23 libmpc3 libmpfr6 libgmp10 zlib1g libzstd1 libtinfo6 libselinux1 libpcre2-8-0 libacl1 libattr1 debianutils; do
        dpkg -L "$package" 2>/dev/null || true
    done | grep -v -e /usr/share/ -e '/lto1$' -e /lto-dump -e '/libasan' -e '/gprofng' | while read -r file; do
        [ -d "$file" ] || echo "$file"
    done
    for program in "${programs[@]}"; do
        echo "$program"
        ldd "$program" | sed -n 's/.* \(\/[^ ]*\) (.*/\1/p'
    done
    [ ! -e "$target/debug/evidence" ] || echo "$target/debug/evidence"
    ls "$target"/debug/deps/liblockgate_c.a 2>/dev/null || true
    git ls-files -- crates tests include scripts share sysroot docs Cargo.toml | sed "s|^|$root/|"
    find "${XDG_CACHE_HOME:-$HOME/.cache}/lockgate" -type f
    # Links of the distribution's own, on the way to what is above.
    for link in /bin /sbin /lib /lib64 /etc/alternatives /etc/ld.so.cache /etc/ld.so.conf /usr/bin/awk /etc/alternatives/awk /bin/sh; do
        echo "$link"
    done
} | sort -u >"$files"
tree=$work/tree
rm -rf "$tree"
mkdir -p "$tree"/{proc,sys,dev,tmp,etc,root} "$tree/$target/tmp"
mkdir -p "$tree"/usr/{bin,sbin,lib,lib64}
for link in bin sbin lib lib64; do
    ln -sfn "usr/$link" "$tree/$link"
done
tar -c --no-recursion -h -T <(grep -v -e '^/bin$' -e '^/sbin$' -e '^/lib$' -e '^/lib64$' "$files") 2>/dev/null | tar -x --keep-directory-symlink -C "$tree" || true
cp "$(command -v busybox)" "$tree/busybox"
cp "$commands" "$tree/commands"
[ ! -e "$kernel.fuse.ko" ] || cp "$kernel.fuse.ko" "$tree/fuse.ko"
cat >"$tree/init" <<'INIT'
#!/busybox sh
/busybox mount -t proc proc /proc
/busybox mount -t sysfs sys /sys
/busybox mount -t devtmpfs dev /dev
/busybox mkdir -p /dev/pts /dev/shm
/busybox mount -t devpts pts /dev/pts
/busybox mount -t tmpfs tmp /tmp
/busybox mount -t tmpfs shm /dev/shm
/busybox ifconfig lo up
[ ! -e /fuse.ko ] || /busybox insmod /fuse.ko
export PATH=/usr/bin:/usr/sbin HOME=/root TERM=dumb RUST_BACKTRACE=0
/busybox grep -m1 "model name" /proc/cpuinfo
while read -r line; do
    echo "== $line"
    /usr/bin/bash -c "$line" </dev/null 2>&1
    echo "== status $?"
done </commands
echo "== over"
/busybox reboot -f
INIT
chmod 755 "$tree/init"
(cd "$tree" && find . -print0 | cpio --quiet -0 -o -H newc -R 0:0) >"$work/initrd"

# ---- The models ----

wrong=0
for model in "${models[@]}"; do
    log=$work/$(echo "$model" | tr -c 'A-Za-z0-9\n' _).log
    echo "$model: $log"
    timeout "${GUEST_SECONDS:-3600}" qemu-system-x86_64 -nodefaults -no-user-config -display none -M pc -accel tcg -cpu "$model" -m 3072 -no-reboot \
        -kernel "$kernel" -initrd "$work/initrd" -serial "file:$log" </dev/null 2>"$log.qemu" \
        -append "console=ttyS0 panic=-1 quiet loglevel=3 acpi=off mitigations=off nokaslr no_timer_check tsc=reliable" || true
    tr -d '\r' <"$log" | grep -e '^model name' -e '^== ' -e 'test result' -e SKIPPED -e 'NOT HELD' -e 'attacks held' -e FAILED -e panicked || true
    if ! grep -q '== over' "$log" || tr -d '\r' <"$log" | grep '^== status' | grep -qv '^== status 0$'; then
        echo "$model: NOT as it should be"
        wrong=1
    fi
done
exit $wrong
