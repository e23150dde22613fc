#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdlib.h>
long attack(void)
{
    unsigned char *page = aligned_alloc(4096, 4096);
    /* endbr64; mov $1,%eax; ret: turned over, because no module may hold a label's bytes in its code. */
    static volatile const unsigned char code[] = {0x0c, 0xf0, 0xe1, 0x05, 0x47, 0xfe, 0xff, 0xff, 0xff, 0x3c};
    for (unsigned i = 0; i < sizeof code; i++)
        page[i] = ~code[i];
    if (!mprotect(page, 4096, PROT_READ | PROT_EXEC) || !syscall(SYS_pkey_mprotect, page, 4096, PROT_EXEC, 0))
        return 1;
    return ((long (*)(void))page)();
}
