/* The side that nothing protects: functions of language C. */
#include "postgres.h"

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

FUNCTION(arithmetic) { PG_RETURN_INT64(work_arithmetic(PG_GETARG_INT64(0))); }

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

/* The same in a process of its own, behind a pair of pipes: what isolation by processes costs at least. */
FUNCTION(arithmetic_by_pipe) {
    static int to = -1, from = -1;
    int64 value = PG_GETARG_INT64(0);
    if (to < 0) {
        int ask[2], answer[2];
        if (pipe(ask) != 0 || pipe(answer) != 0)
            elog(ERROR, "no pipe: %m");
        pid_t child = fork();
        if (child < 0)
            elog(ERROR, "no process: %m");
        if (child == 0) {
            signal(SIGTERM, SIG_DFL);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (read(ask[0], &value, sizeof value) == sizeof value) {
                value = work_arithmetic(value);
                if (write(answer[1], &value, sizeof value) != sizeof value)
                    break;
            }
            _exit(0);
        }
        to = ask[1];
        from = answer[0];
    }
    if (write(to, &value, sizeof value) != sizeof value || read(from, &value, sizeof value) != sizeof value)
        elog(ERROR, "the process behind the pipe is gone: %m");
    PG_RETURN_INT64(value);
}
