#!/bin/sh
# The cores of interpreters, by `lockgate cc` with gcc and clang at five levels: computed jumps, and functions of thousands of blocks, which the rewriter
# must take. They are compiled, not run.
#
#     interpreters.sh [NAME...]
#
# Without names all of them: lua, tcc, python, php. Sources come from Debian's source packages (build/interpreters/sources), which needs deb-src
# entries; a folder of unpacked sources, each by the name of its source package, may be named by SOURCES. LEVELS are the options' levels.
# 77: no sources to be had. LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

suite=interpreters
# shellcheck source=scripts/sources.sh
. scripts/sources.sh
levels=${LEVELS:-O0 O1 O2 O3 Os}

# configured FILE OPTIONS...: the package's configure makes FILE.
configured() {
    [ -e "$at/$1" ] && return
    file=$1
    shift
    (cd "$at" && ./configure "$@" >configure.log 2>&1) || skip "$at does not configure: $(tail -1 "$at/configure.log")"
    [ -e "$at/$file" ] || skip "$at has no $file"
}

compilers=gcc
command -v clang >"$work/clang" && compilers="gcc clang"
failed=0
# compiles NAME OPTIONS...
compiles() {
    name=$1
    shift
    for compiler in $compilers; do
        for level in $levels; do
            if LOCKGATE_GCC=$compiler "$lockgate" cc -w -g "-$level" "$@" -o "$work/$name.o" >"$work/$name.$compiler.$level.log" 2>&1; then
                echo "  $name: $compiler -$level"
            else
                echo "  $name: $compiler -$level FAILED: $(head -1 "$work/$name.$compiler.$level.log")"
                failed=1
            fi
        done
    done
}

for name in ${*:-lua tcc python php}; do
    case $name in
    lua)
        package lua5.4
        touch "$at/src/lua5.4-deb-multiarch.h" # the package makes it; it names folders
        compiles lua -I "$at/src" -c "$at/src/lvm.c"
        ;;
    tcc)
        package tcc
        configured config.h
        compiles tcc -D ONE_SOURCE=1 -D TCC_TARGET_X86_64 -I "$at" -c "$at/libtcc.c"
        ;;
    python)
        package python3.11
        configured pyconfig.h
        compiles python -D Py_BUILD_CORE -D NDEBUG -fwrapv -I "$at" -I "$at/Include" -I "$at/Include/internal" -c "$at/Python/ceval.c"
        ;;
    php) # with registers of the processor for the machine's state, which clang has not, and with calls
        package php8.2
        configured main/php_config.h --disable-all --disable-cgi --disable-phpdbg
        here="-I $work/php -I $work/php/main -I $work/php/Zend"
        folders="-I $at -I $at/main -I $at/Zend -I $at/TSRM"
        # shellcheck disable=SC2086 # folders are words
        all=$compilers && compilers=gcc && compiles php-hybrid $folders -c "$at/Zend/zend_execute.c" && compilers=$all
        mkdir -p "$work/php/main" "$work/php/Zend"
        sed '/HAVE_GCC_GLOBAL_REGS/d' "$at/main/php_config.h" >"$work/php/main/php_config.h"
        # shellcheck disable=SC2086
        compiles php-call $here $folders -c "$at/Zend/zend_execute.c"
        ;;
    *)
        echo "interpreters.sh: no $name" >&2
        exit 2
        ;;
    esac
done
exit $failed
