// Assembly outside functions.
#include <stdio.h>
__asm__(
    ".text\n.globl addmul\n.type addmul,@function\naddmul:\n lea (%rdi,%rsi,4),%rax\n test %rdx,%rdx\n je "
    "1f\n imul %rdx,%rax\n1: ret\n.size addmul,.-addmul\n.globl viajump\n.type viajump,@function\nviajump: "
    "mov %rsi,%rax\n jmp addmul\n.size viajump,.-viajump\n.globl loopf\n.type loopf,@function\nloopf: mov "
    "%edi,%ecx\n xor %eax,%eax\n2: add %ecx,%eax\n loop 2b\n ret\n.size loopf,.-loopf\n.globl jr\n.type "
    "jr,@function\njr: mov %edi,%ecx\n jrcxz 3f\n mov $5,%eax\n ret\n3: mov $9,%eax\n ret\n.size "
    "jr,.-jr\n.data\n.globl dat\n.balign 8\ndat: .quad addmul, dat+8\n.text\n");
long addmul(long, long, long), viajump(long, long, long);
int loopf(int), jr(int);
extern void *dat[2];
int main() {
    long (*f)(long, long, long) = dat[0];
    printf("%ld %ld %d %d %d %ld %d\n", addmul(1, 2, 3), viajump(1, 2, 0), loopf(10), jr(0), jr(1),
           f(5, 6, 7), dat[1] == &dat[1]);
}
