/* What musl has each thread do by a signal, and waits for: here one does it for all. The threads of the host that have called a domain are outside
   most of the time, where no signal of the domain's comes to them. */
#include <errno.h>
#include <unistd.h>

#include "call.h"
#include "musl.h"

/* setuid and its like, setrlimit: what they set is the domain's, not a thread's. */
hidden void __synccall(void (*function)(void *), void *argument) { function(argument); }

/* The runtime's barrier is one for all threads. */
int __membarrier(int command, int flags) {
    long result = lg_call3(SYS_membarrier, command, flags, 0);
    if (result >= 0) return (int)result;
    errno = (int)-result;
    return -1;
}

int membarrier(int, int) __attribute__((weak, alias("__membarrier")));
