/* A module whose initialisation fails. */
__attribute__((constructor)) static void begin(void) { *(volatile int *)0 = 1; }
int same(int x) { return x; }
