#!/bin/sh
# The example with three libraries (examples/cpp/libraries), built and run: expat, libogg and hunspell in domains, of Debian's sources.
#
# Their sources come from Debian's or Ubuntu's source packages (build/cpp-example), which needs deb-src entries, or from SOURCES, a folder with
# the three trees as `apt-get source` leaves them. The dictionary is a small one of this script's own. 77: no sources, or no pkg-config lockgate.
# LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
work=$PWD/build/cpp-example
sources=${SOURCES:-$work/sources}
mkdir -p "$work"

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
[ -x "$lockgate" ] || { echo "cpp-example.sh: no $lockgate: make build" >&2; exit 1; }
pkg-config --exists lockgate || skip "pkg-config does not find lockgate: make install, or set PKG_CONFIG_PATH"
for package in expat libogg hunspell; do
    set -- "$sources/$package"-*/
    [ -d "$1" ] && continue
    mkdir -p "$sources"
    (cd "$sources" && apt-get source -qq "$package" >"$work/log" 2>&1) || skip "no source package $package: $(tail -1 "$work/log")"
done

rm -rf "$work/run"
cp -r examples/cpp/libraries "$work/run"
cd "$work/run"
make -s SOURCES="$sources" LOCKGATE="$lockgate"
mkdir dictionaries
printf 'SET UTF-8\nTRY esianrtolcdugmphbyfvkwz\nSFX S Y 1\nSFX S 0 s .\n' >dictionaries/en_US.aff
printf '%s\n' 18 A/S canal/S lock/S gate/S It let/S boat/S through and keep/S the water/S out Lockgate call/S fault/S s report/S title/S >dictionaries/en_US.dic
LD_LIBRARY_PATH=$(pkg-config --variable=libdir lockgate) ./document example.xml dictionaries en_US misspelt.ogg >found
printf '%s\n' 'thrugh through' 'falts faults fault' >wanted
diff wanted found
# A page of Ogg's for each line, which has the line in it.
[ "$(grep -a -o OggS misspelt.ogg | wc -l)" -eq 2 ]
grep -a -q 'falts faults fault' misspelt.ogg
echo "examples/cpp/libraries: expat, hunspell and libogg in domains: as it should be"
