#!/bin/sh
# Servers and their like, unchanged, each as a program in a domain: a script of everyday work for each.
#
#     servers-tests.sh [NAME...]     busybox, nginx, sqlite, memcached, openssl; without, all of them
#
# The sources come from Debian's archive, one version each (build/servers); SERVERS names a folder that has the archives. 77: no sources, or no tool
# that a script needs. LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
root=$PWD/build/servers
debian=http://deb.debian.org/debian/pool/main

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
fail() {
    echo "$name: $*" >&2
    exit 1
}
[ -x "$lockgate" ] || { echo "servers-tests.sh: no $lockgate: make build" >&2; exit 1; }
for tool in curl musl-gcc; do command -v $tool >/dev/null || skip "no $tool"; done
mkdir -p "$root"
compiler="$lockgate cc"
children=
stop() { for child in $children; do kill "$child" 2>/dev/null || true; done; }

# fetched FOLDER PATH SUM: unpacks an archive of Debian's, and goes there. Times stay: configure scripts are not made anew.
fetched() {
    archive=${2##*/}
    if [ ! -d "$root/$1" ]; then
        if [ -n "${SERVERS:-}" ]; then cp "$SERVERS/$archive" "$root/$archive"; else
            curl -sSfL "$debian/$2" -o "$root/$archive" || skip "$debian/$2"
        fi
        echo "$3  $root/$archive" | sha256sum --check --quiet
        mkdir "$root/$1.part"
        tar -C "$root/$1.part" --strip-components 1 -xf "$root/$archive"
        mv "$root/$1.part" "$root/$1"
    fi
    cd "$root/$1"
}

# built FILE COMMAND: makes it if it is older than the toolchain.
built() {
    file=$1
    shift
    [ "$file" -nt "$lockgate" ] && return
    "$@" >"$root/$name.log" 2>&1 || { tail -20 "$root/$name.log"; fail "not built (all of it: $root/$name.log)"; }
    touch "$file"
}

# serves PORT OPTIONS...: runs a server in a domain that listens there, and waits for it.
serves() {
    port=$1
    shift
    "$lockgate" run --quiet --listen "127.0.0.1:$port" "$@" >"$root/$name.out" 2>&1 &
    server=$!
    children="$children $server"
    for _ in $(seq 100); do
        # (7: no server accepts the connection.)
        status=0
        curl -s -o /dev/null --max-time 1 "telnet://127.0.0.1:$port" </dev/null || status=$?
        [ "$status" -ne 7 ] && return
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    cat "$root/$name.out"
    fail "it does not listen"
}

# ends: the server ends in order when it is told to.
ends() {
    kill -TERM "$server"
    wait "$server" || fail "it ended with status $?"
}

same() {
    cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

work() {
    rm -rf "${root:?}/work"
    mkdir -p "$root/work"
}

# No Debian package has musl's crypt, which only passwords in files need.
nginx_makes() {
    printf '#include <stddef.h>\nchar *crypt(const char *k, const char *s) { (void)k; (void)s; return NULL; }\n' >crypt.c
    sed -i 's/#include <crypt.h>/char *crypt(const char *, const char *);/' src/os/unix/ngx_linux_config.h
    # (It runs what it compiles to find out about the system: another compiler for the same library.)
    ./configure --with-cc=musl-gcc --with-cc-opt="-O2 -static" --with-ld-opt=-static --prefix=/srv/nginx \
        --without-http_rewrite_module --without-http_gzip_module --without-pcre &&
        sed -i 's/-Werror//; s/-static//g; s/ -lcrypt//' objs/Makefile &&
        # shellcheck disable=SC2086 # the compiler is words
        $compiler -O2 -c crypt.c -o crypt.o &&
        sed -i 's|^\tobjs/ngx_modules.o \\|\tcrypt.o objs/ngx_modules.o \\|; s|^objs/ngx_modules.o \\|crypt.o objs/ngx_modules.o \\|' objs/Makefile &&
        make -j"$(nproc)" CC="$compiler" LINK="$compiler"
}

nginx() {
    fetched nginx n/nginx/nginx_1.22.1.orig.tar.gz 9ebb333a9e82b952acd3e2b4aeb1d4ff6406f72491bab6cd9fe69f0dea737f31
    built objs/nginx nginx_makes
    work
    served=$root/work/nginx
    mkdir -p "$served/html" "$served/conf" "$served/logs"
    for temporary in client_body proxy fastcgi uwsgi scgi; do mkdir "$served/${temporary}_temp"; done
    cp conf/mime.types "$served/conf/"
    echo hello >"$served/html/index.html"
    head -c 3000000 /dev/urandom >"$served/html/big"
    cat >"$served/conf/nginx.conf" <<END
daemon off; master_process off; error_log stderr;
events { worker_connections 64; }
http { include mime.types; access_log off; sendfile on;
    server { listen 127.0.0.1:27811; root html; location / { index index.html; } } }
END
    serves 27811 --dir "/srv/nginx=$served" objs/nginx
    url=http://127.0.0.1:27811
    [ "$(curl -s $url/)" = hello ] || fail "no page"
    curl -s $url/big -o "$root/work/big"
    same "$root/work/big" "$served/html/big"
    [ "$(curl -s -r 1000-1999 $url/big | wc -c)" = 1000 ] || fail "no part of a file"
    curl -sI $url/none | grep -q "404" || fail "it has what is not there"
    seq 40 | xargs -P 8 -I % curl -s -o /dev/null $url/big?% || fail "not for many at once"
    # Another program in another domain.
    if [ -x "$root/busybox/busybox" ]; then
        "$lockgate" run --quiet --connect localhost:27811 --dir "/get=$root/work" "$root/busybox/busybox" \
            wget -q -O /get/wget http://localhost:27811/big
        same "$root/work/wget" "$served/html/big"
    fi
    ends
}

busybox_makes() {
    make allnoconfig
    for option in HTTPD WGET FEATURE_HTTPD_RANGES FEATURE_WGET_LONG_OPTIONS LONG_OPTS CAT LS LFS SH_IS_NONE; do
        sed -i "s/# CONFIG_$option is not set/CONFIG_$option=y/" .config
    done
    yes "" | make oldconfig
    make -j"$(nproc)" CC="$compiler" HOSTCC=gcc SKIP_STRIP=y
}

# httpd as inetd runs it. (By itself it forks for each connection, which a domain cannot.)
busybox() {
    fetched busybox b/busybox/busybox_1.35.0.orig.tar.bz2 faeeb244c35a348a334f4a59e44626ee870fb07b6884d68c10ae8bc19f83a694
    built busybox busybox_makes
    work
    head -c 300000 /dev/urandom >"$root/work/file"
    printf 'GET /file HTTP/1.0\r\n\r\n' |
        "$lockgate" run --quiet --dir "/www=$root/work:ro" busybox httpd -i -h /www >"$root/work/answer"
    head -1 "$root/work/answer" | grep -q "200 OK" || fail "no answer"
    tail -c 300000 "$root/work/answer" | cmp -s - "$root/work/file" || fail "another file"
    printf 'GET /../secret HTTP/1.0\r\n\r\n' |
        "$lockgate" run --quiet --dir "/www=$root/work:ro" busybox httpd -i -h /www | grep -q "400\|404" || fail "out of its folder"
}

sqlite_makes() {
    CC=cc ./configure --disable-tcl --disable-readline && make sqlite3.c shell.c &&
        # shellcheck disable=SC2086 # the compiler is words
        $compiler -O1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION shell.c sqlite3.c -lm -o sqlite3.lg
}

sqlite() {
    command -v tclsh >/dev/null || skip "no tclsh (package tcl)"
    fetched sqlite s/sqlite3/sqlite3_3.40.1.orig.tar.xz aaa776260ab4dc976db34aa7891819484c8676b5b2783123ebc6301e2ca5d655
    built sqlite3.lg sqlite_makes
    work
    shell() { "$lockgate" run --quiet --env HOME=/db --dir "/db=$root/work" sqlite3.lg "$@"; }
    shell -batch /db/a.db >"$root/work/said" <<'END'
.mode csv
create table t (a integer primary key, b text);
begin; insert into t with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) select x, hex(x * x) from c; commit;
select count(*), sum(length(b)) from t;
.output /db/out.csv
select * from t;
.output
pragma journal_mode = wal; insert into t values (10000, 'logged'); pragma wal_checkpoint;
.backup /db/copy.db
END
    [ "$(head -1 "$root/work/said" | tr -d '\r')" = 5000,70762 ] || fail "another sum"
    [ "$(wc -l <"$root/work/out.csv")" = 5000 ] || fail "no file"
    said=$(printf '.import --csv /db/out.csv u\nselect count(*) from u;\nselect count(*) from t;\npragma integrity_check;\n' | shell -batch /db/copy.db)
    # (The first line of the file names the columns.)
    [ "$said" = "$(printf '4999\n5001\nok')" ] || fail "another copy: $said"
}

memcached_makes() {
    # (What a feature of the system is, is asked without running anything: the host is another machine.)
    (cd "$root/libevent" &&
        ./configure CC="$compiler" CFLAGS=-O2 --host=x86_64-linux-musl --prefix="$root/prefix" --disable-shared --disable-openssl \
            --disable-samples --disable-libevent-regress --disable-debug-mode &&
        make include/event2/event-config.h && make -j"$(nproc)" libevent.la &&
        make -k install-libLTLIBRARIES install-includeHEADERS install-include_event2HEADERS install-nodist_include_event2HEADERS) &&
        ./configure CC="$compiler" CFLAGS=-O2 --host=x86_64-linux-musl --with-libevent="$root/prefix" --disable-docs --disable-coverage &&
        sed -i "s/-Werror//g" Makefile && make -j"$(nproc)" memcached
}

memcached() {
    fetched libevent libe/libevent/libevent_2.1.12-stable.orig.tar.gz 92e6de1be9ec176428fd2367677e61ceffc2ee1cb119035037a27d346b0403bb
    fetched memcached m/memcached/memcached_1.6.18.orig.tar.xz 35872bd25f8d29d7cc2072d23e74344530891bfd0aa4f4f64184a8ae7291164b
    built memcached memcached_makes
    serves 27812 --threads 16 --descriptors 2000 --memory-limit 512M memcached -l 127.0.0.1 -p 27812 -U 0 -m 64 -t 2
    # Each line ends as the protocol has it; the server closes the connection when it is told to.
    said() { sed 's/$/\r/' | curl -s --max-time 20 telnet://127.0.0.1:27812 | tr -d '\r'; }
    said=$(printf 'set a 7 0 5\nhello\nget a\nappend a 0 0 1\n!\nget a\nincr a 1\nset n 0 0 1\n5\nincr n 37\ndelete a\nget a\nquit\n' | said)
    expected=$(printf 'STORED\nVALUE a 7 5\nhello\nEND\nSTORED\nVALUE a 7 6\nhello!\nEND\nCLIENT_ERROR cannot increment or decrement non-numeric value\nSTORED\n42\nDELETED\nEND')
    [ "$said" = "$expected" ] || fail "it said: $said"
    for number in $(seq 200); do printf 'set k%d 0 0 %d\n%s\n' "$number" ${#number} "$number"; done >"$root/in"
    for number in $(seq 200); do printf 'get k%d\n' "$number"; done >>"$root/in"
    printf 'quit\n' >>"$root/in"
    [ "$(said <"$root/in" | grep -c '^VALUE')" = 200 ] || fail "not all of it"
    seq 20 | xargs -P 5 -I % sh -c 'printf "get k%\r\nquit\r\n" | curl -s --max-time 20 telnet://127.0.0.1:27812 >/dev/null' || fail "not for many at once"
    ends
}

openssl_makes() {
    ./Configure linux-x86_64 no-asm no-shared no-dso no-module no-threads no-tests no-engine no-async CC="$compiler" CFLAGS=-O2 &&
        make -j"$(nproc)" build_generated apps/openssl
}

openssl() {
    command -v perl >/dev/null || skip "no perl"
    fetched openssl o/openssl/openssl_3.0.20.orig.tar.gz c80a01dfc70ece4dc21168932c37739042d404d46ccc81a5986dd75314ecda6f
    built apps/openssl openssl_makes
    work
    printf '[req]\ndistinguished_name = name\n[name]\n' >"$root/work/openssl.cnf"
    head -c 3000000 /dev/urandom >"$root/work/big"
    # A program of its own each time, with what it is granted besides its folder.
    inside() { "$lockgate" run --quiet --memory-limit 128M --env OPENSSL_CONF=/w/openssl.cnf --dir "/w=$root/work" --cwd /w "$@"; }
    inside apps/openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 1 -keyout key -out cert 2>"$root/work/said" ||
        fail "no certificate: $(cat "$root/work/said")"
    [ "$(inside apps/openssl sha256 -r big | cut -d ' ' -f 1)" = "$(sha256sum "$root/work/big" | cut -d ' ' -f 1)" ] || fail "another sum"
    address=127.0.0.1:27814
    client() {
        inside --connect $address apps/openssl s_client -connect $address -quiet -CAfile cert -verify_return_error "$@" 2>"$root/work/said"
    }
    serves 27814 --memory-limit 128M --env OPENSSL_CONF=/w/openssl.cnf --dir "/w=$root/work:ro" --cwd /w apps/openssl \
        s_server -accept $address -cert cert -key key -WWW
    for version in -tls1_2 -tls1_3; do
        printf 'GET /big HTTP/1.0\r\n\r\n' | client $version >"$root/work/answer" || fail "no connection: $(cat "$root/work/said")"
        tail -c 3000000 "$root/work/answer" >"$root/work/got"
        same "$root/work/got" "$root/work/big"
    done
    printf 'GET /none HTTP/1.0\r\n\r\n' | client | grep -q "Error opening" || fail "it has what is not there"
    # Another certificate than the one that the client trusts.
    mv "$root/work/cert" "$root/work/served"
    inside apps/openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 1 -keyout other -out cert 2>"$root/work/said"
    printf 'GET /big HTTP/1.0\r\n\r\n' | client >"$root/work/answer" && fail "it trusts anyone"
    [ -s "$root/work/answer" ] && fail "it has read from what it does not trust"
    mv "$root/work/served" "$root/work/cert"
    kill -TERM "$server"
    { wait "$server" || true; } 2>/dev/null
    # The other way: what the client is given comes out of the server. (Of numbers: letters may be commands. Each end ends with its input.)
    seq 400000 >"$root/work/numbers"
    mkfifo "$root/work/silence"
    exec 9<>"$root/work/silence"
    inside --listen $address apps/openssl s_server -accept $address -cert cert -key key -quiet -naccept 1 \
        <&9 >"$root/work/received" 2>"$root/work/served" &
    server=$!
    children="$children $server"
    for _ in $(seq 100); do
        client -no_ign_eof <"$root/work/numbers" && break
        sleep 0.1
    done
    wait "$server" || fail "the server ended with status $?: $(cat "$root/work/served")"
    exec 9>&-
    same "$root/work/received" "$root/work/numbers"
}

names=${*:-busybox nginx sqlite memcached openssl}
for name in $names; do
    (trap stop EXIT && trap 'exit 1' INT TERM && "$name")
    echo "$name works in a domain"
done
