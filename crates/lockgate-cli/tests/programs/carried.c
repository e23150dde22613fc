// Stack pointers computed while every register is in use, r11 included: all of them keep their values, however far rsp
// moves.
#include <stdio.h>

// A value in each register but rbx, rbp and r9, which are the functions' own.
#define VALUES \
    "mov $0x1,%eax\n" \
    "mov $0x20,%ecx\n" \
    "mov $0x300,%edx\n" \
    "mov $0x4000,%esi\n" \
    "mov $0x50000,%edi\n" \
    "mov $0x600000,%r8d\n" \
    "mov $0x80000000,%r10d\n" \
    "movabs $0x900000000,%r11\n"

// Moves rsp down by rbx = `by` with a value in each register; the sum of all, each with a weight of its own.
__asm__(".text\n"
        ".globl carried\n"
        ".type carried,@function\n"
        "carried:\n"
        "push %rbp\n"
        "mov %rsp,%rbp\n"
        "push %rbx\n"
        "mov %rdi,%rbx\n"
        "sub $1024,%rsp\n"
        VALUES
        "mov $0x7000000,%r9d\n"
        "sub %rbx,%rsp\n"
        "add %rcx,%rax\n"
        "add %rdx,%rax\n"
        "add %rsi,%rax\n"
        "add %rdi,%rax\n"
        "add %r8,%rax\n"
        "add %r9,%rax\n"
        "add %r10,%rax\n"
        "add %r11,%rax\n"
        "lea -8(%rbp),%rsp\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size carried,.-carried\n");

// The same with flags that live on: those of `left - right`.
__asm__(".globl carried_with_flags\n"
        ".type carried_with_flags,@function\n"
        "carried_with_flags:\n"
        "push %rbp\n"
        "mov %rsp,%rbp\n"
        "push %rbx\n"
        "push %r12\n"
        "mov %rsi,%rbx\n"
        "sub $1024,%rsp\n"
        "mov %rsp,%r12\n"
        "sub %rdi,%r12\n"
        "mov %rdx,%r9\n"
        VALUES
        "cmp %r9,%rbx\n"
        "mov %r12,%rsp\n"
        "lea (%rax,%rcx),%rax\n"
        "lea (%rax,%rdx),%rax\n"
        "lea (%rax,%rsi),%rax\n"
        "lea (%rax,%rdi),%rax\n"
        "lea (%rax,%r8),%rax\n"
        "lea (%rax,%r9),%rax\n"
        "lea (%rax,%r10),%rax\n"
        "lea (%rax,%r11),%rax\n"
        "jo 1f\n"
        "jb 2f\n"
        "jp 3f\n"
        "jmp 4f\n"
        "1: lea 1(,%rax,8),%rax\n"
        "jmp 4f\n"
        "2: lea 2(,%rax,8),%rax\n"
        "jmp 4f\n"
        "3: lea 3(,%rax,8),%rax\n"
        "4: lea -16(%rbp),%rsp\n"
        "pop %r12\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size carried_with_flags,.-carried_with_flags\n");

long carried(long by);
long carried_with_flags(long by, long left, long right);

int main(void)
{
    for (long by = -512; by <= 512; by += 8)
        printf("%ld %lx\n", by, carried(by));
    for (long by = -512; by <= 512; by += 8)
        printf("%ld %lx %lx %lx %lx\n", by, carried_with_flags(by, 5, 4), carried_with_flags(by, 4, 5),
               carried_with_flags(by, 8, 5), carried_with_flags(by, -0x7fffffffffffffff - 1, 7));
    return 0;
}
