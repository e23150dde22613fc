/* The unwinder: the interface of the Itanium C++ ABI ("Exception Handling", level I), for C++, Rust, and C compiled with
   -fexceptions. It takes the place of libgcc_eh's and libunwind's, which read return addresses off the stack
   (docs/decisions/0079). frames.c walks; libc/unwind_entry.S is where it begins and ends. */
#include <stdlib.h>

#include "frames.h"

/* ---- what personality routines ask */

_Unwind_Word _Unwind_GetGR(struct _Unwind_Context *context, int number) {
    return (unsigned)number < LG_GENERAL ? context->registers[number] : 0;
}

void _Unwind_SetGR(struct _Unwind_Context *context, int number, _Unwind_Word value) {
    if ((unsigned)number < LG_GENERAL) context->registers[number] = value;
}

_Unwind_Ptr _Unwind_GetIP(struct _Unwind_Context *context) { return context->site; }

_Unwind_Ptr _Unwind_GetIPInfo(struct _Unwind_Context *context, int *before) {
    *before = 0;
    return context->site;
}

void _Unwind_SetIP(struct _Unwind_Context *context, _Unwind_Ptr place) { context->site = place; }

_Unwind_Word _Unwind_GetCFA(struct _Unwind_Context *context) { return context->rsp; }

void *_Unwind_GetLanguageSpecificData(struct _Unwind_Context *context) { return (void *)context->lsda; }

_Unwind_Ptr _Unwind_GetRegionStart(struct _Unwind_Context *context) { return context->start; }

_Unwind_Ptr _Unwind_GetDataRelBase(struct _Unwind_Context *context) {
    (void)context;
    return 0;
}

_Unwind_Ptr _Unwind_GetTextRelBase(struct _Unwind_Context *context) {
    (void)context;
    return 0;
}

void *_Unwind_FindEnclosingFunction(void *address) { return (void *)__lg_function_start((uintptr_t)address - 1); }

void _Unwind_DeleteException(struct _Unwind_Exception *exception) {
    if (exception->exception_cleanup) exception->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, exception);
}

/* ---- the phases */

/* Of a forced unwinding: private_1 is the function that decides, private_2 its argument. Otherwise private_1 is 0, private_2 the CFA of
   the frame with the handler. */
#define VERSION 1

LG_HIDDEN _Noreturn void __lg_land(const uintptr_t *registers, uintptr_t pad, uintptr_t rsp);

/* Goes to a frame's landing pad: with rsp as it was at the call, before its arguments came on the stack. */
static _Noreturn void land(struct _Unwind_Context *context) {
    __lg_free_rows(context->rows);
    __lg_land(context->registers, context->site, context->rsp + context->arguments);
}

/* Phase 2: cleans up to the frame that phase 1 has found. Comes back only if that fails. */
static _Unwind_Reason_Code clean_up(struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    struct lg_description description;
    do {
        int found = context->cfa == exception->private_2;
        _Unwind_Action action = _UA_CLEANUP_PHASE | (found ? _UA_HANDLER_FRAME : 0);
        if (!__lg_describe(context, &description)) return _URC_FATAL_PHASE2_ERROR;
        if (context->personality) {
            _Unwind_Reason_Code code =
                context->personality(VERSION, action, exception->exception_class, exception, context);
            if (code == _URC_INSTALL_CONTEXT) land(context);
            if (code != _URC_CONTINUE_UNWIND) return _URC_FATAL_PHASE2_ERROR;
        }
        if (found) abort();
    } while (__lg_next_frame(context));
    return _URC_FATAL_PHASE2_ERROR;
}

/* The same for as long as the function of a forced unwinding wants it. */
static _Unwind_Reason_Code force(struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    _Unwind_Stop_Fn stop = (_Unwind_Stop_Fn)exception->private_1;
    void *argument = (void *)exception->private_2;
    struct lg_description description;
    for (int is_frame = 1;;) {
        int described = is_frame && __lg_describe(context, &description);
        _Unwind_Action action = _UA_FORCE_UNWIND | _UA_CLEANUP_PHASE | (described ? 0 : _UA_END_OF_STACK);
        if (stop(VERSION, action, exception->exception_class, exception, context, argument) != _URC_NO_REASON) {
            return _URC_FATAL_PHASE2_ERROR;
        }
        if (!described) return _URC_END_OF_STACK;
        if (context->personality) {
            _Unwind_Reason_Code code =
                context->personality(VERSION, action, exception->exception_class, exception, context);
            if (code == _URC_INSTALL_CONTEXT) land(context);
            if (code != _URC_CONTINUE_UNWIND) return _URC_FATAL_PHASE2_ERROR;
        }
        is_frame = __lg_next_frame(context);
    }
}

