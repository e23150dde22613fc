#!/bin/sh
# Installs the packages of build/deb into a scratch root, uses each as its users do, and removes them: nothing is left.
#
# The scratch root is an overlay on this machine's, which must be Debian with what the packages depend on; needs root. What is written
# there is gone at the end.
set -eu

cd "$(dirname "$0")/.."
root=$(pwd -P)
if [ "${1:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || { echo "deb-check: needs root" >&2; exit 1; }
    ls build/deb/*.deb >/dev/null
    exec unshare --mount --pid --fork "$0" inside
fi

scratch=$(mktemp -d)
mount -t tmpfs scratch "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
inside=$scratch/root
mount -t proc proc "$inside/proc"
mount --bind /dev "$inside/dev"
mount -t tmpfs tmp "$inside/tmp"
chmod 1777 "$inside/tmp"
mkdir "$inside/tmp/packages"
cp build/deb/*.deb examples/postgres/geo.c "$inside/tmp/packages/"
# The README's module, and its program in C.
sed -n "/cat > cube.c <<'EOF'/,/^    EOF/p" README.md | sed '1d;$d' | sed 's/^    //' >"$inside/tmp/cube.c"
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' >"$inside/tmp/program.c"
cat >"$inside/tmp/check.sh" <<'END'
set -eu
cd /tmp
say() { echo "deb-check: $*"; }
names=$(for file in packages/*.deb; do dpkg-deb --field "$file" Package; done)
for name in $names; do ! dpkg -s "$name" >/dev/null 2>&1 || { say "$name is installed here already"; exit 1; }; done

dpkg -i packages/*.deb >install.log 2>&1 || { cat install.log; exit 1; }
dpkg --audit
for name in $names; do
    dpkg -L "$name" | while read -r file; do [ -d "$file" ] && [ ! -L "$file" ] || echo "$file"; done
done | sort >files
say "installed: $(wc -l <files) files of $(echo "$names" | wc -w) packages"

lockgate cc -g -O2 -shared cube.c -lm -o cube.lg
lockgate verify cube.lg
[ "$(lockgate call cube.lg 'double cube_root(double)' 27)" = 3 ]
say "the program makes, verifies and calls a module"

flags=$(pkg-config --cflags --libs lockgate)
cc program.c $flags -o program
./program >said
grep -qx 3 said && grep -q cube.c: said || { cat said; exit 1; }
flags=$(pkg-config --cflags lockgate)
cc program.c $flags -l:liblockgate.a -lm -lpthread -ldl -o program-static
./program-static | grep -qx 3
say "programs in C, with the shared and the static library"

/usr/bin/python3 - <<'PYTHON'
import importlib.metadata
import lockgate

lib = lockgate.CDLL("cube.lg", time_limit=0.5)
assert lib.cube_root(27.0) == 3.0
try:
    lib.crash(None)
except lockgate.Fault as fault:
    assert fault.location.line == 3, fault
else:
    raise SystemExit("no fault")
assert importlib.metadata.version("lockgate") and lockgate.__file__.startswith("/usr/lib/python3/")
PYTHON
say "the package for Python"

for postgres in $(echo "$names" | sed -n 's/^postgresql-\([0-9]*\)-lockgate$/\1/p'); do
    bin=/usr/lib/postgresql/$postgres/bin
    [ -x "$bin/postgres" ] || { say "PostgreSQL $postgres is not installed: not tried"; exit 1; }
    lockgate cc -g -O2 --for postgres packages/geo.c -o geo.lg
    chmod 644 geo.lg
    install -d -o postgres -m 700 data
    as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups -- "$@"; }
    as_postgres "$bin/initdb" -D data >initdb.log
    as_postgres "$bin/pg_ctl" -D data -w -l /tmp/data/log -o "-k /tmp/data -c listen_addresses=" start >start.log
    as_postgres psql -h /tmp/data -qAt -v ON_ERROR_STOP=1 postgres >answer <<'SQL'
CREATE EXTENSION lockgate;
SELECT lockgate.install_module('geo', pg_read_binary_file('/tmp/geo.lg'));
CREATE FUNCTION area(polygon) RETURNS float8 LANGUAGE lgc AS 'geo.poly_area' STRICT;
SELECT area(polygon '((0,0),(4,0),(4,3),(0,3))');
SQL
    as_postgres "$bin/pg_ctl" -D data -w stop >stop.log
    [ "$(tail -n 1 answer)" = 12 ] || { cat answer; exit 1; }
    rm -r data
    say "the extension in PostgreSQL $postgres"
done

bash -c '. /usr/share/bash-completion/completions/lockgate && complete -p lockgate' >/dev/null
# (man-db is not everywhere, and documentation may be left out of an installation.)
grep -q /usr/share/man/man1/lockgate.1.gz files && grep -q /usr/share/man/man3/lockgate.3.gz files
for name in $names; do grep -q "/usr/share/doc/$name/sbom.cdx.json" files; done
say "completions, manual pages, bills of materials"

dpkg --purge $names >remove.log 2>&1 || { cat remove.log; exit 1; }
while read -r file; do
    [ ! -e "$file" ] && [ ! -L "$file" ] || { say "$file is left"; exit 1; }
done <files
for name in $names; do ! dpkg -s "$name" >/dev/null 2>&1; done
[ ! -e /usr/lib/python3/dist-packages/lockgate ]
say "removed, and nothing is left"
END
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp DEBIAN_FRONTEND=noninteractive chroot "$inside" /bin/sh /tmp/check.sh
