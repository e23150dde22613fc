#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
static void handler(int number) { (void)number; _Exit(1); }
long attack(void)
{
    static char memory[65536];
    for (unsigned flags = 0; flags < 4; flags++) {
        stack_t stack = {.ss_sp = memory, .ss_size = flags & 1 ? 64 : sizeof memory, .ss_flags = flags & 2 ? (int)0x80000000 /* SS_AUTODISARM */ : 0};
        sigaltstack(&stack, 0);
        stack.ss_flags = SS_DISABLE;
        sigaltstack(&stack, 0);
    }
    for (int number = 1; number < 65; number++) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = number & 1 ? SA_ONSTACK | SA_NODEFER : 0};
        sigaction(number, &action, 0);
    }
    return *(volatile long *)8;
}
