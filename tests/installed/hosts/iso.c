/* Compiled with -std=c11 -D_XOPEN_SOURCE=700: signal() is __sysv_signal() then. */
#include <signal.h>
void (*iso_signal(int number, void (*handler)(int)))(int) { return signal(number, handler); }
