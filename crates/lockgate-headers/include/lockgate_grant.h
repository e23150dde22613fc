/* Passing on memory that is shared with a module, for modules.
 *
 * The host shares memory with a domain (lg_grant_new(), lg_lend(), lg_arena_open()). A domain that
 * has such memory can give it to another domain that it calls, with the same rights or fewer:
 *
 *     int total(const int *numbers, int count);              // another domain answers it
 *     int sum(const int *numbers, int count)
 *     {
 *         if (lg_pass_on(numbers, count * sizeof *numbers, "total", LG_PASS_READ) && errno != EEXIST)
 *             return -1;
 *         return total(numbers, count);
 *     }
 *
 * The other domain has the memory at the same place, so the pointer is good there, and so are
 * pointers in it. It keeps it until this domain loses its own right, and all others do that have
 * given it, too.
 */
#ifndef LOCKGATE_GRANT_H
#define LOCKGATE_GRANT_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* For lg_pass_on(): to read the memory, or to write it as well. */
enum { LG_PASS_READ = 1, LG_PASS_READ_WRITE = 3 };

/* Gives the domain that answers the import `function` the shared memory in which the `size` bytes
 * at `at` lie: all of the region or arena. 0, or -1 and errno:
 * ENOENT: no other domain answers an import of this name (for one that is found at its first call:
 * not yet), or the host has taken its function back; EFAULT: the bytes lie in no memory that is
 * shared with this domain, or not in one piece; EACCES: this domain may only read it, or the host
 * lets the other one only read it; EEXIST: this domain has given it already, with these rights or
 * more; ENOSPC: this domain has given the other one 16 regions; ENOMEM; EINVAL: other rights. */
static inline int lg_pass_on(const void *at, size_t size, const char *function, int rights)
{
    return (int)syscall(402, at, size, function, (long)rights);
}

#endif
