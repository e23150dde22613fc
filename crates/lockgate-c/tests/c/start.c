/* A module whose initialisation fails. */
static int *volatile nowhere;
__attribute__((constructor)) static void begin(void) { *nowhere = 1; }
int same(int x) { return x; }
