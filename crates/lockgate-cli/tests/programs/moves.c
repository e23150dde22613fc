/* Moves the thread of another process that sleeps at the second word of the memory on descriptor 0, as one of lockgate does that waits for calls, to
   another word. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    unsigned *words = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0);
    if (words == MAP_FAILED)
        return 1;
    /* It sleeps soon, if it does not yet. */
    while (syscall(SYS_futex, words + 1, FUTEX_CMP_REQUEUE, 0, 1L, words + 1024, 1) != 1)
        usleep(1000);
    return 0;
}
