long attack(long x) { return x + 1; }
