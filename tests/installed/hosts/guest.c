static volatile long sink;
long spin(long turns) {
    for (long i = 0; i < turns; i++)
        sink++;
    return turns;
}
long divide(long by) { return 7 / by; }
int crash(int *at) { return *at = 1; }
int fine(void) { return 7; }
long answer(long x) { return x + 1; }
