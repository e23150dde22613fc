#!/bin/sh
# setup.sh [demo | build | python | docs | check | test]: makes sure that the system packages which this part of Lockgate needs (all, if none is named)
# are here: installs what is missing with apt when root or sudo allows, else says exactly what to install. Does nothing when all is there.
set -eu

fail() {
    echo "setup: $*" >&2
    exit 1
}

# The Debian packages that are missing, on one line.
missing() {
    while read -r thing package part; do
        case $wants:$part in
            test:docs) continue ;;
            test:* | *:demo | *:"$wants" | python:build | check:build) ;;
            *) continue ;;
        esac
        case $thing in
            python3:*) python3 -c "import ${thing#*:}" >/dev/null 2>&1 || echo "$package" ;;
            # Unquoted: a pattern stands for its first match.
            /*) set -- $thing && [ -e "$1" ] || echo "$package" ;;
            *) command -v "$thing" >/dev/null 2>&1 || echo "$package" ;;
        esac
    done <<-END | sort -u | tr '\n' ' '
	gcc gcc demo
	g++ g++ check
	ld binutils demo
	make make demo
	patch patch test
	gdb gdb test
	pkg-config pkgconf test
	cmake cmake check
	valgrind valgrind test
	/usr/include/stdio.h libc6-dev demo
	/usr/include/x86_64-linux-gnu/asm/unistd.h linux-libc-dev demo
	/usr/include/x86_64-linux-musl/stdio.h musl-dev demo
	/usr/lib/x86_64-linux-musl/libc.a musl-dev demo
	musl-gcc musl-tools demo
	/usr/lib/x86_64-linux-gnu/libclang-[0-9]*.so* libclang1 build
	mandoc mandoc docs
	python3:ensurepip python3-venv python
	/usr/lib/postgresql/*/bin/postgres postgresql test
	/usr/include/postgresql/*/server/postgres.h postgresql-server-dev-all test
	END
}

wants=${1:-test}
case $wants in
    demo | build | python | docs | check | test) ;;
    *) fail "no such part: $wants; there are demo, build, python, docs, check and test" ;;
esac

# A Rust toolchain is not ours to install: distributions' are often too old, and people have theirs.
wanted=$(sed -n 's/^rust-version = "1\.\([0-9]*\)"$/\1/p' "$(dirname "$0")/../Cargo.toml")
rust="install Rust 1.$wanted or later (https://rustup.rs) and try again"
command -v cargo >/dev/null 2>&1 || fail "no Rust toolchain: $rust"
found=$(cargo --version 2>&1) || fail "cargo does not run: $rust; it says: $found"
minor=$(echo "$found" | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
[ -z "$minor" ] || [ "$minor" -ge "$wanted" ] || fail "$found is too old: $rust"

# Tests of Rust in domains need the std of this target: of the Rust that is used, and of two versions that the tests name. Without it they are left
# out, and `make test` says so at its end. (crates/lockgate-cli/tests/cargo.rs has the same two.)
target=x86_64-unknown-linux-musl
pinned="1.88.0 1.95.0"
if [ "$wants" = test ] && command -v rustup >/dev/null 2>&1; then
    [ -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ] || {
        echo "setup: rustup target add $target"
        rustup --quiet target add $target || echo "setup: no std for $target: tests of Rust in domains are left out" >&2
    }
    for version in $pinned; do
        # The one that is used is there already.
        case "$(rustc --version 2>/dev/null)" in "rustc $version "*) continue ;; esac
        # (rustup is asked first: `rustc +version` may fetch one that is not there.)
        case " $(rustup toolchain list 2>/dev/null | tr '\n' ' ')" in
            *" $version-"*) [ -d "$(rustc +"$version" --print target-libdir --target $target 2>/dev/null)" ] && continue ;;
        esac
        echo "setup: rustup toolchain install $version --target $target"
        rustup --quiet toolchain install "$version" --profile minimal --target $target --no-self-update ||
            echo "setup: no Rust $version for $target: its tests are left out" >&2
    done
fi

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
