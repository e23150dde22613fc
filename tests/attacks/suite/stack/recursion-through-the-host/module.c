long host(void);
long attack(void) { return host(); }
