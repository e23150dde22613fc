//! The gate of `resume`, gate slot 1: see [`super::resume_sys`]. In execution order.
//!
//! As the gate of system calls it keeps all registers, but it goes on elsewhere. Registers: rbx the gate record, r12 the frame of the
//! call's entry, both restored at the end; as other gates, it knows its record by a mark (rule R16).

use super::layout::*;
use std::mem::offset_of;

core::arch::global_asm!(
    r#"
    .text
    .p2align 6
    .globl lockgate_gate_resume
    .hidden lockgate_gate_resume
    .type lockgate_gate_resume,@function
lockgate_gate_resume: # r10d the label, r11d the address; every other register is the module's afterwards
    .cfi_startproc
    .cfi_signal_frame
    shl $32,%r10
    mov %r11d,%r11d
    or %r10,%r11
    mov lockgate_thread@gottpoff(%rip),%r10
    mov %fs:{TOP}(%r10),%r10
    mov %rsp,{RECORD}+{CONTROL}(%r10)
    mov {HOST}(%r10),%rsp
    # For debuggers, as gate_asm.rs says.
    .cfi_escape 0x0f,0x06,0x7a,({RECORD}+{CONTROL})|0x80,0x00,0x06,0x23,0x08
    mov %rbx,{RECORD}+{RBX}(%r10)
    lea {RECORD}(%r10),%rbx
    .cfi_escape 0x0f,0x05,0x73,{CONTROL},0x06,0x23,0x08
    .cfi_escape 0x10,0x03,0x02,0x73,{RBX}
    .cfi_escape 0x10,0x0c,0x02,0x73,{R12}
    mov %r12,{R12}(%rbx)
    movq $0,{GATE_ENTRY}(%rbx)
    mov %rsp,%r12
    push %rax
    push %rcx
    push %rdx
    push %rsi
    push %rdi
    push %r8
    push %r9
    sub ${FRAME_SIZE},%rsp
    mov %r11d,%eax
    shr $32,%r11
    mov %rax,{ADDRESS}(%rsp)
    mov %r11,{LABEL}(%rsp)
    mov {BINDING}-{RECORD}(%rbx),%rcx
    mov lockgate_thread@gottpoff(%rip),%r10
    mov %fs:{MARK}(%r10),%rax
    add ${NEXT_MARK},%rax
    mov %rax,%fs:{MARK}(%r10)
    mov %rax,{KIND}(%rbx)
    mov %rax,(%r12)
    mov {SLOT_OFFSET}(%rcx),%r11d
    add %fs:{SLOTS}(%r10),%r11
    mov (%r11),%rax
    mov %rax,{SLOT}(%rbx)
    mov {CONTROL}(%rbx),%rax
    sub ${RED_ZONE},%rax
    and $-16,%rax
    mov %rax,(%r11)
    mov %rbx,%fs:{TOP}(%r10) # from here on a fault is the host's

    # Vectors are all that Rust may change of what is not on the stack.
    mov %rsp,%rsi # the frame
    mov {GATES}(%rcx),%rax
    mov {XSAVE_MASK}(%rax),%eax
    and $~{X87_STATE},%eax
    xor %edx,%edx
    sub {XSAVE_SIZE}(%rip),%rsp
    and $-64,%rsp
    .irp word,0,1,2,3,4,5,6,7
    movq $0,512+8*\word(%rsp)
    .endr
    testb $1,{XSAVE_COMPACT}(%rip)
    jz .Lresume_save
    xsavec (%rsp)
.Lresume_saved:
    mov %rbx,%rdi
    mov %r12,%rdx
    call {resume}
    mov lockgate_thread@gottpoff(%rip),%r10
    cmp ${ENDS},%eax
    je lockgate_gate_unwind
    ja lockgate_left
    cmpq $0,%fs:{PENDING}(%r10)
    jne .Lresume_pending
.Lresume_restore: # as after a system call: a handler may have switched stacks
    cmp %rbx,%fs:{TOP}(%r10)
    jne .Lresume_pending
    mov (%r12),%rdi
    cmp %rdi,{KIND}(%rbx)
    jne .Lresume_pending
    mov {BINDING}-{RECORD}(%rbx),%r11
    mov {GATES}(%r11),%rax
    mov {XSAVE_MASK}(%rax),%eax
    and $~{X87_STATE},%eax
    xor %edx,%edx
    xrstor (%rsp)
    lea -{RECORD}(%rbx),%rax # off the records before gs is looked at, as any gate
    mov %rax,%fs:{TOP}(%r10)
    mov {SLOT_OFFSET}(%r11),%r9d
    add %fs:{SLOTS}(%r10),%r9
    mov {SLOT}(%rbx),%rax
    mov %rax,(%r9)
    rdgsbase %rax
    cmp {WINDOW}(%r11),%rax
    jne .Lresume_gs
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
    .cfi_undefined rip
    mov -56-{FRAME_SIZE}+{ADDRESS}(%r10),%r11
    mov -56-{FRAME_SIZE}+{ENTRY}(%r10),%rsp
    mov -56-{FRAME_SIZE}+{LABEL}(%r10),%r10 # as any jump through a pointer: the host's addresses stay its own (R24)
    jmp *%r10

    # Out of line.

.Lresume_save: # a processor without xsavec
    xsave (%rsp)
    jmp .Lresume_saved

.Lresume_gs:
    mov {WINDOW}(%r11),%rax
    wrgsbase %rax
    jmp .Lresume_leave

.Lresume_pending: # does the call end here?
    mov %rbx,%rdi
    mov %r12,%rsi
    call {pending}
    mov lockgate_thread@gottpoff(%rip),%r10
    cmp ${ENDS},%eax
    jb .Lresume_restore
    je lockgate_gate_unwind
    jmp lockgate_left
    .cfi_endproc
    .size lockgate_gate_resume,.-lockgate_gate_resume
    .globl lockgate_gate_resume_end
    .hidden lockgate_gate_resume_end
lockgate_gate_resume_end:
    "#,
    TOP = const offset_of!(ThreadBlock, top),
    SLOTS = const offset_of!(ThreadBlock, slots),
    PENDING = const offset_of!(ThreadBlock, pending),
    MARK = const offset_of!(ThreadBlock, mark),
    NEXT_MARK = const NEXT_MARK,
    ENDS = const super::gate_sys::ENDS,
    RECORD = const RECORD,
    KIND = const offset_of!(GateRecord, mark),
    BINDING = const offset_of!(EntryRecord, binding),
    HOST = const offset_of!(EntryRecord, host),
    CONTROL = const offset_of!(GateRecord, control),
    SLOT = const offset_of!(GateRecord, slot),
    GATE_ENTRY = const offset_of!(GateRecord, entry),
    RBX = const offset_of!(GateRecord, rbx),
    R12 = const offset_of!(GateRecord, r12),
    WINDOW = const offset_of!(BindingHeader, window),
    SLOT_OFFSET = const offset_of!(BindingHeader, slot),
    GATES = const offset_of!(BindingHeader, gates),
    XSAVE_MASK = const offset_of!(Gates, xsave_mask),
    X87_STATE = const super::gate_sys::component::X87,
    RED_ZONE = const RED_ZONE,
    FRAME_SIZE = const size_of::<ResumeFrame>(),
    ENTRY = const offset_of!(ResumeFrame, entry),
    ADDRESS = const offset_of!(ResumeFrame, address),
    LABEL = const offset_of!(ResumeFrame, label),
    XSAVE_SIZE = sym super::gate_sys::XSAVE_SIZE,
    XSAVE_COMPACT = sym super::gate_sys::XSAVE_COMPACT,
    resume = sym super::resume_sys::lockgate_resume,
    pending = sym super::gate_sys::lockgate_pending,
    options(att_syntax)
);

const _: () = {
    // Of the seven registers pushed and the frame.
    assert!((7 * size_of::<u64>() + size_of::<ResumeFrame>()).is_multiple_of(16));
    assert!(offset_of!(GateRecord, r12) < 64);
};
