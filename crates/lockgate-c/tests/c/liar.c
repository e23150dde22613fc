/* A module whose functions are others than the program believes; what its notes say of them is true. */
typedef struct { char bytes[64]; } big;
typedef struct { char bytes[8]; } small;

static long got[32];

/* The program believes: int init(void *), and passes an address of its own. */
big init(void) {
    big all;
    for (unsigned i = 0; i < sizeof all.bytes; i++)
        all.bytes[i] = 'M';
    return all;
}

/* The program believes: int run(int). */
int run(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l) {
    long all[] = {a, b, c, d, e, f, g, h, i, j, k, l};
    for (unsigned n = 0; n < sizeof all / sizeof *all; n++)
        got[n] = all[n];
    return 1;
}

long look(int n) { return got[n]; }

/* A number, and then a structure for which the number would be an address. */
static unsigned long where;
void aim(unsigned long at) { where = at; }
unsigned long first(void) { return where; }
small second(void) {
    small all = {"PWNED!!"};
    return all;
}

/* Data by the name of a function. */
int start[16] = {1};
