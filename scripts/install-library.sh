#!/bin/sh
# Links liblockgate from the archive that cargo has built, and installs it with headers, pkg-config file and CMake package:
#
#   scripts/install-library.sh FROM [PREFIX [LIBDIR]]     (FROM: target/release; DESTDIR is honoured; PREFIX is /usr/local, LIBDIR is
#   lib, or lib/x86_64-linux-gnu where several architectures share a PREFIX)
#
# The shared library is linked here and not by cargo, because rustc hands the linker a version script of its own that leaves no room for
# versions of symbols. In the static one every symbol but lg_* is made local, so that it meets no other Rust library in a program.
#
# What stands in for libc's functions about signals (crates/lockgate/src/call/interpose_sys.rs) stays visible in both, in the shared one
# without a version, so that it is found by programs that were linked with libc's.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
from=${1:?usage: scripts/install-library.sh FROM [PREFIX [LIBDIR]]}
prefix=${2:-/usr/local}
libdir=${3:-lib}
into=${DESTDIR:-}$prefix
archive=$from/liblockgate_c.a
[ -e "$archive" ] || {
    echo "install-library: no $archive: build it with 'cargo build --release -p lockgate-c'" >&2
    exit 1
}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -n 1)
major=${version%%.*}

# One at a time; and once is enough for all tests that want the same.
mkdir -p "$into"
exec 9<"$into"
flock 9
done="$into/$libdir/pkgconfig/lockgate.pc"
if [ -e "$done" ] && [ -z "$(find "$archive" "$0" "$root/crates/lockgate-headers/include" "$root/share/c" -newer "$done" | head -n 1)" ]; then
    exit 0
fi
rm -f "$done"

mkdir -p "$into/$libdir/pkgconfig" "$into/$libdir/cmake/lockgate" "$into/include"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

interposed='sigaction signal bsd_signal ssignal __sysv_signal sysv_signal siginterrupt sigset sigignore sigaltstack
pthread_sigmask sigprocmask sighold sigrelse sigblock sigsetmask siggetmask'

# (Objects that carry bitcode beside their code, as those of the standard library and of a build with link-time optimisation do, have no
# symbols for binutils where a plugin of it reads the bitcode instead.)
objcopy -R .llvmbc -R .llvmcmd "$archive" "$work/all.a"

# One object with all that the header's functions need; the names are those of the objects that define them.
nm --defined-only --extern-only "$work/all.a" 2>/dev/null | sed -n 's/^[0-9a-f]* [A-Z] \(lg_[a-z0-9_]*\)$/-u \1/p' | sort -u >"$work/roots"
[ -s "$work/roots" ] || {
    echo "install-library: $archive has none of the header's functions" >&2
    exit 1
}
for name in $interposed; do
    echo "-u $name" >>"$work/roots"
    echo "$name" >>"$work/visible"
done
echo 'lg_*' >>"$work/visible"
ld -r --force-group-allocation "@$work/roots" -o "$work/all.o" "$work/all.a"
objcopy --wildcard --keep-global-symbols="$work/visible" "$work/all.o" "$work/lockgate.o"

rm -f "$into/$libdir/liblockgate.a"
ar rcsD "$into/$libdir/liblockgate.a" "$work/lockgate.o"
cc -shared -o "$into/$libdir/liblockgate.so.$version" "$work/lockgate.o" -Wl,--gc-sections -Wl,-soname,"liblockgate.so.$major" \
    -Wl,--version-script="$root/share/c/lockgate.map" -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -lm -lpthread -ldl
ln -sf "liblockgate.so.$version" "$into/$libdir/liblockgate.so.$major"
ln -sf "liblockgate.so.$major" "$into/$libdir/liblockgate.so"

fill() {
    sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" "$root/share/c/$1.in" >"$into/$libdir/$2"
}
fill cmake/lockgate-config-version.cmake cmake/lockgate/lockgate-config-version.cmake
fill cmake/lockgate-config.cmake cmake/lockgate/lockgate-config.cmake
cp -R "$root/crates/lockgate-headers/include/." "$into/include/"
mkdir -p "$into/share/lockgate"
cp "$root/share/c/tsan.supp" "$into/share/lockgate/"
fill lockgate.pc pkgconfig/lockgate.pc
