/* The personality routine of C's clean-ups: __attribute__((cleanup)) and pthread_cleanup_push with -fexceptions. (Itanium C++ ABI,
   "Exception Handling Tables"; gcc's libgcc/unwind-c.c.) */
#include "frames.h"

_Unwind_Reason_Code __gcc_personality_v0(int version, _Unwind_Action action, _Unwind_Exception_Class kind,
                                         struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)kind;
    const unsigned char *at = (const unsigned char *)context->lsda;
    if (version != 1) return _URC_FATAL_PHASE1_ERROR;
    if (!(action & _UA_CLEANUP_PHASE) || !at) return _URC_CONTINUE_UNWIND;
    unsigned char encoding = *at++;
    uintptr_t base = encoding == 0xff ? context->start : __lg_read_pointer(&at, encoding, 0);
    if (*at++ != 0xff) __lg_read_uleb(&at);
    encoding = *at++;
    uintptr_t size = __lg_read_uleb(&at);
    const unsigned char *end = at + size;
    uintptr_t place = context->site - 1 - context->start;
    while (at < end) {
        uintptr_t start = __lg_read_pointer(&at, encoding, 0), length = __lg_read_pointer(&at, encoding, 0);
        uintptr_t pad = __lg_read_pointer(&at, encoding, 0);
        __lg_read_uleb(&at);
        if (place < start) break;
        if (place - start >= length) continue;
        if (!pad) break;
        _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), (_Unwind_Word)exception);
        _Unwind_SetGR(context, __builtin_eh_return_data_regno(1), 0);
        _Unwind_SetIP(context, base + pad);
        return _URC_INSTALL_CONTEXT;
    }
    return _URC_CONTINUE_UNWIND;
}
