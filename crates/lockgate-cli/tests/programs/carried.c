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

// Functions that leave computed frames with a value in r11, which their caller reads.
#define ALIGNED \
    "push %r13\n" \
    "lea 16(%rsp),%r13\n" \
    "and $-32,%rsp\n" \
    "push -8(%r13)\n" \
    "push %rbp\n" \
    "mov %rsp,%rbp\n" \
    "push %r13\n" \
    "sub $160,%rsp\n" \
    "lea 5(%rdi),%r11\n"
#define LEFT \
    "lea -8(%rbp),%rsp\n" \
    "pop %r13\n" \
    "pop %rbp\n" \
    "lea -16(%r13),%rsp\n" \
    "pop %r13\n"
__asm__(".type returns,@function\n"
        "returns:\n" ALIGNED
        "test %rdi,%rdi\n"
        "je 1f\n" LEFT
        "ret\n"
        "1:\n" LEFT
        "mov $7,%eax\n"
        "ret\n"
        ".size returns,.-returns\n"
        ".type goes_on,@function\n"
        "goes_on:\n" ALIGNED LEFT
        "jmp simple\n"
        ".size goes_on,.-goes_on\n"
        ".type simple,@function\n"
        "simple:\n"
        "lea 1(%rdi),%rax\n"
        "ret\n"
        ".size simple,.-simple\n"
        ".type restores,@function\n"
        "restores:\n"
        "push %rbx\n"
        "mov %rsp,%rdx\n"
        "sub $64,%rsp\n"
        "and $-32,%rsp\n"
        "mov %rdx,(%rsp)\n"
        "lea 5(%rdi),%r11\n"
        "mov (%rsp),%rsp\n"
        "test %rdi,%rdi\n"
        "je 1f\n"
        "add $1,%r11\n"
        "1: pop %rbx\n"
        "ret\n"
        ".size restores,.-restores\n"
        ".globl left\n"
        ".type left,@function\n"
        "left:\n"
        "push %rbx\n"
        "push %rdi\n"
        "sub $8,%rsp\n"
        "call returns\n"
        "mov %r11,%rbx\n"
        "mov 8(%rsp),%rdi\n"
        "call goes_on\n"
        "lea (%rbx,%r11,8),%rbx\n"
        "mov 8(%rsp),%rdi\n"
        "call restores\n"
        "shl $8,%r11\n"
        "lea (%rbx,%r11),%rax\n"
        "add $16,%rsp\n"
        "pop %rbx\n"
        "ret\n"
        ".size left,.-left\n");

long carried(long by);
long carried_with_flags(long by, long left, long right);
long left(long value);

int main(void)
{
    for (long by = -512; by <= 512; by += 8)
        printf("%ld %lx\n", by, carried(by));
    for (long by = -512; by <= 512; by += 8)
        printf("%ld %lx %lx %lx %lx\n", by, carried_with_flags(by, 5, 4), carried_with_flags(by, 4, 5),
               carried_with_flags(by, 8, 5), carried_with_flags(by, -0x7fffffffffffffff - 1, 7));
    printf("%lx %lx\n", left(0), left(3));
    return 0;
}
