// A module that knows which instance of itself it is: the host numbers them.
// flags: --gate 'int host_number(void)'
int host_number(void);

static int number;

__attribute__((constructor)) static void begin(void) { number = host_number(); }

int which(void) { return number; }
// In the instance that was asked for, what comes along is not touched.
int first(const unsigned char *bytes, int expected) { return number == expected ? 7 : bytes[0]; }
int call(int (*f)(int), int expected) { return number == expected ? 7 : f(1); }
