#!/bin/sh
# Installs program, library, annotations, manual pages and completions for shells:
#
#   scripts/install.sh FROM [PREFIX [LIBDIR]]     (FROM: target/dist; DESTDIR is honoured; as scripts/install-library.sh)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
from=${1:?usage: scripts/install.sh FROM [PREFIX [LIBDIR]]}
prefix=${2:-/usr/local}
into=${DESTDIR:-}$prefix
program=$from/lockgate

"$root/scripts/install-library.sh" "$from" "$prefix" "${3:-lib}"
# (The standard library comes with debug sections of its own. What gdb reads of ours, .debug_gdb_scripts, is no such section.)
strip -D --strip-debug "$into/${3:-lib}/liblockgate.a" "$into/${3:-lib}"/liblockgate.so.*.*.*
mkdir -p "$into/bin" "$into/share/lockgate/stubs" "$into/share/man" "$into/share/bash-completion/completions" \
    "$into/share/zsh/site-functions" "$into/share/fish/vendor_completions.d"
install -m 755 "$program" "$into/bin/"
ln -sf lockgate "$into/bin/lockgate-cc"
install -m 644 "$root/crates/lockgate/gdb/lockgate.py" "$into/share/lockgate/"
install -m 644 "$root"/share/stubs/*.lg.h "$into/share/lockgate/stubs/"
"$program" man "$into/share/man"
"$program" completions bash >"$into/share/bash-completion/completions/lockgate"
"$program" completions zsh >"$into/share/zsh/site-functions/_lockgate"
"$program" completions fish >"$into/share/fish/vendor_completions.d/lockgate.fish"
