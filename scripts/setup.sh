#!/bin/sh
# Makes sure that the system packages which Lockgate builds on are here: installs what is missing with
# apt when root or sudo allows, else says exactly what to install. Does nothing when all is there.
set -eu

fail() {
    echo "setup: $*" >&2
    exit 1
}

# The Debian packages that are missing, on one line.
missing() {
    while read -r thing package; do
        case $thing in
            python3:*) python3 -c "import ${thing#*:}" >/dev/null 2>&1 || echo "$package" ;;
            # Unquoted: a pattern stands for its first match.
            /*) set -- $thing && [ -e "$1" ] || echo "$package" ;;
            *) command -v "$thing" >/dev/null 2>&1 || echo "$package" ;;
        esac
    done <<-END | sort -u | tr '\n' ' '
	gcc gcc
	g++ g++
	ld binutils
	make make
	patch patch
	gdb gdb
	pkg-config pkgconf
	cmake cmake
	valgrind valgrind
	/usr/include/stdio.h libc6-dev
	/usr/include/x86_64-linux-gnu/asm/unistd.h linux-libc-dev
	/usr/include/x86_64-linux-musl/stdio.h musl-dev
	/usr/lib/x86_64-linux-musl/libc.a musl-dev
	musl-gcc musl-tools
	/usr/lib/x86_64-linux-gnu/libclang-[0-9]*.so* libclang1
	python3:ensurepip python3-venv
	/usr/lib/postgresql/*/bin/postgres postgresql
	/usr/include/postgresql/*/server/postgres.h postgresql-server-dev-all
	END
}

# A Rust toolchain is not ours to install: distributions' are often too old, and people have theirs.
wanted=$(sed -n 's/^rust-version = "1\.\([0-9]*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml")
rust="install Rust 1.$wanted or later (https://rustup.rs) and try again"
command -v cargo >/dev/null 2>&1 || fail "no Rust toolchain: $rust"
found=$(cargo --version 2>&1) || fail "cargo does not run: $rust; it says: $found"
minor=$(echo "$found" | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
[ -z "$minor" ] || [ "$minor" -ge "$wanted" ] || fail "$found is too old: $rust"

packages=$(missing)
[ -n "$packages" ] || exit 0

command -v apt-get >/dev/null 2>&1 ||
    fail "missing, and no apt-get here; install the equivalents of these Debian packages: $packages"
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    fail "missing system packages; as root, run: apt-get update && apt-get install -y --no-install-recommends $packages"
fi
echo "setup: installing $packages"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } >"$log" 2>&1
then
    cat "$log" >&2
    fail "apt-get could not install these (see above; is the network there?): $packages"
fi
packages=$(missing)
[ -z "$packages" ] || fail "installed, but still not where they belong: $packages"
