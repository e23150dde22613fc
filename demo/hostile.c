/* A module that attacks its host. Each function is one attack; `host` is the true address of something that the host
 * keeps secret, which a real attacker would have to guess. A function that returns says so with a number that the host prints.
 * The host calls all of them alike, so they take the same arguments, used or not.
 * Ordinary C and inline assembly, compiled by an ordinary compiler. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Keeps the compiler from knowing a value. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

/* --- memory --- */

long wild_write(unsigned long host, unsigned long mine, unsigned long size)
{
    *(long *)host = 0x666;
    return 0;
}

long wild_read(unsigned long host, unsigned long mine, unsigned long size)
{
    return *(const long *)host;
}

long null_write(unsigned long host)
{
    long *nothing = NULL;
    OPAQUE(nothing);
    *nothing = 1;
    return 0;
}

/* strlen and memcpy do not check their arguments; their loads and stores are confined like all others. */
long copy_out(unsigned long host, unsigned long mine, unsigned long size)
{
    memcpy((char *)mine, (const char *)host, size);
    return (long)strlen((const char *)mine);
}

long write_own_code(unsigned long host)
{
    volatile unsigned char *code = (volatile unsigned char *)(uintptr_t)wild_write;
    OPAQUE(code);
    *code = 0xc3;
    return 0;
}

/* The table through which all calls leave the domain lies below the image (code-model.md). */
long write_gate_table(unsigned long host)
{
    uint64_t window = (uint64_t)(uintptr_t)wild_write & 0xffffffff00000000u;
    *(volatile uint64_t *)(uintptr_t)(window + 0x11000) = 0;
    return 0;
}

/* Takes all the memory that it can get, and uses it. Returns how many MiB that was. */
long memory_bomb(unsigned long host)
{
    long count = 0;
    for (char *block; count < 1 << 20 && (block = malloc(1 << 20)) != NULL; count++)
        memset(block, 1, 1 << 20);
    return count;
}

/* --- control flow --- */

long jump_to_host(unsigned long host)
{
    return ((long (*)(void))host)();
}

static long victim(long x)
{
    return x * 3 + 1;
}

/* A function pointer that an overflow has moved past the checks at the start of its function. */
long corrupted_pointer(unsigned long host)
{
    long (*pointer)(long) = victim;
    OPAQUE(pointer);
    pointer = (long (*)(long))((uintptr_t)pointer + 5);
    return pointer(1);
}

/* Machine code on the heap, complete with the label that indirect calls look for. */
long run_data(unsigned long host)
{
    static const unsigned char code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x05, 0xc3 };
    void *heap = malloc(sizeof code);
    memcpy(heap, code, sizeof code);
    return ((long (*)(void))heap)();
}

/* Overwrites its frame and what lies above, the place of the return address included, as a buffer overflow would. */
__attribute__((noinline)) static void overflow(unsigned long to)
{
    volatile unsigned long buffer[4];
    volatile unsigned long *end = buffer + 24;
    OPAQUE(end);
    for (volatile unsigned long *word = buffer; word < end; word++)
        *word = to;
}

long smash_stack(unsigned long host)
{
    volatile char room[512]; /* Below other frames, so that there is something to overwrite. */
    room[0] = 0;
    overflow(host);
    return 0;
}

/* A jump buffer that was not filled by setjmp. */
long forged_longjmp(unsigned long host)
{
    jmp_buf buffer;
    unsigned long *word = (unsigned long *)&buffer, *end = (unsigned long *)(&buffer + 1);
    while (word < end)
        *word++ = host;
    longjmp(buffer, 1);
}

/* --- stacks and time --- */

__attribute__((noinline)) long infinite_recursion(unsigned long depth)
{
    OPAQUE(depth);
    return infinite_recursion(depth + 1) + depth;
}

long big_frames(unsigned long depth)
{
    volatile char frame[60000];
    frame[0] = (char)depth;
    return big_frames(depth + 1) + frame[0];
}

long infinite_loop(unsigned long host)
{
    for (volatile unsigned long i = 0;; i++)
        ;
}

/* --- the processor's state --- */

/* Leaves junk in every register that a function must preserve. */
__attribute__((naked)) long trash_registers(unsigned long host)
{
    __asm__("mov $0x666, %eax\n\t"
            "mov %rax, %rbx\n\t"
            "mov %rax, %rbp\n\t"
            "mov %rax, %r12\n\t"
            "mov %rax, %r13\n\t"
            "mov %rax, %r14\n\t"
            "mov %rax, %r15\n\t"
            "ret");
}

/* Leaves a full x87 stack, every exception unmasked, and one pending. */
long trash_x87(unsigned long host)
{
    static const unsigned short unmasked = 0x0300;
    __asm__ volatile("fldz; fldz; fldz; fldz; fldz; fldz; fldz; fld1; fdiv %%st(1), %%st; fldcw %0" : : "m"(unmasked));
    return 0;
}

/* Leaves rounding towards zero, denormals flushed, no exception masked. */
long trash_mxcsr(unsigned long host)
{
    static const unsigned value = 0xe040;
    __asm__ volatile("ldmxcsr %0" : : "m"(value));
    return 0;
}

long divide_by_zero(unsigned long x)
{
    unsigned long zero = 0;
    OPAQUE(zero);
    return x / zero;
}

long illegal_instruction(unsigned long host)
{
    __builtin_trap();
}

/* --- system calls --- */

long open_shadow(unsigned long host)
{
    int file = open("/etc/shadow", O_RDONLY);
    return file < 0 ? -errno : file;
}

long run_shell(unsigned long host)
{
    char *arguments[] = { "/bin/sh", "-c", "echo broken out", NULL };
    return execve(arguments[0], arguments, NULL) < 0 ? -errno : 0;
}

/* The instruction itself, past the C library: ptrace(PTRACE_ATTACH, 1). */
long raw_syscall(unsigned long host)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_ptrace), "D"(16L), "S"(1L) : "rcx", "r11", "memory");
    return result;
}

long executable_memory(unsigned long host)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -errno : 0;
}

/* Asks the host to write into its own memory for the module. */
long bogus_pointer(unsigned long host, unsigned long mine, unsigned long size)
{
    long result = syscall(SYS_getrandom, host, 64L, 0L);
    return result < 0 ? -errno : result;
}

long leave_process(unsigned long host)
{
    exit(42);
}

long abort_process(unsigned long host)
{
    abort();
}
