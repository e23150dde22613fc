/* A module whose constructors and destructors call the host. */
int host_add(int a, int b);

static int begun;
__attribute__((constructor)) static void begin(void) { begun = host_add(1, 2); }
__attribute__((destructor)) static void end(void) { host_add(3, 4); }
int value(void) { return begun; }
