/* The functions in progress, for programs in domains: glibc's <execinfo.h>, which musl does not
   have.

   Addresses are those of the window; gdb and reports of faults know them by name. The list has only
   the module's own functions: none of the host, and none of another domain. Threads may call these
   functions at the same time. */
#ifndef LOCKGATE_EXECINFO_H
#define LOCKGATE_EXECINFO_H

#ifdef __cplusplus
extern "C" {
#endif

/* Stores the return addresses of the calling function and of its callers, innermost first, at most
   `size` of them. Returns how many. */
int backtrace(void **addresses, int size);

/* The addresses as text, "[0x7f0000401234]" each, in one block for `free`; NULL without memory. */
char **backtrace_symbols(void *const *addresses, int size);

/* Writes the same to a descriptor, a line each, without allocating memory. */
void backtrace_symbols_fd(void *const *addresses, int size, int descriptor);

#ifdef __cplusplus
}
#endif

#endif
