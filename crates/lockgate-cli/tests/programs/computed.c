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

// r10 is set right before the jump, as for a call that passes a static chain.
__asm__(".globl computed_here\n"
        ".type computed_here,@function\n"
        "computed_here:\n"
        "lea 4f(%rip),%rdx\n"
        "mov $0x1100,%r11d\n"
        "mov $0x10,%r10d\n"
        "jmp *(%rdx,%rdi,8)\n"
        "1: lea 1(%r10),%rax\n"
        "ret\n"
        "2: lea 2(%r11),%rax\n"
        "ret\n"
        "3: lea 3(%r10,%r11),%rax\n"
        "ret\n"
        ".size computed_here,.-computed_here\n"
        ".section .data.rel.ro.local,\"aw\"\n"
        ".balign 8\n"
        "4: .quad 1b, 2b, 3b\n"
        ".text\n");

long computed(long which);
long computed_here(long which);

int main(void)
{
    for (long which = 0; which < 3; which++)
        printf("%ld %lx %lx\n", which, computed(which), computed_here(which));
    return 0;
}
