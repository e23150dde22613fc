/* The functions in progress, for programs in domains: glibc's <execinfo.h>, which musl does not have.

   Addresses are those of the window; `lockgate addr2line` and gdb know them by name. Only the module's own functions are there: none of
   the host's, and none of another domain's. Threads may call these at the same time. */
#ifndef LOCKGATE_EXECINFO_H
#define LOCKGATE_EXECINFO_H

#ifdef __cplusplus
extern "C" {
#endif

/* Stores where the calling function and those that called it go on, innermost first, `size` of them at most. Returns how many. */
int backtrace(void **addresses, int size);

/* The addresses as text, "[0x7f0000401234]" each, in one piece of memory that `free` takes back; NULL if there is none. */
char **backtrace_symbols(void *const *addresses, int size);

/* Writes the same to a descriptor, a line each, without memory of its own. */
void backtrace_symbols_fd(void *const *addresses, int size, int descriptor);

#ifdef __cplusplus
}
#endif

#endif
