/* What attacks on contexts share. */
#include <errno.h>
#include <string.h>
#include <ucontext.h>
static ucontext_t own, other;
static char stack[65536];
static void make(void (*begin)(void))
{
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = 0;
    makecontext(&other, begin, 0);
}
