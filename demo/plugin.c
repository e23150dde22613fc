/* The smallest plugin: what a host calls first, and a mistake. */
int add(int a, int b) { return a + b; }
int read_at(unsigned long address) { return *(volatile int *)address; }
