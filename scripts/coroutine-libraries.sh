#!/bin/sh
# libco and minicoro, libraries that switch stacks: as they are, their assembly is refused with what to do instead; their variants on ucontext print in a
# domain what they print natively.
#
# The sources come from their repositories at one commit each (build/coroutine-libraries/sources); LIBCO and MINICORO name other copies of the
# repositories. 77: they are not to be had. LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

suite=coroutine-libraries
# shellcheck source=scripts/sources.sh
. scripts/sources.sh

# fetch NAME URL COMMIT: a repository in $sources/NAME.
fetch() {
    repository "$sources/$1" "$2" "$3" || skip "$2: $(tail -1 "$work/log")"
}
fetch libco "${LIBCO:-https://github.com/higan-emu/libco.git}" e18e09d634d612a01781168ad4d76be10a7e3bad
fetch minicoro "${MINICORO:-https://github.com/edubart/minicoro.git}" 02dad0f8b7cbb12fe6e216ae7a76db15ca55cd7b
libco=$sources/libco minicoro=$sources/minicoro

failed=0
wrong() {
    echo "  NEW: $*"
    failed=1
}

# refused WHAT REMEDY ARGUMENTS...: the driver says what to do instead.
refused() {
    what=$1 remedy=$2
    shift 2
    if "$lockgate" cc -w "$@" -o "$work/refused.lg" >"$work/log" 2>&1; then
        wrong "$what is not refused"
    elif ! grep -q "switches stacks.*$remedy" "$work/log"; then
        wrong "$what: $(head -1 "$work/log")"
    else
        echo "$what: refused"
    fi
}

# same NAME ARGUMENTS...: what the program prints and how it ends.
same() {
    name=$1
    shift
    gcc -w -O1 "$@" -o "$work/$name.native" || { wrong "$name does not compile"; return; }
    "$lockgate" cc -w -O1 "$@" -o "$work/$name.lg" || { wrong "$name is refused"; return; }
    native=0 domain=0
    "$work/$name.native" >"$work/$name.native.out" 2>&1 </dev/null || native=$?
    "$lockgate" run "$work/$name.lg" >"$work/$name.domain.out" 2>&1 </dev/null || domain=$?
    if [ "$native" = "$domain" ] && cmp -s "$work/$name.native.out" "$work/$name.domain.out" && [ -s "$work/$name.native.out" ]; then
        echo "$name: the same, $(wc -l <"$work/$name.native.out") lines"
    else
        wrong "$name: status $native natively, $domain in a domain: $(diff "$work/$name.native.out" "$work/$name.domain.out" | head -2 | tail -1)"
    fi
}

refused libco "libco's ucontext.c" "$libco/libco.c" "$ours/ring.c" -I "$libco"
same libco "$libco/ucontext.c" "$ours/ring.c" -I "$libco"

# A coroutine of minicoro's looks, when it yields, whether a local variable lies on the stack that it was given. In a domain none does.
mkdir -p "$work/include"
sed '/^mco_result mco_yield(/,/^}/s/^#ifdef MCO_USE_ASYNCIFY/#if defined(MCO_USE_ASYNCIFY) || defined(MCO_USE_UCONTEXT)/' "$minicoro/minicoro.h" >"$work/include/minicoro.h"
for program in testsuite example simple; do
    refused "minicoro's $program" "DMCO_USE_UCONTEXT" "$minicoro/tests/$program.c" -I "$minicoro"
    same "minicoro-$program" "$minicoro/tests/$program.c" -I "$work/include" -DMCO_USE_UCONTEXT
done
exit $failed
