#!/bin/sh
# Forks in the middle of other threads' calls, in batches of new processes, counted:
#
#   scripts/forks.sh [COUNT [BATCH]]     (1000000 and 10000; PROFILE is release, or dev)
#
# Each batch is the test `a_fork_in_the_middle_of_anything_leaves_a_child_that_works` with so many forks. The sum goes on where an earlier run
# of the same build ended: build/forks.json. The first child that does not work ends it.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
wanted=${1:-1000000}
batch=${2:-10000}
profile=${PROFILE:-release}
test=forks::a_fork_in_the_middle_of_anything_leaves_a_child_that_works
binary=$(cargo test --locked --profile "$profile" -p lockgate-tests --test suites --no-run 2>&1 | sed -n 's/.*Executable.*(\(.*\))$/\1/p')
[ -x "$binary" ] || {
    echo "forks: the test was not built" >&2
    exit 1
}
mkdir -p build
cp "$binary" build/forks.test # the one that is counted, whatever is built meanwhile
binary=$root/build/forks.test
identity=$(sha256sum "$binary" | cut -c1-64)
done=$(sed -n "s/^{\"binary\": \"$identity\", \"forks\": \([0-9]*\)}$/\1/p" build/forks.json 2>/dev/null || true)
done=${done:-0}
while [ "$done" -lt "$wanted" ]; do
    LOCKGATE_FORKS=$batch "$binary" --exact "$test" >build/forks.log 2>&1 || {
        cat build/forks.log >&2
        echo "forks: after $done, one of $batch" >&2
        exit 1
    }
    grep -q '^test result: ok. 1 passed' build/forks.log || {
        echo "forks: no test of that name" >&2
        exit 1
    }
    done=$((done + batch))
    printf '{"binary": "%s", "forks": %s}\n' "$identity" "$done" >build/forks.json
    echo "$done forks"
done
