//! Plain handlers: those that have not asked for the alternate stack run where the kernel would have run them, on the stack that they interrupt.
//!
//! All handlers of the process get SA_ONSTACK (rule R11), since a domain that they interrupt may have left them no room. But a thread that
//! calls no domain has the alternate stack that it has set itself, often 8 KiB, and a plain handler counts on all of the thread's own. So the
//! kernel knows each plain handler by an address of ours. Where the alternate stack is a small one, the frame that the kernel has made there
//! goes to where it would lie without the flag, and the handler begins there: what it sees, how it may leave, and what the next
//! signal finds is as if the flag were not set. On a thread that calls domains, whose alternate stack is the library's, it runs there.
//!
//! An address stands for one handler, with its mask, for good: so the kernel's table stays the only one, and code that reads it past us and puts
//! back what it has read means the same.
use super::actions_sys::kept;
use super::alternate_sys::least;
use super::kernel_signals_sys::{Action, bit};
use super::mask_sys::{CANCELS, HOSTS, in_handler};
use crate::space;
use libc::{c_int, siginfo_t, ucontext_t};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How many there are. One more runs on the alternate stack, whatever that is.
const ADDRESSES: usize = 512;
/// Bytes from one to the next.
const SIZE: usize = 16;

unsafe extern "C" {
    fn lockgate_plain_handlers();
}

core::arch::global_asm!(
    r#"
    .text
    .p2align 4
    .globl lockgate_plain_handlers
    .hidden lockgate_plain_handlers
    .type lockgate_plain_handlers,@function
lockgate_plain_handlers:
    .cfi_startproc
    .set lockgate_plain_handler,0
    .rept {ADDRESSES}
    .p2align 4
    mov $lockgate_plain_handler,%eax
    jmp lockgate_on_plain
    .set lockgate_plain_handler,lockgate_plain_handler+1
    .endr
    .p2align 4
    .cfi_endproc
    .size lockgate_plain_handlers,.-lockgate_plain_handlers

    # A signal has come to one of our addresses, whose number is eax: r11 says who finds the handler. It is entered when no frame of ours is left: it
    # may end its thread, which unwinds what lies below. Its mask is set last: what comes then interrupts its first instruction, as it would
    # without us. Another handler may call this as a function: what C keeps is kept.
    .p2align 4
    .globl lockgate_on_plain
    .hidden lockgate_on_plain
    .type lockgate_on_plain,@function
lockgate_on_plain:
    .cfi_startproc
    lea {on_plain}(%rip),%r11
    .globl lockgate_find_handler
    .hidden lockgate_find_handler
lockgate_find_handler:
    .irp register,rdi,rsi,rdx
    push %\register
    .cfi_adjust_cfa_offset 8
    .endr
    sub $32,%rsp
    .cfi_adjust_cfa_offset 32
    mov %rsp,%rcx
    mov %eax,%r8d
    lea 56(%rsp),%r9
    call *%r11
    test %rax,%rax
    jz 2f
    cmpq $0,{FRAME}(%rsp)
    jne 3f
    cmpq $0,{HOW}(%rsp)
    js 1f
    mov %rax,24(%rsp)
    mov {HOW}(%rsp),%edi
    lea {MASK}(%rsp),%rsi
    mov ${SIGPROCMASK},%eax
    xor %edx,%edx
    mov $8,%r10d
    syscall
    mov 24(%rsp),%rax
1:
    .cfi_remember_state
    add $32,%rsp
    .cfi_adjust_cfa_offset -32
    .irp register,rdx,rsi,rdi
    pop %\register
    .cfi_adjust_cfa_offset -8
    .endr
    jmp *%rax
2:
    # (A restored state is not what an adjustment counts from.)
    .cfi_restore_state
    .cfi_remember_state
    add $32,%rsp
    .cfi_def_cfa_offset 32
    pop %rdx
    .cfi_def_cfa_offset 24
    pop %rsi
    .cfi_def_cfa_offset 16
    pop %rdi
    .cfi_def_cfa_offset 8
    ret
3:
    # The frame lies on the interrupted stack. From here on the next signal may have the alternate one. (The frame has all registers.)
    .cfi_restore_state
    mov %rax,%rbx
    mov 48(%rsp),%ebp
    mov {MASK}(%rsp),%rax
    mov {HOW}(%rsp),%edi
    mov {FRAME}(%rsp),%rsp
    .cfi_def_cfa %rsp,8
    lea -8(%rsp),%rsi
    mov %rax,(%rsi)
    mov ${SIGPROCMASK},%eax
    xor %edx,%edx
    mov $8,%r10d
    syscall
    mov %ebp,%edi
    lea {INFORMATION}(%rsp),%rsi
    lea 8(%rsp),%rdx
    mov %rbx,%r11
    mov {RBP}(%rdx),%rbp
    mov {RBX}(%rdx),%rbx
    xor %eax,%eax
    jmp *%r11
    .cfi_endproc
    .size lockgate_on_plain,.-lockgate_on_plain
    "#,
    ADDRESSES = const ADDRESSES,
    SIGPROCMASK = const libc::SYS_rt_sigprocmask,
    FRAME = const offset_of!(Entering, frame),
    HOW = const offset_of!(Entering, how),
    MASK = const offset_of!(Entering, mask),
    INFORMATION = const WORD + CONTEXT,
    RBP = const register(libc::REG_RBP),
    RBX = const register(libc::REG_RBX),
    on_plain = sym on_plain,
    options(att_syntax)
);

