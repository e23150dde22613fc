/* What the hosts here check of their clients. Before it: LAST_ERROR, the client's function of that name, and, if the library has modes to be
 * hostile in, SET_MODE. */
#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                                        \
    do {                                                                                                        \
        if (!(condition)) {                                                                                     \
            printf("line %d: %s; last error: %s\n", __LINE__, #condition, LAST_ERROR()->message);               \
            failures++;                                                                                         \
        }                                                                                                       \
    } while (0)

#define CHECK_ERROR(kind_, what_) CHECK(LAST_ERROR()->kind == kind_ && strcmp(LAST_ERROR()->what, what_) == 0)

/* The call is refused, and for this reason. */
#ifdef SET_MODE
#define FAILS(mode, call, kind_, what_)                                                                         \
    do {                                                                                                        \
        SET_MODE(mode);                                                                                         \
        CHECK(call);                                                                                            \
        CHECK_ERROR(kind_, what_);                                                                              \
        SET_MODE(0);                                                                                            \
    } while (0)
#else
#define FAILS(call, kind_, what_)                                                                               \
    do {                                                                                                        \
        CHECK((call) == -7);                                                                                    \
        CHECK_ERROR(kind_, what_);                                                                              \
    } while (0)
#endif
