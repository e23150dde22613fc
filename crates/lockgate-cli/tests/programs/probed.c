/* Frames that are probed by a function: __rust_probestack, as compiler_builtins had it up to 2025, and a caller as rustc made them. */
#include <stdio.h>

__asm__(".text\n.globl __rust_probestack\n.type __rust_probestack,@function\n__rust_probestack:\n"
        "	push %rbp\n	mov %rsp,%rbp\n	mov %rax,%r11\n	cmp $0x1000,%r11\n	jna 3f\n"
        "2:	sub $0x1000,%rsp\n	test %rsp,8(%rsp)\n	sub $0x1000,%r11\n	cmp $0x1000,%r11\n	ja 2b\n"
        "3:	sub %r11,%rsp\n	test %rsp,8(%rsp)\n	add %rax,%rsp\n	leave\n	ret\n"
        ".size __rust_probestack,.-__rust_probestack\n");
__asm__(".globl large\n.type large,@function\nlarge:\n"
        "	push %rbp\n	mov %rsp,%rbp\n	mov $300000,%eax\n	call __rust_probestack\n	sub %rax,%rsp\n"
        "	mov %rdi,(%rsp)\n	mov %rdi,150000(%rsp)\n	mov (%rsp),%rax\n	add 150000(%rsp),%rax\n"
        "	mov %rbp,%rsp\n	pop %rbp\n	ret\n"
        ".size large,.-large\n");
long large(long);

int main(void)
{
    printf("%ld\n", large(21));
    return 0;
}