const WORD: usize = size_of::<usize>();
/// Bytes of a context that the kernel has. (libc's has more.)
const CONTEXT: usize = offset_of!(ucontext_t, uc_sigmask) + size_of::<u64>();
/// Bytes of a frame: what returns from it, a context, what the signal carries.
const FRAME: usize = WORD + CONTEXT + size_of::<siginfo_t>();

/// Where a context has a register.
const fn register(number: c_int) -> usize {
    offset_of!(ucontext_t, uc_mcontext) + offset_of!(libc::mcontext_t, gregs) + number as usize * WORD
}

/// With what a handler is entered.
#[repr(C)]
#[derive(Default)]
pub(super) struct Entering {
    mask: u64,
    /// What is done with the mask; negative if nothing.
    how: i64,
    /// Where the frame has gone, or 0.
    frame: usize,
}

impl Entering {
    /// The thread's mask becomes this one.
    pub(super) fn set_mask(&mut self, mask: u64) {
        (self.mask, self.how) = (mask, libc::SIG_SETMASK.into());
    }
}

/// A signal and where its frame lies: the arguments of a handler, and what the stack's pointer was as it began.
pub(super) struct Delivered {
    pub information: *const siginfo_t,
    pub context: *const ucontext_t,
    pub entered: usize,
}

impl Delivered {
    /// Whether the kernel has made the frame, and entered the handler with it: it may be another handler that calls ours.
    fn is_by_kernel(&self) -> bool {
        self.context.addr() == self.entered + WORD && self.information.addr() == self.context.addr() + CONTEXT
    }

    /// Moves the frame to where the kernel would have made it without SA_ONSTACK, if that flag has put it on a small alternate stack.
    ///
    /// # Safety
    /// In a handler, with all of the host's signals blocked, and as good as its last act: the frame is where `entering` says.
    pub(super) unsafe fn leave_small_stack(&self, entering: &mut Entering) {
        if !self.is_by_kernel() {
            return;
        }
        // SAFETY: the kernel's frame.
        let context = unsafe { &*self.context };
        let alternate = context.uc_stack;
        // (As the kernel asks.)
        let is_there =
            |at: usize| at.wrapping_sub(alternate.ss_sp.addr()).wrapping_sub(1) < alternate.ss_size;
        let rsp = context.uc_mcontext.gregs[libc::REG_RSP as usize] as u64;
        let is_domains = space::in_a_stride(&(rsp..rsp.saturating_add(1)));
        if alternate.ss_size >= least() || !is_there(self.entered) || is_there(rsp as usize) || is_domains {
            return;
        }
        let state = context.uc_mcontext.fpregs.cast::<u8>().cast_const();
        // SAFETY: the kernel's frame.
        let size = if state.is_null() { 0 } else { unsafe { size_of_state(state, context.uc_flags) } };
        const RED_ZONE: usize = 128;
        let new_state = (rsp as usize).wrapping_sub(RED_ZONE + size) & !63;
        let frame = (new_state.wrapping_sub(FRAME) & !15).wrapping_sub(WORD);
        // SAFETY: below all that the interrupted code has on its stack, where the kernel would have written the same; a fault there ends the process,
        // or is for the host's handler, as the kernel's would have been.
        unsafe {
            ptr::copy_nonoverlapping(state, new_state as *mut u8, size);
            ptr::copy_nonoverlapping(self.entered as *const u8, frame as *mut u8, FRAME);
            if !state.is_null() {
                let moved = (frame + WORD) as *mut ucontext_t;
                (&raw mut (*moved).uc_mcontext.fpregs).write(new_state as *mut _);
            }
        }
        entering.frame = frame;
    }
}

