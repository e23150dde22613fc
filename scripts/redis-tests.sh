#!/bin/sh
# Redis, unchanged, as a server in a domain: its own test suite, or (redis-tests.sh --benchmark) its benchmark beside a native one.
#
#     redis-tests.sh [UNIT...]                  units such as unit/type/list; without, all but those that need fork
#     redis-tests.sh --benchmark [ROUNDS]       requests a second, in turns, the server and its client on a processor each
#     redis-tests.sh --calls                    only builds it, and a second one whose commands a program beside it calls (examples/redis);
#                                               lockgate-bench programs measures those
#
# The sources come from Debian's archive, one version (build/redis); REDIS names an unpacked copy of them. Tests that fail because a domain cannot
# fork are in tests/servers/redis.txt. 77: no sources, or no Tcl. LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
root=$PWD/build/redis
exceptions=$PWD/tests/servers/redis.txt
version=7.0.15
sum=4b1dc4ee6d622a09fff9c6777191209750fb5e5a725ef78ea012d6eef4c22982
archive=http://deb.debian.org/debian/pool/main/r/redis/redis_$version.orig.tar.gz
# What a test is for that needs a copy of the process.
without="-needs:repl -needs:save -aofrw -slow -large-memory"

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
[ -x "$lockgate" ] || { echo "redis-tests.sh: no $lockgate: make build" >&2; exit 1; }
command -v tclsh >/dev/null || skip "no tclsh (package tcl)"
mkdir -p "$root"
if [ -n "${REDIS:-}" ]; then
    sources=$REDIS
else
    sources=$root/redis-$version
    if [ ! -d "$sources" ]; then
        curl -sSfL "$archive" -o "$root/part" || skip "$archive"
        echo "$sum  $root/part" | sha256sum --check --quiet
        tar -C "$root" -xf "$root/part"
        rm "$root/part"
    fi
fi
# Both sides are built alike but for the compiler.
for side in native domain; do
    [ "$side" = native ] && compiler=cc || compiler="$lockgate cc"
    [ -f "$root/$side/built" ] && [ "$root/$side/built" -nt "$lockgate" ] && continue
    rm -rf "${root:?}/$side"
    cp -r "$sources" "$root/$side"
    [ "$side" = native ] && programs="redis-server redis-benchmark redis-cli redis-check-aof redis-check-rdb" || programs=redis-server
    # shellcheck disable=SC2086 # programs are words
    make -C "$root/$side" -j"$(nproc)" MALLOC=libc OPTIMIZATION=-O2 CC="$compiler" $programs >"$root/$side.log" 2>&1 ||
        { tail -20 "$root/$side.log"; exit 1; }
    touch "$root/$side/built"
done

