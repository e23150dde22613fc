/* Entry point of a whole program (lockgate_abi::symbol::MAIN). It has one thread, so libc needs no locks. */
#include <stdlib.h>

#include "../libc/musl.h"
#include "start.h"

int main(int argc, char **argv, char **envp);

int _lg_main(long *stack) {
    char **arguments = (char **)(stack + 1);
    lg_start_libc(stack);
    __asm__ volatile("" : : : "memory");
    __libc_start_init();
    exit(main((int)stack[0], arguments, arguments + stack[0] + 1));
}
