// Stack pointers computed while every register is in use, r11 included: all of them keep their values, however far rsp
// moves.
#include <stdio.h>

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
        "mov $0x1,%eax\n"
        "mov $0x20,%ecx\n"
        "mov $0x300,%edx\n"
        "mov $0x4000,%esi\n"
        "mov $0x50000,%edi\n"
        "mov $0x600000,%r8d\n"
        "mov $0x7000000,%r9d\n"
        "mov $0x80000000,%r10d\n"
        "movabs $0x900000000,%r11\n"
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

long carried(long by);

int main(void)
{
    for (long by = -512; by <= 512; by += 8)
        printf("%ld %lx\n", by, carried(by));
    return 0;
}
