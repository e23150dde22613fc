/* The interface of unwinders, for languages that are linked with it whether they unwind or not: no frame is ever found, so a throw
   comes back to the thrower, which ends the program. */
#define END_OF_STACK 5
#define NONE __attribute__((weak))

NONE int _Unwind_RaiseException(void *exception) { return END_OF_STACK; }
NONE int _Unwind_Backtrace(void *trace, void *argument) { return END_OF_STACK; }
NONE void _Unwind_Resume(void *exception) { __builtin_trap(); }
NONE void _Unwind_DeleteException(void *exception) {}
NONE unsigned long _Unwind_GetGR(void *context, int index) { return 0; }
NONE void _Unwind_SetGR(void *context, int index, unsigned long value) {}
NONE unsigned long _Unwind_GetIP(void *context) { return 0; }
NONE unsigned long _Unwind_GetIPInfo(void *context, int *before) { return *before = 0; }
NONE void _Unwind_SetIP(void *context, unsigned long value) {}
NONE unsigned long _Unwind_GetCFA(void *context) { return 0; }
NONE unsigned long _Unwind_GetLanguageSpecificData(void *context) { return 0; }
NONE unsigned long _Unwind_GetRegionStart(void *context) { return 0; }
NONE unsigned long _Unwind_GetTextRelBase(void *context) { return 0; }
NONE unsigned long _Unwind_GetDataRelBase(void *context) { return 0; }
NONE void *_Unwind_FindEnclosingFunction(void *place) { return 0; }
