// Computed jumps inside a function with values in the registers that the rewritten jump takes for itself: they are there
// at the target.
#include <stdio.h>

// r10 and r11 are set in another block than the jump; each target uses them otherwise.
__asm__(".text\n"
        ".globl computed\n"
        ".type computed,@function\n"
        "computed:\n"
        "lea 5f(%rip),%rdx\n"
        "mov $0x10,%r10d\n"
        "mov $0x1100,%r11d\n"
        "xor %eax,%eax\n"
        "4: jmp *(%rdx,%rdi,8)\n"
        "1: add %r10,%rax\n"
        "ret\n"
        "2: add %r11,%rax\n"
        "dec %rdi\n"
        "jmp 4b\n"
        "3: lea (%r10,%r11),%rax\n"
        "dec %rdi\n"
        "mov (%rdx,%rdi,8),%rcx\n"
        "jmp *%rcx\n"
        ".size computed,.-computed\n"
        ".section .data.rel.ro.local,\"aw\"\n"
        ".balign 8\n"
        "5: .quad 1b, 2b, 3b\n"
        ".text\n");

long computed(long which);

int main(void)
{
    for (long which = 0; which < 3; which++)
        printf("%ld %lx\n", which, computed(which));
    return 0;
}
