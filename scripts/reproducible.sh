#!/bin/sh
# Runs a command so that cargo makes the same bytes whatever the folder and the time: reproducible.sh COMMAND...
#
# The names of this tree's folder and of cargo's are not in what is built: their files are lockgate/… and cargo/… there.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd -P)
cargo=$(cd "${CARGO_HOME:-$HOME/.cargo}" && pwd -P)
[ -z "${RUSTFLAGS:-}${CARGO_ENCODED_RUSTFLAGS:-}" ] || echo "reproducible: RUSTFLAGS are not used" >&2
unset RUSTFLAGS
between=$(printf '\037')
CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$root=lockgate$between--remap-path-prefix=$cargo=cargo"
# What archives and documents say of times: that of the newest change, or of the change log where there is no history.
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")}"
export CARGO_ENCODED_RUSTFLAGS SOURCE_DATE_EPOCH CARGO_INCREMENTAL=0 TZ=UTC LC_ALL=C.UTF-8
exec "$@"
