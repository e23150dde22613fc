/* The side that nothing protects: functions of language C. */
#define _GNU_SOURCE
#include "postgres.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fmgr.h"
#include "utils/array.h"
#include "utils/geo_decls.h"
#include "work.h"

PG_MODULE_MAGIC;

#define FUNCTION(name)          \
    PG_FUNCTION_INFO_V1(name);  \
    Datum name(PG_FUNCTION_ARGS)
#define POINTS(polygon) (const xy *)(polygon)->p, (polygon)->npts
#define XY(point) ((xy){(point).x, (point).y})

FUNCTION(increment) { PG_RETURN_INT32(PG_GETARG_INT32(0) + 1); }

FUNCTION(check_digit) { PG_RETURN_INT32(work_check_digit(PG_GETARG_INT64(0))); }

FUNCTION(deviation_step) {
    struct deviation *of = PG_ARGISNULL(0) ? NULL : (struct deviation *)PG_GETARG_POINTER(0);
    if (!of) {
        MemoryContext context;
        if (!AggCheckCallContext(fcinfo, &context))
            elog(ERROR, "deviation_step is an aggregate's");
        of = MemoryContextAllocZero(context, sizeof *of);
    }
    work_deviation(of, PG_GETARG_FLOAT8(1));
    PG_RETURN_POINTER(of);
}

FUNCTION(deviation_result) {
    const struct deviation *of = (const struct deviation *)PG_GETARG_POINTER(0);
    PG_RETURN_FLOAT8(of->squares / of->count);
}

FUNCTION(intersects) {
    POLYGON *polygon = PG_GETARG_POLYGON_P(0);
    BOX *box = PG_GETARG_BOX_P(1);
    PG_RETURN_BOOL(work_intersects(POINTS(polygon), XY(box->high), XY(box->low)));
}

FUNCTION(large_within) {
    POLYGON *polygon = PG_GETARG_POLYGON_P(0);
    CIRCLE *circle = PG_GETARG_CIRCLE_P(2);
    PG_RETURN_BOOL(work_large_within(POINTS(polygon), PG_GETARG_FLOAT8(1), XY(circle->center), circle->radius));
}

FUNCTION(area) {
    POLYGON *polygon = PG_GETARG_POLYGON_P(0);
    PG_RETURN_FLOAT8(work_area(POINTS(polygon)));
}

FUNCTION(within) {
    POLYGON *polygon = PG_GETARG_POLYGON_P(0);
    CIRCLE *circle = PG_GETARG_CIRCLE_P(1);
    PG_RETURN_BOOL(work_within(POINTS(polygon), XY(circle->center), circle->radius));
}

FUNCTION(common_area) {
    POLYGON *polygon = PG_GETARG_POLYGON_P(0);
    BOX *box = PG_GETARG_BOX_P(1);
    PG_RETURN_FLOAT8(work_common_area(POINTS(polygon), XY(box->high), XY(box->low)));
}

FUNCTION(contains) {
    POLYGON *polygon = PG_GETARG_POLYGON_P(0);
    PG_RETURN_BOOL(work_contains(POINTS(polygon), XY(*PG_GETARG_POINT_P(1))));
}

FUNCTION(mean) {
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
    size_t count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    PG_RETURN_FLOAT8(work_mean((const double *)ARR_DATA_PTR(array), count, PG_GETARG_FLOAT8(1), PG_GETARG_FLOAT8(2)));
}

FUNCTION(words) {
    text *value = PG_GETARG_TEXT_PP(0);
    PG_RETURN_INT32(work_words(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)));
}

/* increment() in a process of its own, behind a pair of pipes: what isolation by processes costs at least. */
typedef struct Peer { int to, from; } Peer;

static Peer peer_start(bool same_cpu) {
    int ask[2], answer[2];
    if (pipe(ask) != 0 || pipe(answer) != 0)
        elog(ERROR, "no pipe: %m");
    if (same_cpu) {
        cpu_set_t here;
        CPU_ZERO(&here);
        CPU_SET(sched_getcpu(), &here);
        if (sched_setaffinity(0, sizeof here, &here) != 0)
            elog(ERROR, "no processor: %m");
    }
    pid_t child = fork();
    if (child < 0)
        elog(ERROR, "no process: %m");
    if (child == 0) {
        int32 value;
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (read(ask[0], &value, sizeof value) == sizeof value) {
            value++;
            if (write(answer[1], &value, sizeof value) != sizeof value)
                break;
        }
        _exit(0);
    }
    return (Peer){ask[1], answer[0]};
}

static int32 peer_increment(Peer peer, int32 value) {
    if (write(peer.to, &value, sizeof value) != sizeof value || read(peer.from, &value, sizeof value) != sizeof value)
        elog(ERROR, "the process behind the pipe is gone: %m");
    return value;
}

FUNCTION(increment_by_pipe) {
    static Peer peer;
    if (!peer.to)
        peer = peer_start(false);
    PG_RETURN_INT32(peer_increment(peer, PG_GETARG_INT32(0)));
}

/* Both processes stay on the processor that the session is on: no other has to be woken up. */
FUNCTION(increment_by_pipe_same_cpu) {
    static Peer peer;
    if (!peer.to)
        peer = peer_start(true);
    PG_RETURN_INT32(peer_increment(peer, PG_GETARG_INT32(0)));
}