if [ "${1:-}" = --calls ]; then
    set -- --export 'void *redis_open(void)' --export 'void redis_close(void *)' --export 'long redis_read(void *, char *, long)' \
        --export 'long redis_call(void *, const char *, long, char *, long)' --export 'long redis_get(const char *, long, char *, long)' \
        --export 'long redis_command(void *, long, const long *, const char *, char *, long)'
    deps=$root/domain/deps
    "$lockgate" cc -O2 -w -I "$root/domain/src" -I "$deps/hiredis" -I "$deps/linenoise" -I "$deps/lua/src" -I "$deps/hdr_histogram" "$@" \
        -o "$root/redis-call.lg" examples/redis/call.c "$root"/domain/src/*.o "$deps/hiredis/libhiredis.a" "$deps/lua/src/liblua.a" \
        "$deps/hdr_histogram/libhdrhistogram.a" -lm -ldl -pthread -lrt
    exit
fi

# The suite starts src/redis-server, and waits for a process of that number.
[ -f "$root/domain/redis.lg" ] && [ "$root/domain/redis.lg" -nt "$root/domain/built" ] || cp "$root/domain/src/redis-server" "$root/domain/redis.lg"
for tool in benchmark cli check-aof check-rdb; do cp "$root/native/src/redis-$tool" "$root/domain/src/"; done
rm -f "$root/domain/src/redis-server"
cat >"$root/domain/src/redis-server" <<END
#!/bin/sh
exec "$lockgate" run --quiet --threads 40 --descriptors 20000 --memory-limit 3G \\
    --listen '*:*' --listen '[::]:*' --listen 'unix:*' --connect '*:*' --connect 'unix:*' \\
    --dir "$root/domain=$root/domain" --cwd "\$(pwd)" "$root/domain/redis.lg" "\$@"
END
chmod +x "$root/domain/src/redis-server"

if [ "${1:-}" = --benchmark ]; then
    rounds=${2:-5}
    cd "$root/domain"
    trap 'kill $servers 2>/dev/null || true' EXIT
    servers=
    for side in native domain; do
        [ "$side" = native ] && port=27801 || port=27802
        taskset -c 0 "$root/$side/src/redis-server" --port $port --bind 127.0.0.1 --save "" --appendonly no >"$root/$side.out" 2>&1 &
        servers="$servers $!"
        for _ in $(seq 100); do
            "$root/native/src/redis-cli" -p $port ping >/dev/null 2>&1 && break
            sleep 0.1
        done
    done
    # shellcheck disable=SC2086 # options are words
    for options in "-t get,set -n 200000" "-t get,set -n 1000000 -P 16" "-t lrange_100 -n 100000 -P 16"; do
        for round in $(seq "$rounds"); do
            for side in native domain; do
                [ "$side" = native ] && port=27801 || port=27802
                taskset -c 1 "$root/native/src/redis-benchmark" -p $port -c 50 --csv $options |
                    sed -n "s/^\"\([A-Z_]*[^\"]*\)\",\"\([0-9.]*\)\".*/\1|$options|$side|\2/p"
            done
        done
    done | awk -F'|' '
        function median(list, n, parts, i, j, one) {
            n = split(list, parts, " ")
            for (i = 2; i <= n; i++) {
                one = parts[i]
                for (j = i - 1; j > 0 && parts[j] + 0 > one + 0; j--) parts[j + 1] = parts[j]
                parts[j + 1] = one
            }
            return parts[int((n + 1) / 2)]
        }
        $1 ~ /^(GET|SET|LRANGE)/ { key = $1 " " $2; all[key] = 1; of[key, $3] = of[key, $3] " " $4 + 0 }
        END { for (key in all) { n = median(of[key, "native"]); d = median(of[key, "domain"]);
              printf "%-60s native %9.0f domain %9.0f ratio %.3f\n", key, n, d, d / n } }' | sort
    exit
fi

units=
if [ $# -gt 0 ]; then
    for unit; do units="$units --single $unit"; done
else
    # (Replicas begin with a copy that another process writes; so does the rewriting of logs.)
    for unit in $(sed -n '/set ::all_tests/,/}/p' "$root/domain/tests/test_helper.tcl" | grep -oE '(unit|integration)/[a-z0-9/-]+' |
        grep -vE 'repl|psync|failover|dismiss-mem|corrupt-dump|oom-score|aofrw|aof-multi|aof-race'); do
        units="$units --single $unit"
    done
fi
log=$root/tests.log
# shellcheck disable=SC2086 # units are words
(cd "$root/domain" && ./runtest --durable --clients 2 --timeout 300 --config stop-writes-on-bgsave-error no --tags "$without" $units) >"$log" 2>&1 || true
plain() { sed 's/\x1b\[[0-9;]*m//g' "$log"; }
passed=$(plain | grep -c '^\[ok\]')
plain | sed -n 's/^\[err\]: \(.*\) in \(tests\/[^ ]*\)\.tcl$/\2: \1/p; s/^\[exception\]: /exception: /p; s/^\[TIMEOUT\]: /timeout: /p' | sort -u >"$root/failed"
grep -v '^#' "$exceptions" | sort -u >"$root/known"
grep -vxFf "$root/known" "$root/failed" >"$root/unknown" || true
known=$(($(wc -l <"$root/failed") - $(wc -l <"$root/unknown")))
echo "Redis $version in a domain: $passed tests passed, $known failed for want of fork, $(wc -l <"$root/unknown") failed"
[ "$passed" -gt 0 ] && [ ! -s "$root/unknown" ] || { cat "$root/unknown"; echo "(all of it: $log)"; exit 1; }
