/* A module whose constructors and destructors call the host, and loop if it says so. */
int host_add(int a, int b);

int begun;
__attribute__((constructor)) static void begin(void) {
    begun = host_add(1, 2);
    for (volatile int loops = begun < 0; loops;)
        ;
}
__attribute__((destructor)) static void end(void) { host_add(3, 4); }
int value(void) { return begun; }