/// Bytes of what a frame keeps of the vector registers.
///
/// # Safety
/// The state is of a frame of the kernel's, with these flags.
unsafe fn size_of_state(state: *const u8, flags: u64) -> usize {
    const UC_FP_XSTATE: u64 = 1;
    const LEGACY: usize = 512;
    /// What the kernel writes at the end of the registers that all processors have: a mark, and the size of them all.
    const SOFTWARE: usize = 464;
    const MARK: u32 = 0x4650_5853;
    // SAFETY: within those registers.
    let [mark, size] = unsafe { state.add(SOFTWARE).cast::<[u32; 2]>().read_unaligned() };
    if flags & UC_FP_XSTATE != 0 && mark == MARK { size as usize } else { LEGACY }
}

/// For each address, the handler that it stands for, with its mask, and whether it masks its own signal.
static STANDS_FOR: [AtomicPtr<Action>; ADDRESSES] = [const { AtomicPtr::new(ptr::null_mut()) }; ADDRESSES];

fn address(number: usize) -> usize {
    lockgate_plain_handlers as *const () as usize + number * SIZE
}

fn stands_for(number: usize) -> Option<&'static Action> {
    // SAFETY: pointees live forever.
    unsafe { STANDS_FOR.get(number)?.load(Ordering::Acquire).as_ref() }
}

/// The handler that an address stands for, with its mask, as the program has asked for it.
pub(super) fn as_asked(handler: usize) -> Option<&'static Action> {
    let offset = handler.checked_sub(address(0))?;
    if offset % SIZE == 0 { stands_for(offset / SIZE) } else { None }
}

/// What the kernel gets in the place of a plain handler; `None` if the action is none, or all addresses stand for others. (As `sigaction` is, it may
/// be called in a handler that has interrupted it.)
pub(super) fn in_the_place_of(action: &Action) -> Option<Action> {
    let known = as_asked(action.handler);
    let is_plain = action.flags & libc::SA_ONSTACK as u64 == 0
        && ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.handler);
    if !is_plain && known.is_none() {
        return None;
    }
    let own = Action {
        handler: action.handler,
        flags: action.flags & libc::SA_NODEFER as u64,
        restorer: 0,
        mask: action.mask,
    };
    let handler = match known {
        // (Ours, of code that has asked the kernel.)
        Some(_) => action.handler,
        None => address(number_of(own)?),
    };
    Some(Action {
        handler,
        flags: action.flags | libc::SA_ONSTACK as u64,
        restorer: action.restorer,
        mask: HOSTS.load(Ordering::Acquire) | bit(CANCELS),
    })
}

/// The number that stands for an action.
fn number_of(action: Action) -> Option<usize> {
    STANDS_FOR.iter().enumerate().find_map(|(number, place)| {
        if stands_for(number).is_none() {
            let new = ptr::from_ref(kept(action).ok()?).cast_mut();
            // (Another thread may have brought one just now.)
            let _ = place.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        }
        (stands_for(number) == Some(&action)).then_some(number)
    })
}

/// A signal has come to the address `number`: its handler.
unsafe extern "C" fn on_plain(
    signal: c_int,
    information: *const siginfo_t,
    context: *const ucontext_t,
    entering: &mut Entering,
    number: usize,
    entered: usize,
) -> usize {
    *entering = Entering { how: -1, ..Entering::default() };
    let Some(own) = stands_for(number) else { return 0 };
    let delivered = Delivered { information, context, entered };
    if delivered.is_by_kernel() {
        // SAFETY: the kernel's frame; its mask is the first word. All of the host's signals are blocked.
        unsafe {
            let interrupted = (&raw const (*context).uc_sigmask).cast::<u64>().read();
            let masks_itself = own.flags & libc::SA_NODEFER as u64 == 0;
            let all = HOSTS.load(Ordering::Acquire) | bit(CANCELS) | bit(signal);
            entering.mask = all & !in_handler(interrupted, signal, own.mask, masks_itself);
            entering.how = libc::SIG_UNBLOCK.into();
            delivered.leave_small_stack(entering);
        }
    }
    own.handler
}
