#!/bin/sh
# Makes sure that the system packages which Lockgate builds on are here: installs what is missing with
# apt when root or sudo allows, else says exactly what to install. Does nothing when all is there.
set -eu

missing=""
need() { # command-or-file package
    case $1 in
        /*) [ -e "$1" ] || missing="$missing $2" ;;
        *) command -v "$1" >/dev/null 2>&1 || missing="$missing $2" ;;
    esac
}

need gcc gcc
need g++ g++
need ld binutils
need make make
need gdb gdb
need /usr/include/x86_64-linux-musl/stdio.h musl-dev
need /usr/lib/x86_64-linux-musl/libc.a musl-dev
need musl-gcc musl-tools
need /usr/include/x86_64-linux-gnu/asm/unistd.h linux-libc-dev

if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: no Rust toolchain: install one (https://rustup.rs, or apt install rustup) and try again" >&2
    exit 1
fi

[ -z "$missing" ] && exit 0
packages=$(printf '%s\n' $missing | sort -u | tr '\n' ' ')

if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: missing, and no apt-get here; install the equivalents of these Debian packages: $packages" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo"
else
    echo "setup: missing system packages; as root, run: apt-get install -y --no-install-recommends $packages" >&2
    exit 1
fi
echo "setup: installing $packages"
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $packages
