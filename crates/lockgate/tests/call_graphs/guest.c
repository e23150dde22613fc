/* A frame of a random call graph: what it does follows from its seed alone, as model.rs says. SELF is the number of this
   domain; STATEFUL modules compute under control words of their own. */
typedef unsigned long u64;

struct big { u64 v[5]; };

#define TAINT (1UL << 63)
#define LOW ((1UL << 40) - 1)
#define DOMAINS 5
#define HOSTILE 3
#define DEPTH 0xff
#define CRASHES 0x100
#define LOOPS 0x200
#define SLEEPS 0x400

extern u64 host(u64 seed, u64 order);
extern void corrupt(u64 what, u64 seed);
extern void nowhere(void);
extern int usleep(unsigned);
extern long read(int, void *, unsigned long);

#define IMPORTS(j) \
    extern u64 plain##j(u64, u64); \
    extern u64 wide##j(u64, u64, u64, u64, u64, u64, u64, int, double, signed char, u64); \
    extern u64 grand##j(struct big *, u64, u64, struct big); \
    extern double mixed##j(u64, float, double, u64);
IMPORTS(0) IMPORTS(1) IMPORTS(2) IMPORTS(3) IMPORTS(4)

static u64 (*const plains[])(u64, u64) = {plain0, plain1, plain2, plain3, plain4};
static u64 (*const wides[])(u64, u64, u64, u64, u64, u64, u64, int, double, signed char, u64) = {wide0, wide1, wide2, wide3, wide4};
/* A result in memory: the pointer comes back, or what stands for failure. */
static u64 (*const grands[])(struct big *, u64, u64, struct big) = {grand0, grand1, grand2, grand3, grand4};
static double (*const mixeds[])(u64, float, double, u64) = {mixed0, mixed1, mixed2, mixed3, mixed4};
static u64 (*pointers[DOMAINS])(u64, u64);

void point(u64 domain, u64 (*function)(u64, u64)) { pointers[domain] = function; }

static u64 mix(u64 x, u64 y) {
    x = (x ^ y * 0x9e3779b97f4a7c15) + 0x632be59bd9b4e019;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
    return x ^ x >> 32;
}

#ifdef STATEFUL
struct words { unsigned mxcsr; unsigned short x87; };
static struct words words_now(void) {
    struct words w;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(w.mxcsr), "=m"(w.x87));
    w.mxcsr &= ~0x3f;
    return w;
}
static void set_words(struct words w) { __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(w.mxcsr), "m"(w.x87)); }
static struct words own_words(u64 seed) {
    u64 rounding = mix(seed, 5) & 3;
    return (struct words){0x1f80 | rounding << 13 | (seed & 1) << 15, 0x37f | rounding << 10};
}
/* Needs all eight registers of the x87. */
static void fill_x87(u64 seed) {
    long double sum;
    __asm__ volatile("fld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\tfld1\n\t"
                     "faddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfaddp\n\tfstpt %0" : "=m"(sum));
    if (sum != 8) corrupt(1, seed);
}
static void check_words(u64 seed) {
    struct words now = words_now(), own = own_words(seed);
    if (now.mxcsr != own.mxcsr) corrupt(2, seed);
    if (now.x87 != own.x87) corrupt(3, seed);
    fill_x87(seed);
}
#else
static void check_words(u64 seed) { (void)seed; }
#endif

static volatile int zero;
static u64 deep(u64 n) { volatile u64 v[64]; v[n % 64] = n; return deep(n + 1) + v[n % 64]; }

static void crash(u64 how) {
    switch (how % 5) {
    case 0: *(volatile u64 *)8 = how; break;
    case 1: __builtin_trap();
    case 2: zero = 100 / zero; break;
    case 3: deep(how); break;
    case 4: nowhere(); break;
    }
}

static void stay(u64 seed, u64 order) {
    u64 how = mix(seed, 6);
    if (how % 16 == 1 && order & LOOPS) for (;;) __asm__ volatile("");
    if (how % 16 == 2 && order & SLEEPS) usleep(50000);
    if (how % 16 == 3 && order & SLEEPS) { char c; read(0, &c, 1); }
}

static u64 decode(u64 bits) { return bits & (TAINT | LOW); }

static double encode_double(u64 value) { double d = (double)(value & LOW); return value & TAINT ? -d - 1 : d; }

/* Not by arithmetic: a failure is any bits. */
static u64 decode_double(double d) { u64 bits; __builtin_memcpy(&bits, &d, 8); return d < 0 ? decode(bits) | TAINT : (u64)d; }

