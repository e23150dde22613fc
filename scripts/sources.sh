# Sources of others' software, for scripts that build it by `lockgate`: they read this file (`.`) when they have set $suite, their name. It sets
# $lockgate, the program, $ours, our files for the suite, $work, a folder of the script's own, and $sources, the folder of unpacked sources.
# shellcheck shell=sh disable=SC2034,SC2154 # set for the script, and by it

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
ours=$PWD/tests/$suite
work=$PWD/build/$suite
sources=${SOURCES:-$work/sources}
mkdir -p "$work" "$sources"

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
[ -x "$lockgate" ] || { echo "$(basename "$0"): no $lockgate: make build" >&2; exit 1; }

# package NAME: the sources of a Debian or Ubuntu source package, unpacked in $sources/NAME, if they are not there: the folder is $at. That needs
# deb-src entries.
package() {
    at=$sources/$1
    [ -d "$at" ] && return
    rm -rf "$work/$1.part"
    mkdir -p "$work/$1.part"
    (cd "$work/$1.part" && apt-get source -qq --download-only "$1" >log 2>&1 && dpkg-source --no-check -x ./*.dsc source >>log 2>&1) ||
        skip "no source package $1: $(tail -1 "$work/$1.part/log")"
    mv "$work/$1.part/source" "$at"
    rm -rf "$work/$1.part"
}

# repository AT URL COMMIT: the files of a repository of git's as they are at a commit, in the folder AT, if they are not there. False if they
# are not to be had; the end of $work/log says why.
repository() {
    [ -d "$1" ] && return
    rm -rf "$1.part"
    git clone --quiet --no-checkout "$2" "$1.part" >"$work/log" 2>&1 || return
    git -C "$1.part" checkout --quiet "$3" >"$work/log" 2>&1 || return
    mv "$1.part" "$1"
}
