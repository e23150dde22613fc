void host(void);
static volatile long sink;
static int kept, *volatile at = &kept;
int fine(void) { return 7; }
long where(void) { return (long)__builtin_frame_address(0); }
long spin(long turns) {
    for (long i = 0; i < turns; i++)
        sink++;
    return turns;
}
void call_host(void) { host(); }
int call_host_then(int x) {
    host();
    *at = x;
    return kept + 1;
}
/* Keeps to nothing; then comes back, or crashes. */
__asm__(".text\n.globl dirty\n.type dirty,@function\ndirty:\n\t"
        "sub $16,%rsp\n\tmovl $0x9fc0,(%rsp)\n\tldmxcsr (%rsp)\n\tmovw $0x0040,(%rsp)\n\tfldcw (%rsp)\n\tfldz\n\tfldz\n\tfld1\n\tadd $16,%rsp\n\t"
        "mov $-1,%rbx\n\tmov $-1,%rbp\n\tmov $-1,%r12\n\tmov $-1,%r13\n\tmov $-1,%r14\n\tmov $-1,%r15\n\t"
        "test %rdi,%rdi\n\tje 1f\n\txor %eax,%eax\n\tmov 8(%rax),%eax\n1:\n\tret\n.size dirty,.-dirty\n");