LG_HIDDEN _Unwind_Reason_Code __lg_raise(struct _Unwind_Exception *exception, const struct lg_kept *kept) {
    struct lg_rows rows;
    struct _Unwind_Context first;
    if (!__lg_first_frame(&first, &rows, kept, LG_FAR)) return _URC_END_OF_STACK;
    struct _Unwind_Context context = first;
    struct lg_description description;
    _Unwind_Reason_Code code = _URC_CONTINUE_UNWIND;
    /* Phase 1: who handles it? */
    do {
        if (!__lg_describe(&context, &description)) {
            code = _URC_END_OF_STACK;
        } else if (context.personality) {
            code = context.personality(VERSION, _UA_SEARCH_PHASE, exception->exception_class, exception, &context);
        }
        if (code != _URC_CONTINUE_UNWIND) break;
    } while (__lg_next_frame(&context));
    switch (code) {
    case _URC_HANDLER_FOUND:
        exception->private_1 = 0;
        exception->private_2 = context.cfa;
        code = clean_up(exception, &first);
        break;
    case _URC_CONTINUE_UNWIND:
    case _URC_END_OF_STACK: code = _URC_END_OF_STACK; break;
    default: code = _URC_FATAL_PHASE1_ERROR; break;
    }
    __lg_free_rows(&rows);
    return code;
}

LG_HIDDEN _Unwind_Reason_Code __lg_force_unwinding(struct _Unwind_Exception *exception, _Unwind_Stop_Fn stop, void *argument,
                                                  const struct lg_kept *kept) {
    struct lg_rows rows;
    struct _Unwind_Context context;
    exception->private_1 = (_Unwind_Word)stop;
    exception->private_2 = (_Unwind_Word)argument;
    if (!__lg_first_frame(&context, &rows, kept, LG_FAR)) return _URC_END_OF_STACK;
    _Unwind_Reason_Code code = force(exception, &context);
    __lg_free_rows(&rows);
    return code;
}

/* What the end of a landing pad calls that has only cleaned up. */
LG_HIDDEN _Noreturn void __lg_resume_unwinding(struct _Unwind_Exception *exception, const struct lg_kept *kept) {
    struct lg_rows rows;
    struct _Unwind_Context context;
    if (__lg_first_frame(&context, &rows, kept, LG_NEAR)) {
        if (exception->private_1) {
            force(exception, &context);
        } else {
            clean_up(exception, &context);
        }
    }
    abort();
}

LG_HIDDEN _Unwind_Reason_Code __lg_rethrow(struct _Unwind_Exception *exception, const struct lg_kept *kept) {
    if (exception->private_1 == 0) return __lg_raise(exception, kept);
    struct lg_rows rows;
    struct _Unwind_Context context;
    if (__lg_first_frame(&context, &rows, kept, LG_NEAR)) force(exception, &context);
    abort();
}

LG_HIDDEN _Unwind_Reason_Code __lg_trace(_Unwind_Trace_Fn tell, void *argument, const struct lg_kept *kept) {
    struct lg_rows rows;
    struct _Unwind_Context context;
    struct lg_description description;
    _Unwind_Reason_Code code = _URC_END_OF_STACK;
    if (!__lg_first_frame(&context, &rows, kept, LG_FAR)) return code;
    do {
        /* Frames without tables are told of, too: where they are is known. */
        if (!__lg_describe(&context, &description)) {
            context.start = context.lsda = 0;
            context.personality = 0;
            description.ruled = 0;
            context.description = &description;
        }
        if (tell(&context, argument) != _URC_NO_REASON) {
            code = _URC_FATAL_PHASE1_ERROR;
            break;
        }
    } while (__lg_next_frame(&context));
    __lg_free_rows(&rows);
    return code;
}
