// Thread-local variables in every kind of address and instruction that compilers, and people, put them in. Each thread has its own.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct point {
    long x, y;
};

static __thread int ints[40];
static __thread double doubles[16];
static __thread char bytes[64];
static __thread struct point points[8];
static __thread struct point one = {5, 7};
static __thread long word = 3;
static __thread void *where;
static __thread long (*function)(long, long);
static __thread long (*functions[2])(long, long);

static long add(long a, long b) { return a + b + word; }
static long subtract(long a, long b) { return a - b - word; }

// Arguments on the stack that are pushed from where they are.
__attribute__((noipa)) static long many(long a, long b, long c, long d, long e, long f, long g, long h, struct point p)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * p.x + 10 * p.y;
}
__attribute__((noipa)) static long pushes(void) { return many(1, 2, 3, 4, 5, 6, word, one.y, one); }

__attribute__((noipa)) static long indexed(long i, long j)
{
    ints[i] += 3;
    bytes[i * 8 + j] ^= 0x55;
    points[j].y = points[j].x + ints[i];
    __atomic_fetch_add(&ints[j], 2, __ATOMIC_SEQ_CST);
    return ints[i] + bytes[i * 8 + j] + points[j].y;
}
__attribute__((noipa)) static double floats(long i) { return doubles[i] = doubles[i + 1] * 2 + doubles[i]; }
__attribute__((noipa)) static long calls(long i) { return function(i, 2) + functions[i & 1](i, 3); }
__attribute__((noipa)) static long jumps(long i) { return functions[i & 1](i, 4); }
// Red if the stack's address is stored elsewhere, or is not the one that others see.
__attribute__((noipa)) static long stack(void)
{
    char here[8];
    __asm__ volatile("" ::"r"(here) : "memory");
    __asm__ volatile("mov %%rsp, %0" : "=m"(where)::"memory");
    return (char *)where <= here && here - (char *)where < 4096;
}

// What no compiler writes.
__asm__(".text\n"
        ".globl by_hand\n"
        ".type by_hand,@function\n"
        "by_hand:\n" // (offset in the block, index)
        "push %rdi\n"
        "push %fs:(%rdi)\n"
        "push %fs:(%rdi,%rsi,8)\n"
        "addq $100, %fs:(%rdi,%rsi,8)\n"
        "pop %rax\n"
        "pop %fs:8(%rdi)\n"
        "pop %rdi\n"
        "add %fs:(%rdi,%rsi,8), %rax\n"
        "add %fs:8(%rdi), %rax\n"
        ".byte 0x64\n" // of no effect
        "lea 1000(%rax,%rsi,2), %rax\n"
        "movq $32, %fs:(%rdi)\n"
        "sub %fs:(%rdi), %rsp\n"
        "mov %rsp, %rcx\n"
        "mov %rsp, %fs:(%rdi)\n"
        "sub %fs:(%rdi), %rcx\n"
        "add $32, %rsp\n"
        "add %rcx, %rax\n"
        "mov %rsp, %fs:(%rdi)\n"
        "push %rax\n"
        "push %rax\n"
        "mov %fs:(%rdi), %rsp\n"
        "cmp %rsp, %fs:(%rdi)\n"
        "lea 1(%rax), %rcx\n"
        "cmove %rcx, %rax\n"
        "ret\n"
        ".size by_hand,.-by_hand\n");
long by_hand(long offset, long index);

static void *work(void *argument)
{
    long seed = (long)argument;
    for (int i = 0; i < 40; i++) ints[i] = i * seed;
    for (int i = 0; i < 16; i++) doubles[i] = i * 0.5 + seed;
    for (int i = 0; i < 64; i++) bytes[i] = i + seed;
    for (int i = 0; i < 8; i++) points[i].x = i - seed;
    function = functions[0] = add;
    functions[1] = subtract;
    word += seed;
    printf("%ld %ld\n", pushes(), stack());
    for (int i = 0; i < 8; i++) printf("%ld %g %ld %ld\n", indexed(i, 7 - i), floats(i), calls(i), jumps(i));
    long sum = 0;
    for (int i = 0; i < 64; i++) sum = sum * 31 + bytes[i] + ints[i / 2] + points[i / 8].y;
    printf("%ld\n", sum);
    long base;
    __asm__("mov %%fs:0, %0" : "=r"(base));
    points[0] = (struct point){11, 22};
    points[2].x = 44;
    printf("%ld", by_hand((long)points - base, 4));
    printf(" %ld %ld\n", points[0].y, points[2].x);
    return 0;
}

int main(void)
{
    work((void *)1);
    pthread_t thread;
    if (pthread_create(&thread, 0, work, (void *)2)) return 1;
    pthread_join(thread, 0);
    printf("%ld %ld\n", word, pushes());
    return 0;
}
