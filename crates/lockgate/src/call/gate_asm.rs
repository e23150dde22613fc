//! A call from a domain to the host, in execution order: thunk, gate, host function, return.
//!
//! A thunk in the window ([`super::thunks`]) loads the number of the function into r11d and jumps here
//! through the thread's block. The gate leaves the control stack at once (rule R7), for the host's stack below the
//! proxy's frame, makes a record next to the entry's, and calls. Calls back into the domain start below the module's
//! live frames (rule R9): the thread's slot for the domain is lowered meanwhile.
//!
//! Registers: rbx the gate record; r12, while the host's function runs, the frame of the call's entry, on the stack that the function runs on.
//! Both are restored at the end. A function that switches stacks may come back when its record is another call's: so each record
//! has a mark, whose copy is in that frame, and nothing of the record is believed before they were compared (rule R16).

use super::layout::*;
use std::mem::offset_of;

core::arch::global_asm!(
    r#"
    # What debuggers need: the caller's frame is on the control stack, rbx and r12 are in the record. As a
    # signal frame it may continue on a stack that lies lower (gdb takes it for a corrupt stack otherwise).
    # CFA = *(rbx + CONTROL) + 8; rbx at rbx + RBX; r12 at rbx + R12.
    # Before rbx is the record, the entry's record is in r10 (DWARF register 10) or rcx (2).
    .macro lockgate_gate_switched register
    .cfi_escape 0x0f,0x06,0x70+\register,({RECORD}+{CONTROL})|0x80,0x00,0x06,0x23,0x08
    .endm
    .macro lockgate_gate_outside
    .cfi_def_cfa rsp,8
    .cfi_restore rbx
    .cfi_restore r12
    .endm
    .macro lockgate_gate_frame
    .cfi_escape 0x0f,0x05,0x73,{CONTROL},0x06,0x23,0x08
    .cfi_escape 0x10,0x03,0x02,0x73,{RBX}
    mov %r12,{R12}(%rbx)
    .cfi_escape 0x10,0x0c,0x02,0x73,{R12}
    .endm

    # The record at rbx gets a mark, and so does the entry's frame. Block's offset in r10; changes rax.
    .macro lockgate_gate_mark frame
    mov %fs:{MARK}(%r10),%rax
    add ${NEXT_MARK},%rax
    mov %rax,%fs:{MARK}(%r10)
    mov %rax,{KIND}(%rbx)
    mov %rax,(\frame)
    .endm

    # A gate begins to go back, unless a proxy is in transit, whose place was found before (then \other), or the record at rbx is not its own,
    # or not the innermost one (\covered). From here on until it is off the records no call begins: a handler may switch to another stack, and
    # what the gate has found here would not be true any more. As in the proxy, one instruction asks and says so, and what is in transit still when
    # the record is the innermost one stays so. Block's offset in r10, the frame in r12; changes rdi.
    .macro lockgate_gate_goes_back covered,other
    mov %rax,%rdi
    xor %eax,%eax
    cmpxchg %rsp,%fs:{TRANSIT}(%r10)
    mov %rdi,%rax
    jne \other
    cmp %rbx,%fs:{TOP}(%r10)
    jne \covered
    cmp %rsp,%fs:{TRANSIT}(%r10)
    jne \other
    mov (%r12),%rdi
    cmp %rdi,{KIND}(%rbx)
    jne \covered
    .endm

    # It does not: nothing of its own is in transit. What is another's stays. Keeps rax; changes rdi and \scratch.
    .macro lockgate_gate_stays scratch
    mov %rax,%rdi
    mov %rsp,%rax
    mov $0,\scratch
    cmpxchg \scratch,%fs:{TRANSIT}(%r10)
    mov %rdi,%rax
    .endm

    # It is off the records: \entry, its entry's, is the innermost one. Where \zero is a register, that is 0.
    .macro lockgate_gate_is_off entry,zero=$0
    mov \entry,%fs:{TOP}(%r10)
    movq \zero,%fs:{TRANSIT}(%r10)
    .endm

    # \place = the address of the slot-table entry of the domain whose binding is in \binding. Block's offset in r10.
    .macro lockgate_gate_place binding,place
    mov {SLOT_OFFSET}(\binding),\place\()d
    add %fs:{SLOTS}(%r10),\place
    .endm

    # The entry of function number r11 in a table of the calling domain, in r11; the domain's entry record in r10. The
    # domain's stack is left by what the entry leads to (rule R7).
    .macro lockgate_gate_find table,count
    mov lockgate_thread@gottpoff(%rip),%r10
    mov %fs:{TOP}(%r10),%r10
    mov {BINDING}(%r10),%rax
    mov {GATES}(%rax),%rax
    cmp \count(%rax),%r11
    jae .Lgate_missing
    mov \table(%rax),%rax
    mov (%rax,%r11,8),%r11
    jmp *{CODE}(%r11)
    .endm

    # \record = the entry that holds the host's own control words: the outermost one that keeps any, of those that lead from
    # the host to the gate's rbx; 0 if none does, because the host trusts them. `saved` is SAVED_X87 or SAVED_MXCSR.
    # Changes rax and rcx.
    .macro lockgate_gate_host_words record,saved
    lea -{RECORD}(%rbx),%rax
    xor \record,\record
1:
    mov {BINDING}(%rax),%rcx
    testl $\saved,{FLAGS}(%rcx)
    cmovnz %rax,\record
    testl ${FROM_DOMAIN},{FLAGS}(%rcx)
    jz 2f
    sub $2*{RECORD},%rax
    jmp 1b
2:
    test \record,\record
    .endm

    # The host's control words for the host's code (R17), the module's into the record. Changes rax, rcx and rdx, not \binding.
    .macro lockgate_gate_hosts_words binding
    testl ${X87},{FLAGS}(\binding)
    jz 4f
    fnstcw {X87_CONTROL}(%rbx)
    testl ${X87_ENVIRONMENT},{FLAGS}(\binding)
    jz 6f
    fnstsw {X87_STATUS}(%rbx) # the way back takes what is there, to hide addresses
6:
    lockgate_gate_host_words %rdx,{SAVED_X87}
    jz 4f
    # as in the proxy: emms where nothing can be pending
    movzwl {X87_CONTROL}(%rbx),%eax
    cmp {ENTRY_X87}(%rdx),%ax
    jne 3f
    not %eax
    test ${X87_MASKS},%eax
    jnz 3f
    emms
    jmp 4f
3:
    fninit
    fldcw {ENTRY_X87}(%rdx)
4:
    testl ${MXCSR_BIT},{FLAGS}(\binding)
    jz 5f
    stmxcsr {GATE_MXCSR}(%rbx)
    lockgate_gate_host_words %rdx,{SAVED_MXCSR}
    jz 5f
    ldmxcsr {ENTRY_MXCSR}(%rdx)
5:
    .endm

    # The same of a gate that keeps nothing else of the module's state. rcx the binding, before and after; changes rax, rdx and r8.
    .macro lockgate_gate_swaps_words
    testl ${X87}|{MXCSR_BIT},{FLAGS}(%rcx)
    jz .Lhosts_words_\@
    mov %rcx,%r8
    lockgate_gate_hosts_words %r8
    mov %r8,%rcx
.Lhosts_words_\@:
    .endm

    # The module's control words, and nothing of the host's in x87 registers where \hides is 1, or the caller hides. rcx its binding; keeps
    # rax, changes r8.
    .macro lockgate_gate_modules_words hides
    testl ${X87},{FLAGS}(%rcx)
    jz 1f
    .if !\hides
    testl ${HIDES},{FLAGS}(%rcx)
    jz 3f
    .endif
    mov %rax,%r8
    fnstsw %ax
    test $0x80,%al # an exception that is pending would be raised by the next instruction that waits
    mov %r8,%rax
    jz 4f
    fninit
4:
    .irp number,0,1,2,3,4,5,6,7
    pxor %mm\number,%mm\number
    .endr
    emms
3:
    testl ${X87_ENVIRONMENT},{FLAGS}(%rcx) # as in the proxy (R18)
    jz 2f
    fninit
    # The flags of the module's exceptions, which stay over calls. (Not those that it unmasks: they would be raised once more.)
    movzwl {X87_STATUS}(%rbx),%r8d
    and {X87_CONTROL}(%rbx),%r8w
    and ${X87_MASKS},%r8d
    jz 2f
    sub $32,%rsp
    fnstenv (%rsp)
    mov %r8w,4(%rsp)
    fldenv (%rsp)
    add $32,%rsp
2:
    fldcw {X87_CONTROL}(%rbx)
1:
    testl ${MXCSR_BIT},{FLAGS}(%rcx)
    jz 1f
    ldmxcsr {GATE_MXCSR}(%rbx)
1:
    .endm

    # Saves vectors and what belongs to them below rsp, for a gate that keeps all of the module's state; the host's control words for the
    # host's code. rcx the binding; changes rax, rcx, rdx, r8 and rsp.
    .macro lockgate_gate_save
    mov {GATES}(%rcx),%rax
    mov {XSAVE_MASK}(%rax),%eax
    xor %edx,%edx
    sub {XSAVE_SIZE}(%rip),%rsp
    and $-64,%rsp
    movq $0,512+16(%rsp)
    movq $0,512+24(%rsp)
    movq $0,512+32(%rsp)
    movq $0,512+40(%rsp)
    movq $0,512+48(%rsp)
    movq $0,512+56(%rsp)
    testb $1,{XSAVE_COMPACT}(%rip)
    jz 1f
    xsavec (%rsp)
    jmp 2f
1: # a processor without xsavec; xsave keeps what it finds in these words
    movq $0,512(%rsp)
    movq $0,512+8(%rsp)
    xsave (%rsp)
2:
    mov %rcx,%r8
    testl ${X87},{FLAGS}(%r8)
    jz 3f
    lockgate_gate_host_words %rdx,{SAVED_X87}
    jz 3f
    fninit
    fldcw {ENTRY_X87}(%rdx)
3:
    testl ${MXCSR_BIT},{FLAGS}(%r8)
    jz 4f
    lockgate_gate_host_words %rdx,{SAVED_MXCSR}
    jz 4f
    ldmxcsr {ENTRY_MXCSR}(%rdx)
4:
    .endm

    # The record of a gate becomes the innermost, and calls back start below the module's frames, which have data in \room bytes below rsp at
    # most (a constant, or rdx). rcx leads to the binding, r10 the block's offset; changes rax and r11.
    .macro lockgate_gate_is_on room=${RED_ZONE}
    lockgate_gate_place %rcx,%r11
    mov (%r11),%rax
    mov %rax,{SLOT}(%rbx)
    mov {CONTROL}(%rbx),%rax
    sub \room,%rax
    and $-16,%rax
    mov %rax,(%r11)
    mov %rbx,%fs:{TOP}(%r10)
    .endm

    # The same of a gate that keeps all of the module's state, which it saves. rsp leads to the frame; rdi and rsi are the record and the frame
    # afterwards; changes rax, rcx, rdx, r8, r11 and rsp.
    .macro lockgate_gate_enter room=${RED_ZONE}
    lockgate_gate_is_on \room
    mov %rsp,%rsi # the frame
    lockgate_gate_save
    mov %rbx,%rdi
    .endm

    # Back from there: the module's state, if the gate \keeps it, or its control words, slot and gs. Block's offset in r10, the frame in r12; r11
    # the binding afterwards; changes rax, rdx, rdi and r9, and rcx and r8 where it keeps nothing. Goes to \covered or \pending where it does not
    # go back, to \gs if gs is another's.
    .macro lockgate_gate_restore covered,pending,gs,keeps=1
    lockgate_gate_goes_back \covered,\pending
    mov {BINDING}-{RECORD}(%rbx),%r11
    .if \keeps
    mov {GATES}(%r11),%rax
    mov {XSAVE_MASK}(%rax),%eax
    xor %edx,%edx
    xrstor (%rsp)
    .else
    mov %r11,%rcx
    lockgate_gate_modules_words 1
    call lockgate_forget_vectors
    .endif
    lea -{RECORD}(%rbx),%rax # off the records before gs is looked at, as any gate
    lockgate_gate_is_off %rax
    lockgate_gate_place %r11,%r9
    mov {SLOT}(%rbx),%rax
    mov %rax,(%r9)
    rdgsbase %rax
    cmp {WINDOW}(%r11),%rax
    jne \gs
    .endm

    # Asks whether the call ends here, and goes on behind if not. rbx the gate's record, r12 its mark's place; r10 is the thread's block
    # then, and what C functions change is lost.
    .macro lockgate_gate_ask
    mov %rbx,%rdi
    mov %r12,%rsi
    lea {pending}(%rip),%rax
    call lockgate_undisturbed
    mov lockgate_thread@gottpoff(%rip),%r10
    cmp ${ENDS},%eax
    je .Lgate_unwind
    ja lockgate_left
    .endm

    # Extends an argument to 32 bits as the four bits of r10d from `shift` on say.
    .macro lockgate_gate_small whole,byte,word,shift
    test $0xf<<\shift,%r10d
    jz 5f
    test $1<<\shift,%r10d
    jnz 1f
    test $2<<\shift,%r10d
    jnz 2f
    test $4<<\shift,%r10d
    jnz 6f
    movswl \word,\whole
    jmp 5f
1:
    movzbl \byte,\whole
    test $2<<\shift,%r10d
    jz 5f
    test \whole,\whole
    setne \byte
    jmp 5f
2:
    movsbl \byte,\whole
    jmp 5f
6:
    movzwl \word,\whole
5:
    .endm

    .text
    .p2align 6
    .globl lockgate_gate_import
    .hidden lockgate_gate_import
    .type lockgate_gate_import,@function
lockgate_gate_import: # r11d slot of the gate table; arguments in place, as in any call
    .cfi_startproc
    .cfi_signal_frame
    lockgate_gate_find {IMPORTS},{IMPORT_COUNT}

    .p2align 6
    .globl lockgate_gate_callback
    .hidden lockgate_gate_callback
lockgate_gate_callback: # r11d number of the callback
    lockgate_gate_find {CALLBACKS},{CALLBACK_COUNT}

.Lgate_missing:
    lea {no_function}(%rip),%r11
    jmp lockgate_gate_host

    .p2align 6
    .globl lockgate_gate_host
    .hidden lockgate_gate_host
lockgate_gate_host: # a host function: r11 its entry, r10 the calling domain's entry record
    mov %rsp,{RECORD}+{CONTROL}(%r10)
    mov {HOST}(%r10),%rsp # the host's stack
    lockgate_gate_switched 10
    mov %rbx,{RECORD}+{RBX}(%r10)
    lea {RECORD}(%r10),%rbx
    lockgate_gate_frame
    mov lockgate_thread@gottpoff(%rip),%r10
    lockgate_gate_mark %rsp
    mov %r11,{GATE_ENTRY}(%rbx)
    mov {BINDING}-{RECORD}(%rbx),%r12
    testb ${X87}|{MXCSR_BIT},{FLAGS}(%r12)
    jnz .Lgate_cpu
.Lgate_slot:
    lockgate_gate_place %r12,%r12
    mov (%r12),%rax
    mov %rax,{SLOT}(%rbx)
    mov {CONTROL}(%rbx),%rax
    sub ${RED_ZONE},%rax
    and $-16,%rax
    mov %rax,(%r12)
    mov %rsp,%r12
    mov %rbx,%fs:{TOP}(%r10) # from here on a fault is the host's
    mov {STACK_WORDS}(%r11),%rax # and, in its upper half, what is small
    test %rax,%rax
    jnz .Lgate_arguments
.Lgate_go:
    call *{FUNCTION}(%r11)

    mov lockgate_thread@gottpoff(%rip),%r10
    cmpq $0,%fs:{PENDING}(%r10)
    jne .Lgate_pending
.Lgate_back: # the host may have jumped out of calls, or switched stacks
    lockgate_gate_goes_back .Lgate_covered,.Lgate_pending
    mov {BINDING}-{RECORD}(%rbx),%rcx
    testb ${X87}|{MXCSR_BIT}|{HIDES},{FLAGS}(%rcx)
    jnz .Lgate_cpu_back
.Lgate_window: # rcx the binding
    xor %esi,%esi
    mov %rsi,%fs:{STATUS}(%r10) # of a call by the host's function that it did not look at
    # Off the records first: a call by a handler of the host's is refused then, finds no place above live frames, and leaves no gs.
    lea -{RECORD}(%rbx),%r12
    lockgate_gate_is_off %r12,%rsi
    lockgate_gate_place %rcx,%r12
    mov {SLOT}(%rbx),%r10
    mov %r10,(%r12)
    mov {WINDOW}(%rcx),%rcx # a nested call may have left another window's gs (R15, R19): asked as in the proxy
    .globl lockgate_gate_check
    .hidden lockgate_gate_check
lockgate_gate_check:
    cmp %rcx,%gs:{HEADER_W}
    jne lockgate_gate_other_window
.Lgate_leave:
    xor %ecx,%ecx # the host's addresses stay its own (R24): what the gate itself has had in registers
    xor %r10d,%r10d
    mov {R12}(%rbx),%r12
    mov {CONTROL}(%rbx),%rsp
    mov {RBX}(%rbx),%rbx
    .cfi_remember_state
    lockgate_gate_outside
    ret
    .cfi_restore_state

    # Out of line.

.Lgate_cpu: # r12 the binding
    push %rcx
    push %rdx
    lockgate_gate_hosts_words %r12
    pop %rdx
    pop %rcx
    jmp .Lgate_slot

.Lgate_arguments: # small ones are extended: the host's compiler may rely on it
    mov %rax,%r10
    shr $32,%r10
    jz .Lgate_stack
    lockgate_gate_small %edi,%dil,%di,0
    lockgate_gate_small %esi,%sil,%si,4
    lockgate_gate_small %edx,%dl,%dx,8
    lockgate_gate_small %ecx,%cl,%cx,12
    lockgate_gate_small %r8d,%r8b,%r8w,16
    lockgate_gate_small %r9d,%r9b,%r9w,20
    mov %eax,%eax
    test %eax,%eax
    jz .Lgate_go
.Lgate_stack: # stack arguments, copied once; a fault while copying ends the call (R23)
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    mov %rsp,%rsi
    lea 1(%rax),%rcx
    and $-2,%rcx
    shl $3,%rcx
    cmp ${PAGE},%rcx
    ja .Lgate_stack_room
.Lgate_stack_copy:
    sub %rcx,%rsp
    push %rsi
    push %r11
    lea 16(%rsp),%rdi
    mov %rax,%rdx
    shl $3,%rdx
    mov {CONTROL}(%rbx),%rsi
    sub ${OFF},%rsi
    add {STACK_DISTANCE}(%r11),%rsi
    mov {STACK_MASKS}(%r11),%rcx
    test %rcx,%rcx
    jnz 1f
    call {copy}
    jmp 2f
1: # a bool is 0 or 1: its compiler relies on it
    call {copy_arguments}
2:
    pop %r11
    pop %rsi
    test %rax,%rax
    jnz .Lgate_stack_fault
    mov 24(%rsi),%rdi
    mov 8(%rsi),%rdx
    mov (%rsi),%rcx
    mov 16(%rsi),%rsi
    jmp .Lgate_go

.Lgate_stack_room: # from page to page, down to where they begin: one step might lead over the guard of the host's stack
    mov %rsp,%rdi
    mov %rsp,%rdx
    sub %rcx,%rdx
1:
    sub ${PAGE},%rdi
    call {touch}
    test %eax,%eax
    jz .Lgate_stack_fault
    cmp %rdx,%rdi
    ja 1b
    mov {STACK_WORDS}(%r11),%eax
    jmp .Lgate_stack_copy

.Lgate_stack_fault:
    mov {HOST}-{RECORD}(%rbx),%rsp
    mov %rbx,%rdi
    lea {argument_fault}(%rip),%rax
    call lockgate_undisturbed
    mov lockgate_thread@gottpoff(%rip),%r10
    jmp .Lgate_unwind

.Lgate_covered:
    lockgate_gate_stays %rsi
.Lgate_pending:
    push %rax
    push %rdx
    sub $16,%rsp
    movsd %xmm0,(%rsp)
    movsd %xmm1,8(%rsp)
    lockgate_gate_ask
    movsd (%rsp),%xmm0
    movsd 8(%rsp),%xmm1
    add $16,%rsp
    pop %rdx
    pop %rax
    jmp .Lgate_back

.Lgate_unwind: # to the entry's caller, as the common exit does
    lea -{RECORD}(%rbx),%rcx
    mov %rcx,%fs:{TOP}(%r10)
    testb ${UNTAKEN},%fs:{TRANSIT}(%r10)
    jnz 1f
    movq $0,%fs:{TRANSIT}(%r10)
1:
    mov {BINDING}(%rcx),%r12
    lockgate_gate_place %r12,%r12
    mov {SLOT}(%rbx),%r11
    mov %r11,(%r12)
    mov %fs:{SLOTS}(%r10),%r11
    cmpq $0,-{WHOSE}(%r11)
    jne 1f
    movq $0,(%r12) # in a child: the place was its parent's, and the thread goes on with the host, which may call again
1:
    mov %rcx,%r10
    jmp lockgate_unwind

.Lgate_cpu_back: # rcx the binding
    lockgate_gate_modules_words 0
    testl ${HIDES},{FLAGS}(%rcx)
    jz .Lgate_window
    # What the host's function left in registers, but for its result, is nothing for the module. rcx, rsi and r10 are
    # cleared later.
    mov {GATE_ENTRY}(%rbx),%rsi
    mov {RESULTS}(%rsi),%esi
    xor %edi,%edi
    test ${RESULT_RAX},%esi
    cmovz %rdi,%rax
    test ${RESULT_RDX},%esi
    cmovz %rdi,%rdx
    xor %r8d,%r8d
    xor %r9d,%r9d
    xor %r11d,%r11d
    test ${RESULT_TRIMS},%esi
    jnz .Lgate_trim
.Lgate_trimmed:
    test ${RESULT_XMM0},%esi
    jnz 1f
    vpxor %xmm0,%xmm0,%xmm0
1:
    vmovq %xmm0,%xmm0
    test ${RESULT_XMM1},%esi
    jnz 1f
    vpxor %xmm1,%xmm1,%xmm1
1:
    vmovq %xmm1,%xmm1
    .irp number,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vpxor %xmm\number,%xmm\number,%xmm\number
    .endr
    mov {GATES}(%rcx),%rsi
    testl ${AVX512},{XSAVE_MASK}(%rsi)
    jz .Lgate_window
    .irp number,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    vpxord %xmm\number,%xmm\number,%xmm\number
    .endr
    .irp number,0,1,2,3,4,5,6,7
    kxorw %k\number,%k\number,%k\number
    .endr
    jmp .Lgate_window

.Lgate_trim: # a result that does not fill its registers: the rest is cleared, by shifts
    mov %esi,%ecx
    shr ${RESULT_SHIFT_RAX},%ecx
    shl %cl,%rax
    test ${RESULT_SIGNED},%esi
    jnz 1f
    shr %cl,%rax
    jmp 2f
1:
    sar %cl,%rax
    mov %eax,%eax
2:
    test ${RESULT_BOOL},%esi
    jz 3f
    test %eax,%eax
    setne %al
3:
    mov %esi,%ecx
    shr ${RESULT_SHIFT_RDX},%ecx
    shl %cl,%rdx
    shr %cl,%rdx
    test ${RESULT_LOW_XMM0},%esi
    jz 4f
    insertps $0xe,%xmm0,%xmm0
4:
    test ${RESULT_LOW_XMM1},%esi
    jz 5f
    insertps $0xe,%xmm1,%xmm1
5:
    mov {BINDING}-{RECORD}(%rbx),%rcx
    jmp .Lgate_trimmed

    .globl lockgate_gate_other_window
    .hidden lockgate_gate_other_window
lockgate_gate_other_window:
    wrgsbase %rcx
    jmp .Lgate_leave
    .cfi_endproc
    .size lockgate_gate_import,.-lockgate_gate_import

    # An import that is bound at its first call: r11 its entry, r10 the domain's entry record. Afterwards the entry leads
    # elsewhere.
    .p2align 4
    .globl lockgate_gate_resolve
    .hidden lockgate_gate_resolve
    .type lockgate_gate_resolve,@function
lockgate_gate_resolve:
    .cfi_startproc
    .cfi_signal_frame
    mov %rsp,{RECORD}+{CONTROL}(%r10)
    mov {HOST}(%r10),%rsp
    lockgate_gate_switched 10
    mov %rbx,{RECORD}+{RBX}(%r10)
    lea {RECORD}(%r10),%rbx
    lockgate_gate_frame
    mov {BINDING}(%r10),%r12
    mov lockgate_thread@gottpoff(%rip),%r10
    lockgate_gate_mark %rsp
    mov %r11,{GATE_ENTRY}(%rbx)
    lockgate_gate_place %r12,%r12
    mov (%r12),%rax
    mov %rax,{SLOT}(%rbx) # all that is read of a gate's record is there before it is on top
    mov {CONTROL}(%rbx),%rax
    sub ${RED_ZONE},%rax
    and $-16,%rax
    mov %rax,(%r12)
    mov %rsp,%r12
    mov %rbx,%fs:{TOP}(%r10) # what goes wrong here is the host's
    push %rdi
    push %rsi
    push %rdx
    push %rcx
    push %r8
    push %r9
    sub $144,%rsp
    .irp number,0,1,2,3,4,5,6,7
    movups %xmm\number,16*\number(%rsp)
    .endr
    mov %rbx,%rdi
    lea {resolve}(%rip),%rax
    call lockgate_undisturbed
    mov %rax,128(%rsp)
    call lockgate_forget_vectors
    mov lockgate_thread@gottpoff(%rip),%r10
.Lresolve_back:
    lockgate_gate_goes_back .Lresolve_covered,.Lresolve_pending
    .irp number,0,1,2,3,4,5,6,7
    movups 16*\number(%rsp),%xmm\number
    .endr
    mov 128(%rsp),%r11
    add $144,%rsp
    pop %r9
    pop %r8
    pop %rcx
    pop %rdx
    pop %rsi
    pop %rdi
    lea -{RECORD}(%rbx),%rax
    lockgate_gate_is_off %rax
    mov {BINDING}(%rax),%r12
    lockgate_gate_place %r12,%r12
    mov %rax,%r10
    mov {SLOT}(%rbx),%rax
    mov %rax,(%r12)
    mov {R12}(%rbx),%r12
    mov {CONTROL}(%rbx),%rsp
    mov {RBX}(%rbx),%rbx
    .cfi_remember_state
    lockgate_gate_outside
    jmp *{CODE}(%r11)
    .cfi_restore_state

.Lresolve_covered:
    lockgate_gate_stays %rsi
.Lresolve_pending:
    lockgate_gate_ask
    jmp .Lresolve_back
    .cfi_endproc
    .size lockgate_gate_resolve,.-lockgate_gate_resolve

    # What a module asks for as it calls a function, though by a number of a system call. Whatever the policy, it finds none of the host's
    # addresses in registers, as after any system call (R24).
    .macro lockgate_gate_asked to
    .cfi_startproc
    sub $8,%rsp
    .cfi_adjust_cfa_offset 8
    mov %rbx,%r8 # this gate's own record and mark: a handler of the host's may leave others on top
    mov %r12,%r9
    call \to
    call lockgate_forget_vectors
    xor %edx,%edx
    xor %edi,%edi
    xor %r8d,%r8d
    xor %r9d,%r9d
    xor %r11d,%r11d
    add $8,%rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .endm

    .p2align 4
    .globl lockgate_gate_context
    .hidden lockgate_gate_context
    .type lockgate_gate_context,@function
lockgate_gate_context: # context_sys.rs
    lockgate_gate_asked {context}
    .size lockgate_gate_context,.-lockgate_gate_context

    .p2align 4
    .globl lockgate_gate_functions
    .hidden lockgate_gate_functions
    .type lockgate_gate_functions,@function
lockgate_gate_functions: # service_sys.rs
    lockgate_gate_asked {functions}
    .size lockgate_gate_functions,.-lockgate_gate_functions

    # A system call comes in: its frame, with Linux's registers, below the entry's, and its record, which gets a mark. r12 is the entry's frame then,
    # r10 the block's offset, rcx the binding.
    .macro lockgate_gate_syscall_begins
    mov lockgate_thread@gottpoff(%rip),%r11
    mov %fs:{TOP}(%r11),%rcx
    mov %rsp,{RECORD}+{CONTROL}(%rcx)
    mov {HOST}(%rcx),%rsp
    lockgate_gate_switched 2
    mov %rbx,{RECORD}+{RBX}(%rcx)
    lea {RECORD}(%rcx),%rbx
    lockgate_gate_frame
    movq $0,{GATE_ENTRY}(%rbx)
    mov %rsp,%r12
    push %r9
    push %r8
    push %r10
    push %rdx
    push %rsi
    push %rdi
    push %rax
    mov %r11,%r10
    lockgate_gate_mark %r12
    mov {BINDING}(%rcx),%rcx
    .endm

    # System calls: Linux's registers; all but rax, rcx and r11 are the module's afterwards, vectors
    # included. But contexts and functions in progress are asked for as a function is called: to keep vectors would take longer than all
    # else.
    .p2align 6
    .globl lockgate_gate_syscall
    .hidden lockgate_gate_syscall
    .type lockgate_gate_syscall,@function
lockgate_gate_syscall:
    .cfi_startproc
    .cfi_signal_frame
    test %r11d,%r11d
    jnz lockgate_gate_syscall_as_call
    cmp ${CONTEXT},%rax
    je .Lsyscall_context
    cmp ${FUNCTIONS},%rax
    je .Lsyscall_functions
    lockgate_gate_syscall_begins
    lockgate_gate_enter
    call {syscall}
    mov %rax,%rcx
    mov lockgate_thread@gottpoff(%rip),%r10
    cmpq $0,%fs:{PENDING}(%r10)
    jne .Lsyscall_pending
    cmpq ${SIGRETURN},-{FRAME_SIZE}+{NUMBER}(%r12) # it never returns, whatever calls by handlers have made of what is pending
    je .Lsyscall_pending
.Lsyscall_back: # as after a host function: a handler may have switched stacks
    lockgate_gate_restore .Lsyscall_covered,.Lsyscall_pending,.Lsyscall_gs
.Lsyscall_leave:
    mov -{FRAME_SIZE}+{ARGUMENTS}(%r12),%rdi
    mov -{FRAME_SIZE}+{ARGUMENTS}+8(%r12),%rsi
    mov -{FRAME_SIZE}+{ARGUMENTS}+16(%r12),%rdx
    mov -{FRAME_SIZE}+{ARGUMENTS}+24(%r12),%r10
    mov -{FRAME_SIZE}+{ARGUMENTS}+32(%r12),%r8
    mov -{FRAME_SIZE}+{ARGUMENTS}+40(%r12),%r9
    mov %rcx,%rax
    xor %ecx,%ecx
    xor %r11d,%r11d
    mov {R12}(%rbx),%r12
    mov {CONTROL}(%rbx),%rsp
    mov {RBX}(%rbx),%rbx
    .cfi_remember_state
    lockgate_gate_outside
    ret
    .cfi_restore_state

.Lsyscall_functions:
    .cfi_remember_state
    lockgate_gate_outside
    lea {FUNCTIONS_ENTRY}(%rip),%r11
    jmp 1f
.Lsyscall_context:
    lea {CONTEXT_ENTRY}(%rip),%r11
1:
    mov lockgate_thread@gottpoff(%rip),%r10
    mov %fs:{TOP}(%r10),%r10
    jmp lockgate_gate_host
    .cfi_restore_state

.Lsyscall_gs:
    mov {WINDOW}(%r11),%rax
    wrgsbase %rax
    jmp .Lsyscall_leave

.Lsyscall_covered:
    lockgate_gate_stays %rsi
.Lsyscall_pending: # where the call goes on, signals of the domain's own may be waiting
    push %rcx
    push %rcx
    lockgate_gate_ask
    lea 16(%rsp),%rax
    mov %rax,8(%rsp)
    push %r15
    push %r14
    push %r13
    push %rbp
    mov %rbx,%rdi
    mov %r12,%rsi
    mov %rsp,%rdx
    lea {signalled}(%rip),%rax
    call lockgate_undisturbed
    mov lockgate_thread@gottpoff(%rip),%r10
    add $32,%rsp
    pop %rcx
    add $8,%rsp
    cmp $1,%rax
    jb .Lsyscall_back
    je .Lsyscall_pending
    # Goes on with what is at rax: at a handler, or where one has interrupted the module. The thread is in transit since that was found, while
    # no handler of the host's came: the record is this gate's, and the innermost one, and no other call overwrites what lies below rsp.
    mov %rax,%r8
    mov {BINDING}-{RECORD}(%rbx),%r11
    mov {GATES}(%r11),%rax
    mov {XSAVE_MASK}(%rax),%eax
    xor %edx,%edx
    mov {GOING_STATE}(%r8),%r9
    xrstor (%r9)
    lea -{RECORD}(%rbx),%rcx
    mov {GOING_INTERRUPTION}(%r8),%eax # no code makes a call that could look for it
    mov %eax,{INTERRUPTION}(%rcx)
    lockgate_gate_is_off %rcx # before gs is looked at, as any gate
    lockgate_gate_place %r11,%r9
    mov {SLOT}(%rbx),%rax
    mov %rax,(%r9)
    rdgsbase %rax
    mov {WINDOW}(%r11),%rcx
    cmp %rcx,%rax
    je 1f
    wrgsbase %rcx
1: # the place and the flags below rsp: where a call would push them
    mov {GOING_RSP}(%r8),%rcx
    mov {GOING_RIP}(%r8),%rax
    mov %rax,-8(%rcx)
    mov {GOING_FLAGS}(%r8),%rax
    mov %rax,-16(%rcx)
    .cfi_remember_state
    lockgate_gate_outside
    .cfi_undefined rip
    lea -16(%rcx),%rsp
    mov 0*8(%r8),%rax
    mov 1*8(%r8),%rcx
    mov 2*8(%r8),%rdx
    mov 3*8(%r8),%rbx
    mov 5*8(%r8),%rbp
    mov 6*8(%r8),%rsi
    mov 7*8(%r8),%rdi
    mov 9*8(%r8),%r9
    mov 10*8(%r8),%r10
    mov 11*8(%r8),%r11
    mov 12*8(%r8),%r12
    mov 13*8(%r8),%r13
    mov 14*8(%r8),%r14
    mov 15*8(%r8),%r15
    mov 8*8(%r8),%r8
    popfq
    ret
    .cfi_restore_state

    # A signal of the domain's own has interrupted it (interrupt_sys.rs): rbx the record, which is written, rsp and r12 the entry's frame, rcx
    # the binding, rdx how far below its rsp the domain has data.
.Lgate_interrupted:
    mov lockgate_thread@gottpoff(%rip),%r10
    lockgate_gate_enter %rdx
    xor %ecx,%ecx
    jmp .Lsyscall_pending
    .cfi_endproc
    .pushsection .data.rel.ro,"aw",@progbits
    .p2align 3
    .globl lockgate_gate_interrupted
    .hidden lockgate_gate_interrupted
    .type lockgate_gate_interrupted,@object
lockgate_gate_interrupted: # where it is
    .quad .Lgate_interrupted
    .size lockgate_gate_interrupted,8
    .popsection
    .size lockgate_gate_syscall,.-lockgate_gate_syscall
    # The same in the other slot: for code that keeps no vectors over it, as over the call of a function. They are zeros then. (To keep them takes longer than what
    # most system calls do.) What is pending finds a gate that keeps them, so that there is one way for it.
    .p2align 6
    .globl lockgate_gate_syscall_as_call
    .hidden lockgate_gate_syscall_as_call
    .type lockgate_gate_syscall_as_call,@function
lockgate_gate_syscall_as_call:
    .cfi_startproc
    .cfi_signal_frame
    lockgate_gate_syscall_begins
    lockgate_gate_swaps_words
    lockgate_gate_is_on
    mov %rbx,%rdi
    mov %rsp,%rsi
    sub $8,%rsp # 16-aligned
    call {syscall}
    mov %rax,%rsi
    mov lockgate_thread@gottpoff(%rip),%r10
    cmpq $0,%fs:{PENDING}(%r10)
    jne .Las_call_pending
    cmpq ${SIGRETURN},-{FRAME_SIZE}+{NUMBER}(%r12)
    je .Las_call_pending
    lockgate_gate_restore .Las_call_covered,.Las_call_pending,.Las_call_gs,0
.Las_call_leave:
    mov %rsi,%rcx
    jmp .Lsyscall_leave

.Las_call_gs:
    mov {WINDOW}(%r11),%rax
    wrgsbase %rax
    jmp .Las_call_leave

.Las_call_covered:
    lockgate_gate_stays %r8 # (The result is in rsi.)
.Las_call_pending:
    mov {BINDING}-{RECORD}(%rbx),%rcx
    lockgate_gate_modules_words 1
    call lockgate_forget_vectors
    lockgate_gate_save
    mov %rsi,%rcx
    jmp .Lsyscall_pending
    .cfi_endproc
    .size lockgate_gate_syscall_as_call,.-lockgate_gate_syscall_as_call
    # `resume` (resume_sys.rs): r10d the label, r11d the address. General registers are the module's as after a system call, but control goes
    # on elsewhere, and no function keeps vectors for its callers: they are zeros. (To keep them took more than all else.)
    .p2align 6
    .globl lockgate_gate_resume
    .hidden lockgate_gate_resume
    .type lockgate_gate_resume,@function
lockgate_gate_resume:
    .cfi_startproc
    .cfi_signal_frame
    shl $32,%r10
    mov %r11d,%r11d
    or %r10,%r11
    mov lockgate_thread@gottpoff(%rip),%r10
    mov %fs:{TOP}(%r10),%r10
    mov %rsp,{RECORD}+{CONTROL}(%r10)
    mov {HOST}(%r10),%rsp
    lockgate_gate_switched 10
    mov %rbx,{RECORD}+{RBX}(%r10)
    lea {RECORD}(%r10),%rbx
    lockgate_gate_frame
    movq $0,{GATE_ENTRY}(%rbx)
    mov %rsp,%r12
    push %rax
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %r8
    push %r9
    sub ${RESUME_SIZE},%rsp
    mov %r11d,%eax
    shr $32,%r11
    mov %rax,{ADDRESS}(%rsp)
    mov %r11,{LABEL}(%rsp)
    mov lockgate_thread@gottpoff(%rip),%r10
    lockgate_gate_mark %r12
    mov {BINDING}-{RECORD}(%rbx),%rcx
    lockgate_gate_swaps_words
    lockgate_gate_is_on
    mov %rbx,%rdi
    mov %rsp,%rsi
    mov %r12,%rdx
    call {resume} # (here, and in system calls, handlers come)
    mov lockgate_thread@gottpoff(%rip),%r10
    cmp ${ENDS},%eax
    je .Lgate_unwind
    ja lockgate_left
    cmpq $0,%fs:{PENDING}(%r10)
    jne .Lresume_pending
.Lresume_back: # a handler may have switched stacks
    lockgate_gate_restore .Lresume_covered,.Lresume_pending,.Lresume_gs,0
.Lresume_leave:
    mov %r12,%r10
    mov -56(%r10),%r9
    mov -48(%r10),%r8
    mov -40(%r10),%rdi
    mov -32(%r10),%rsi
    mov -24(%r10),%rdx
    mov -16(%r10),%rcx
    mov -8(%r10),%rax
    mov {R12}(%rbx),%r12
    mov {RBX}(%rbx),%rbx
    .cfi_remember_state
    lockgate_gate_outside
    .cfi_undefined rip
    mov -56-{RESUME_SIZE}+{ADDRESS}(%r10),%r11
    mov -56-{RESUME_SIZE}+{RESUME_ENTRY}(%r10),%rsp
    mov -56-{RESUME_SIZE}+{LABEL}(%r10),%r10 # as any jump through a pointer: the host's addresses stay its own (R24)
    jmp *%r10
    .cfi_restore_state

.Lresume_gs:
    mov {WINDOW}(%r11),%rax
    wrgsbase %rax
    jmp .Lresume_leave

.Lresume_covered:
    lockgate_gate_stays %rsi
.Lresume_pending:
    lockgate_gate_ask
    jmp .Lresume_back
    .cfi_endproc
    .size lockgate_gate_resume,.-lockgate_gate_resume
    # Faults between lockgate_gate_import and here are the domain's (is_domains in signals_sys.rs): new gates go above.
    .globl lockgate_gate_end
    .hidden lockgate_gate_end
lockgate_gate_end:
    "#,
    TOP = const offset_of!(ThreadBlock, top),
    SLOTS = const offset_of!(ThreadBlock, slots),
    WHOSE = const WHOSE,
    PENDING = const offset_of!(ThreadBlock, pending),
    TRANSIT = const offset_of!(ThreadBlock, transit),
    UNTAKEN = const UNTAKEN,
    STATUS = const offset_of!(ThreadBlock, status),
    MARK = const offset_of!(ThreadBlock, mark),
    NEXT_MARK = const NEXT_MARK,
    ENDS = const super::gate_sys::Then::Ends as u32,
    RECORD = const RECORD,
    KIND = const offset_of!(GateRecord, mark),
    BINDING = const offset_of!(EntryRecord, binding),
    HOST = const offset_of!(EntryRecord, host),
    ENTRY_MXCSR = const offset_of!(EntryRecord, mxcsr),
    ENTRY_X87 = const offset_of!(EntryRecord, x87_control),
    CONTROL = const offset_of!(GateRecord, control),
    SLOT = const offset_of!(GateRecord, slot),
    GATE_ENTRY = const offset_of!(GateRecord, entry),
    RBX = const offset_of!(GateRecord, rbx),
    R12 = const offset_of!(GateRecord, r12),
    GATE_MXCSR = const offset_of!(GateRecord, mxcsr),
    X87_CONTROL = const offset_of!(GateRecord, x87_control),
    X87_STATUS = const offset_of!(GateRecord, x87_status),
    WINDOW = const offset_of!(BindingHeader, window),
    FLAGS = const offset_of!(BindingHeader, flags),
    SLOT_OFFSET = const offset_of!(BindingHeader, slot),
    GATES = const offset_of!(BindingHeader, gates),
    IMPORTS = const offset_of!(Gates, imports),
    IMPORT_COUNT = const offset_of!(Gates, import_count),
    CALLBACKS = const offset_of!(Gates, callbacks),
    CALLBACK_COUNT = const offset_of!(Gates, callback_count),
    XSAVE_MASK = const offset_of!(Gates, xsave_mask),
    FUNCTION = const offset_of!(GateEntry, function),
    STACK_WORDS = const offset_of!(GateEntry, stack_words),
    STACK_MASKS = const offset_of!(GateEntry, stack_masks),
    PAGE = const lockgate_abi::PAGE,
    FRAME_SIZE = const size_of::<SyscallFrame>(),
    ARGUMENTS = const offset_of!(SyscallFrame, arguments),
    X87 = const X87,
    MXCSR_BIT = const MXCSR,
    X87_MASKS = const X87_MASKS,
    X87_ENVIRONMENT = const X87_ENVIRONMENT,
    OFF = const lockgate_abi::code::OFF,
    RED_ZONE = const RED_ZONE,
    NUMBER = const offset_of!(SyscallFrame, number),
    SIGRETURN = const libc::SYS_rt_sigreturn,
    CODE = const offset_of!(GateEntry, code),
    STACK_DISTANCE = const offset_of!(GateEntry, stack_distance),
    RESULTS = const offset_of!(GateEntry, results),
    RESULT_RAX = const RESULT_RAX,
    RESULT_RDX = const RESULT_RDX,
    RESULT_XMM0 = const RESULT_XMM0,
    RESULT_XMM1 = const RESULT_XMM1,
    RESULT_TRIMS = const RESULT_TRIMS,
    RESULT_SIGNED = const RESULT_SIGNED,
    RESULT_BOOL = const RESULT_BOOL,
    RESULT_LOW_XMM0 = const RESULT_LOW_XMM0,
    RESULT_LOW_XMM1 = const RESULT_LOW_XMM1,
    RESULT_SHIFT_RAX = const RESULT_SHIFT_RAX,
    RESULT_SHIFT_RDX = const RESULT_SHIFT_RDX,
    FROM_DOMAIN = const FROM_DOMAIN,
    SAVED_X87 = const SAVED_X87,
    SAVED_MXCSR = const SAVED_MXCSR,
    HIDES = const HIDES,
    HEADER_W = const lockgate_abi::header::W,
    AVX512 = const super::layout::component::AVX512,
    INTERRUPTION = const offset_of!(EntryRecord, interruption),
    GOING_STATE = const offset_of!(Going, state),
    GOING_INTERRUPTION = const offset_of!(Going, interruption),
    GOING_RSP = const offset_of!(Going, registers) + 8 * RSP,
    GOING_RIP = const offset_of!(Going, rip),
    GOING_FLAGS = const offset_of!(Going, flags),
    RESUME_SIZE = const size_of::<ResumeFrame>(),
    RESUME_ENTRY = const offset_of!(ResumeFrame, entry),
    ADDRESS = const offset_of!(ResumeFrame, address),
    LABEL = const offset_of!(ResumeFrame, label),
    resume = sym super::resume_sys::lockgate_resume,
    XSAVE_SIZE = sym super::interruptions_sys::XSAVE_SIZE,
    XSAVE_COMPACT = sym super::gate_sys::XSAVE_COMPACT,
    copy = sym crate::copy_asm::lockgate_copy,
    copy_arguments = sym crate::copy_asm::lockgate_copy_arguments,
    touch = sym crate::copy_asm::lockgate_touch,
    syscall = sym super::service_sys::lockgate_syscall,
    context = sym super::context_sys::lockgate_context,
    CONTEXT = const lockgate_abi::context::CALL,
    CONTEXT_ENTRY = sym super::gate_sys::CONTEXT,
    functions = sym super::service_sys::lockgate_functions,
    FUNCTIONS = const lockgate_syscall::FUNCTIONS,
    FUNCTIONS_ENTRY = sym super::gate_sys::FUNCTIONS,
    pending = sym super::gate_sys::lockgate_comes_back,
    signalled = sym super::signalled_sys::lockgate_signalled,
    no_function = sym super::gate_sys::NO_FUNCTION,
    resolve = sym super::gate_sys::lockgate_resolve,
    argument_fault = sym super::gate_sys::lockgate_argument_fault,
    options(att_syntax)
);

// One-byte and two-byte LEB128 offsets for the debugger.
const _: () = {
    assert!(offset_of!(GateRecord, r12) < 64);
    // What is loaded by its hardware number.
    assert!(offset_of!(Going, registers) == 0);
    assert!(size_of::<GateState>() == 6 * size_of::<u64>() && offset_of!(GateState, state) == 40);
    // Of the seven registers that resume's gate pushes, and its frame.
    assert!((7 * size_of::<u64>() + size_of::<ResumeFrame>()).is_multiple_of(16));
    assert!(RECORD + (offset_of!(GateRecord, control) as u64) < 128);
    assert!(offset_of!(GateEntry, code) == 0 && offset_of!(GateEntry, function) == 8);
};
