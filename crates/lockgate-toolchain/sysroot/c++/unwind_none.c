/* No unwinder yet: a throw finds no handler, and std::terminate says what was thrown. */
#include <stdlib.h>

struct _Unwind_Exception {
    unsigned long class;
    void (*cleanup)(int, struct _Unwind_Exception *);
    unsigned long private[2];
};
enum { FOREIGN_CAUGHT = 1, END_OF_STACK = 5 };

int _Unwind_RaiseException(struct _Unwind_Exception *exception) {
    (void)exception;
    return END_OF_STACK;
}
int _Unwind_Resume_or_Rethrow(struct _Unwind_Exception *exception) {
    (void)exception;
    return END_OF_STACK;
}
void _Unwind_DeleteException(struct _Unwind_Exception *exception) {
    if (exception->cleanup) exception->cleanup(FOREIGN_CAUGHT, exception);
}
/* What follows is for handlers, to which nothing comes. */
void _Unwind_Resume(void) { abort(); }
void _Unwind_SetGR(void) { abort(); }
void _Unwind_SetIP(void) { abort(); }
void _Unwind_GetIPInfo(void) { abort(); }
void _Unwind_GetRegionStart(void) { abort(); }
void _Unwind_GetLanguageSpecificData(void) { abort(); }
void _Unwind_GetDataRelBase(void) { abort(); }
void _Unwind_GetTextRelBase(void) { abort(); }
