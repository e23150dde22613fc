#!/bin/sh
# watchdog.sh PROGRAM [ARGUMENT...]: runs it, and ends it when it hangs: after HANG seconds (900), far more than any test program takes.
# `make test` runs each test program so (tests/lanes). What is said then: which test it was, and where each thread of the program, and
# of all that it has started, stands.
limit=${HANG:-900}
program=$$

# When a process began, as long as it runs: its number may be another's by now, and a zombie waits for the reader of our output first.
began() { sed 's/.*) //; /^[ZX]/d' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }
born=$(began $program)

# A process and all that it has started.
family() {
    echo "$1"
    for child in $(cat "/proc/$1"/task/*/children 2>/dev/null); do
        family "$child"
    done
}

threads() {
    echo "process $1: $(tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null)"
    for task in "/proc/$1"/task/*; do
        name=$(cat "$task/comm" 2>/dev/null) || continue
        echo "  thread ${task##*/} ($name), in the kernel at $(cat "$task/wchan" 2>/dev/null), system call $(cat "$task/syscall" 2>/dev/null)"
        sed 's/^/    /' "$task/stack" 2>/dev/null
    done
    if command -v gdb >/dev/null 2>&1; then
        DEBUGINFOD_URLS='' timeout 120 gdb -nx -batch -iex 'set auto-load off' -p "$1" -ex 'set print frame-arguments none' \
            -ex 'thread apply all backtrace 60' </dev/null 2>&1 | grep -e '^Thread ' -e '^#'
    fi
}

# The tests that the backtraces name. Without gdb: those whose threads there are, of whose names the kernel keeps 15 bytes.
tests() {
    for task in "/proc/$program"/task/*; do cat "$task/comm"; done 2>/dev/null | sort -u >"$said.names"
    timeout 20 "$1" --list 2>/dev/null </dev/null | sed -n 's/: test$//p' | while read -r test; do
        if grep -q '^#' "$said"; then
            grep -qw "$test" "$said"
        else
            grep -qxF "$(printf %.15s "$test")" "$said.names"
        fi && echo "watchdog: the test that hangs: $test"
    done
}

watch() {
    waited=0
    while [ "$waited" -lt "$limit" ]; do
        sleep 1
        waited=$((waited + 1))
        [ "$(began $program)" = "$born" ] || return
    done
    said=$(mktemp)
    family=$(family $program)
    for process in $family; do threads "$process"; done >"$said" 2>&1
    {
        echo "watchdog: not over after $limit seconds, so it hangs: $*"
        tests "$@"
        cat "$said"
        echo "watchdog: ended: $*"
    } >&2
    rm -f "$said" "$said.names"
    kill -KILL $family 2>/dev/null
}

# The watch is no child of ours, and the program is this process: it has the terminal, its signals and its status as without.
(watch "$@" &)
exec "$@"
