#!/bin/sh
# Makes Debian packages in build/deb of what `make dist dist-python sbom` has built: for the PostgreSQL versions whose development packages
# are installed. lintian must find no error.
set -eu

cd "$(dirname "$0")/.."
root=$(pwd -P)
fail() {
    echo "deb: $*" >&2
    exit 1
}
for tool in dpkg-buildpackage dh dh_python3 lintian; do
    command -v "$tool" >/dev/null || fail "no $tool: apt-get install dpkg-dev debhelper dh-python lintian"
done
work=$root/build/deb/lockgate
rm -rf "$root/build/deb"
mkdir -p "$work"
cp -R debian "$work/"
/usr/bin/python3 -c 'import sys; sys.exit(sys.version_info >= (3, 11))' && sed -i 's/^X-Python3-Version: .*/X-Python3-Version: >= 3.9/' "$work/debian/control"
for version in /usr/include/postgresql/*/server; do
    [ -e "$version" ] || fail "no headers of PostgreSQL: apt-get install postgresql-server-dev-all"
    version=${version%/server}
    sed "s/@VERSION@/${version##*/}/" debian/postgresql.in >>"$work/debian/control"
    cp debian/postgresql.overrides "$work/debian/postgresql-${version##*/}-lockgate.lintian-overrides"
done
unset MAKEFLAGS MAKELEVEL SOURCE_DATE_EPOCH
(cd "$work" && TREE=$root dpkg-buildpackage --build=binary --no-sign --no-check-builddeps --no-pre-clean) >"$root/build/deb/log" 2>&1 || {
    tail -n 40 "$root/build/deb/log" >&2
    fail "see build/deb/log"
}
# The packages name an address of their maintainers when there is one: lintian is not asked about it.
address=bogus-mail-host,bogus-mail-host-in-debian-changelog
lintian --fail-on error --suppress-tags "$address" "$root"/build/deb/*.changes
ls -l "$root"/build/deb/*.deb
