/* Client libraries made by `lockgate stubs` add this to an API: errors, and the domain in use.
 *
 * Written beside the client's header; see docs/stubs.md.
 */
#ifndef LOCKGATE_STUBS_H
#define LOCKGATE_STUBS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call of a protected library returned the API's error value. */
enum lg_stub_kind {
    LG_STUB_NONE,     /* nothing went wrong */
    LG_STUB_START,    /* the domain could not be made */
    LG_STUB_FAULT,    /* the library crashed, ran out of time or was killed: lg_last_fault() has the report */
    LG_STUB_POINTER,  /* it returned a pointer to memory that it does not have */
    LG_STUB_STRING,   /* it returned a string without an end */
    LG_STUB_LENGTH,   /* it returned a length beyond the buffer */
    LG_STUB_HANDLE,   /* a handle that was never given out, or is of another type or domain */
    LG_STUB_CALLBACK, /* a function pointer that was never given */
    LG_STUB_DATA,     /* user data that was never given */
    LG_STUB_NULL,     /* a null pointer where there may be none, or something where null must be */
    LG_STUB_SIZE,     /* a size that overflows or is negative */
    LG_STUB_MEMORY,   /* no memory for copies */
    LG_STUB_JUMP,     /* it jumped (longjmp) where the call may not jump */
    LG_STUB_OMITTED   /* the function has no stub: it cannot be protected soundly */
};

/* The last failure on the calling thread. */
struct lg_stub_error {
    enum lg_stub_kind kind;
    const char *function; /* of the API, or the type of a callback */
    const char *what;     /* parameter, field or result */
    char message[192];    /* both of these and the reason, for people */
};

#ifdef __cplusplus
}
#endif
#endif