static u64 call(u64 seed, u64 order) {
    u64 how = mix(seed, 3), to = (how >> 8) % DOMAINS, shape = how % 6;
    order -= 1;
    if (shape == 2 && to == HOSTILE) shape = 0;
    switch (shape) {
    case 0: return decode(plains[to](seed, order));
    case 1: return decode(wides[to](seed, order, seed + 1, seed + 2, seed + 3, seed + 4, seed + 5, (int)seed, (double)(seed & LOW), (signed char)seed, seed + 6));
    case 2: {
        struct big out, in;
        for (int i = 0; i < 5; i++) in.v[i] = mix(seed, 50 + i);
        u64 r = grands[to](&out, seed, order, in);
        if (r != (u64)&out) return decode(r);
        for (int i = 1; i < 5; i++) if (out.v[i] != mix(out.v[0], i)) corrupt(4, seed);
        return decode(out.v[0]);
    }
    case 3: return decode_double(mixeds[to](seed, (float)(seed & 0xffff), (double)(seed & LOW), order));
    case 4: return decode(host(seed, order));
    default: return decode(pointers[to](seed, order));
    }
}

#ifdef VECTORS
/* Wide registers, masks among them. */
static void compute(u64 seed) {
    static __thread unsigned v[64];
    for (unsigned i = 0; i < 64; i++) v[i] = (unsigned)seed + i;
    unsigned sum = 0;
    for (unsigned i = 0; i < 64; i++) sum += v[i] & 1 ? v[i] : 0;
    unsigned odd = (unsigned)seed | 1;
    if (sum != 32 * odd + 992) corrupt(5, seed);
}
#else
static void compute(u64 seed) { (void)seed; }
#endif

static u64 opaque(u64 x) { __asm__("" : "+r"(x)); return x; }

static __attribute__((noinline)) u64 node(u64 seed, u64 order) {
#ifdef STATEFUL
    struct words before = words_now();
    set_words(own_words(seed));
#endif
    /* In memory, and in more registers than a call keeps. */
    volatile u64 stack[8];
    for (int i = 0; i < 8; i++) stack[i] = mix(seed, 100 + i);
    u64 a = opaque(seed ^ 1), b = opaque(seed ^ 2), c = opaque(seed ^ 3), d = opaque(seed ^ 4), e = opaque(seed ^ 5), f = opaque(seed ^ 6), g = opaque(seed ^ 7);
    u64 result = mix(seed, SELF) & LOW, taint = 0;
    u64 children = order & DEPTH ? mix(seed, 2) % 4 : 0;
    u64 crashes = order & CRASHES && mix(seed, 4) % 8 == 0 ? mix(seed, 4) / 8 % (children + 1) : 99;
    for (u64 i = 0; i < children; i++) {
        if (i == crashes) crash(mix(seed, 8));
        u64 value = call(mix(seed, 16 + i), order);
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
        if ((a ^ 1) != seed || (b ^ 2) != seed || (c ^ 3) != seed || (d ^ 4) != seed || (e ^ 5) != seed || (f ^ 6) != seed || (g ^ 7) != seed) corrupt(6, seed);
        for (int k = 0; k < 8; k++) if (stack[k] != mix(seed, 100 + k)) corrupt(7, seed);
        check_words(seed);
        compute(seed);
        taint |= value & TAINT;
        result = mix(result, value) & LOW;
    }
    if (children == crashes) crash(mix(seed, 8));
    stay(seed, order);
#ifdef STATEFUL
    set_words(before);
#endif
    return result | taint;
}

u64 plain(u64 seed, u64 order) { return node(seed, order); }

u64 wide(u64 seed, u64 order, u64 c, u64 d, u64 e, u64 f, u64 g, int h, double i, signed char j, u64 k) {
    u64 r = node(seed, order);
    if (c != seed + 1 || d != seed + 2 || e != seed + 3 || f != seed + 4 || g != seed + 5 || h != (int)seed || i != (double)(seed & LOW) || j != (signed char)seed || k != seed + 6) corrupt(8, seed);
    return r;
}

struct big grand(u64 seed, u64 order, struct big in) {
    struct big out;
    out.v[0] = node(seed, order);
    for (int i = 0; i < 5; i++) if (in.v[i] != mix(seed, 50 + i)) corrupt(9, seed);
    for (int i = 1; i < 5; i++) out.v[i] = mix(out.v[0], i);
    return out;
}

double mixed(u64 seed, float x, double y, u64 order) {
    if (x != (float)(seed & 0xffff) || y != (double)(seed & LOW)) corrupt(10, seed);
    return encode_double(node(seed, order));
}
