//! One thread of a child process, instruction by instruction.
#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "ptrace(2) and waitpid(2) with arguments of their types, on a thread that this process traces"
)]

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Why the thread has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// At [`mark`].
    Mark,
    /// After one instruction.
    Step,
    /// Before it gets this signal.
    Signal(i32),
}

/// A thread that this process traces. It runs on the CPU of the thread that traces it: they never run at the same time, and to wake a CPU that
/// is idle takes longer than a step.
#[derive(Debug, Clone, Copy)]
pub struct Tracee {
    number: libc::pid_t,
    /// Where the two may run otherwise.
    cpus: [CpuSet; 2],
}

/// Debug register 7, for the first breakpoint.
const ENABLED: usize = 1;

/// `si_code` of the trap of `int3`.
const OF_INT3: i32 = 0x80;

impl Tracee {
    /// Traces thread `number` of a child.
    pub fn seize(number: libc::pid_t) -> Tracee {
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        let cpus = [None, Pid::from_raw(number)].map(|thread| {
            let before = sched_getaffinity(thread).expect("a thread's CPUs");
            sched_setaffinity(thread, &one).expect("one of its CPUs");
            before
        });
        let tracee = Tracee { number, cpus };
        tracee.request(libc::PTRACE_SEIZE, 0);
        tracee
    }

    /// Waits until it stops.
    pub fn wait(self) -> Stop {
        let mut status = 0;
        let waited = unsafe { libc::waitpid(self.number, &mut status, libc::__WALL) };
        assert_eq!(waited, self.number, "{}", std::io::Error::last_os_error());
        assert!(libc::WIFSTOPPED(status), "the victim has ended: status {status:#x}");
        match libc::WSTOPSIG(status) {
            libc::SIGTRAP => {
                let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
                self.request(libc::PTRACE_GETSIGINFO, &raw mut info as usize);
                if info.si_code == OF_INT3 { Stop::Mark } else { Stop::Step }
            }
            signal => Stop::Signal(signal),
        }
    }

    /// One instruction further. A signal that it has stopped for comes first: the instruction is the handler's then.
    pub fn step(self, from: Stop) -> Stop {
        self.request(libc::PTRACE_SINGLESTEP, from.signal());
        self.wait()
    }

    /// Lets the handler of a signal that it has stopped for, or that is pending, run, until it returns, and no further.
    pub fn take_signal(self, from: Stop) -> Stop {
        let mut stop = if matches!(from, Stop::Signal(_)) { from } else { self.step(from) };
        assert!(matches!(stop, Stop::Signal(_)), "no signal was pending: {stop:?}");
        // (Not by steps: it has thousands of instructions.)
        stop = self.step(stop);
        stop = self.go_back(stop);
        while !self.is_at_return_of_handler() {
            assert_eq!(stop, Stop::Step, "the handler does not return");
            stop = self.step(stop);
        }
        self.step(stop)
    }

    /// The same of a signal that may be pending, and may be blocked; whether there was one.
    pub fn take_if_pending(self, from: Stop) -> (Stop, bool) {
        if !self.has_pending() {
            return (from, false);
        }
        let stop = self.step(from);
        match stop {
            Stop::Signal(_) => (self.take_signal(stop), true),
            _ => (stop, false),
        }
    }

    /// Waits until a signal has been sent to it.
    pub fn await_signal(self) {
        while !self.has_pending() {
            std::thread::yield_now();
        }
    }

    fn has_pending(self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.number)).expect("a thread");
        let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:")).expect("signals");
        !pending.trim().trim_matches('0').is_empty()
    }

    /// Whether the next instruction is the system call `rt_sigreturn`.
    fn is_at_return_of_handler(self) -> bool {
        const SYSCALL: libc::c_long = 0x050f;
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETREGS, &raw mut registers as usize);
        // What is there can be read: the thread is about to execute it.
        registers.rax == libc::SYS_rt_sigreturn as u64
            && unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, self.number, registers.rip, 0) } & 0xffff
                == SYSCALL
    }

    /// Takes the trap flag away that a step has left: one over `popfq`, as gates of signals have it, makes the kernel take the flag for the
    /// program's own from then on (Linux, arch/x86/kernel/step.c), and the next trap would end the process.
    fn has_stepped(self) {
        const TRAP: libc::c_long = 0x100;
        let flags = std::mem::offset_of!(libc::user_regs_struct, eflags);
        let now = unsafe { libc::ptrace(libc::PTRACE_PEEKUSER, self.number, flags, 0) };
        if now & TRAP != 0 {
            let done = unsafe { libc::ptrace(libc::PTRACE_POKEUSER, self.number, flags, now & !TRAP) };
            assert_ne!(done, -1, "flags: {}", std::io::Error::last_os_error());
        }
    }

    /// On to the next mark or signal.
    pub fn go_on(self, from: Stop) -> Stop {
        self.has_stepped();
        self.request(libc::PTRACE_CONT, from.signal());
        self.wait()
    }

    /// On until it is about to execute what lies at `address`, for the `times`th time. False if it stops at a mark before.
    pub fn go_to(self, address: u64, times: usize) -> bool {
        self.set_debug_register(0, address as usize);
        self.set_debug_register(7, ENABLED);
        let (mut stop, mut came) = (Stop::Mark, 0);
        while came < times {
            stop = self.go_on(stop);
            match stop {
                Stop::Mark => break,
                Stop::Step => came += 1,
                Stop::Signal(_) => {}
            }
        }
        self.set_debug_register(7, 0);
        came == times
    }

    /// Whether it has just been called from the instruction where it stood `before`, or is about to begin the handler of the signal that it stopped
    /// for there.
    pub fn has_called(self, before: (u64, Stop)) -> bool {
        /// No instruction is longer.
        const LONGEST: u64 = 15;
        let (place, stop) = before;
        matches!(stop, Stop::Signal(_)) || (1..=LONGEST).contains(&self.return_address().wrapping_sub(place))
    }

    /// The word on top of its stack. (It has just been written.)
    fn return_address(self) -> u64 {
        unsafe { libc::ptrace(libc::PTRACE_PEEKDATA, self.number, self.stack(), 0) as u64 }
    }

    /// On until the function returns at whose first instruction it stands, or to the next mark.
    pub fn go_back(self, from: Stop) -> Stop {
        let (address, stack) = (self.return_address(), self.stack());
        self.set_debug_register(0, address as usize);
        self.set_debug_register(7, ENABLED);
        let mut stop = self.go_on(from);
        while stop != Stop::Mark && !(stop == Stop::Step && self.stack() > stack) {
            stop = self.go_on(stop);
        }
        self.set_debug_register(7, 0);
        stop
    }

    fn set_debug_register(self, number: usize, value: usize) {
        let registers = std::mem::offset_of!(libc::user, u_debugreg);
        let done = unsafe {
            libc::ptrace(libc::PTRACE_POKEUSER, self.number, registers + number * size_of::<usize>(), value)
        };
        assert_ne!(done, -1, "debug register {number}: {}", std::io::Error::last_os_error());
    }

    /// The address of the instruction that it executes next.
    pub fn place(self) -> u64 {
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETREGS, &raw mut registers as usize);
        registers.rip
    }

    /// Its stack pointer.
    pub fn stack(self) -> u64 {
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETREGS, &raw mut registers as usize);
        registers.rsp
    }

    /// Sends it a signal; `process` is the one that it belongs to.
    pub fn send(self, process: u32, signal: libc::c_int) {
        let sent = unsafe { libc::syscall(libc::SYS_tgkill, process, self.number, signal) };
        assert_eq!(sent, 0, "{}", std::io::Error::last_os_error());
    }

    /// On, by itself.
    pub fn release(self) {
        self.has_stepped();
        for (thread, cpus) in [None, Pid::from_raw(self.number)].into_iter().zip(&self.cpus) {
            sched_setaffinity(thread, cpus).expect("its CPUs");
        }
        self.request(libc::PTRACE_DETACH, 0);
    }

    fn request(self, request: libc::c_uint, data: usize) {
        let done = unsafe { libc::ptrace(request, self.number, 0, data) };
        assert_ne!(done, -1, "ptrace request {request:#x}: {}", std::io::Error::last_os_error());
    }
}

impl Stop {
    /// The signal to go on with.
    fn signal(self) -> usize {
        match self {
            Stop::Signal(signal) => signal as usize,
            Stop::Mark | Stop::Step => 0,
        }
    }
}

/// Where the tracer takes over, and lets go.
#[inline(always)]
pub fn mark() {
    unsafe { std::arch::asm!("int3") }
}

/// Where a handler stays. (A trap would end the process if the handler interrupts that of a trap.)
pub fn stay() {
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), libc::SIGURG) };
}

/// What the tracer sees there. By default nothing comes of that signal.
pub const STAYS: Stop = Stop::Signal(libc::SIGURG);

/// This thread's number.
pub fn thread_number() -> libc::pid_t {
    unsafe { libc::gettid() }
}

/// A handler that is told what it interrupts.
pub type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs a handler for SIGUSR1, as any program would.
pub fn install_handler(handler: Handler) {
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
}

/// Calls a function of type `long(long)`.
pub fn call_pointer(code: *const (), x: i64) -> i64 {
    unsafe { std::mem::transmute::<*const (), extern "C" fn(i64) -> i64>(code)(x) }
}

/// Has the handler of SIGUSR1 run where the thread is, by a system call that nobody hears of.
pub fn off_alternate_stack() {
    const ON_STACK: usize = 1;
    let mut action = [0_u64; 4];
    let number = libc::SYS_rt_sigaction;
    unsafe {
        libc::syscall(number, libc::SIGUSR1, std::ptr::null::<u64>(), action.as_mut_ptr(), 8);
        action[ON_STACK] &= !(libc::SA_ONSTACK as u64);
        let none = std::ptr::null_mut::<u64>();
        assert_eq!(libc::syscall(number, libc::SIGUSR1, action.as_ptr(), none, 8), 0);
    }
}

/// Whether the kernel takes the calling thread to be on its alternate stack.
pub fn is_on_alternate_stack() -> bool {
    unsafe {
        let mut now: libc::stack_t = std::mem::zeroed();
        libc::syscall(libc::SYS_sigaltstack, 0, &raw mut now) == 0 && now.ss_flags & libc::SS_ONSTACK != 0
    }
}

/// The code of gates.
pub fn gates() -> std::ops::Range<u64> {
    unsafe extern "C" {
        fn lockgate_gate_import();
        fn lockgate_gate_end();
    }
    lockgate_gate_import as *const () as u64..lockgate_gate_end as *const () as u64
}

/// True if the handler with this `context` interrupts the gate of an import that is bound at its first call, and not what it calls.
pub fn in_lazy_gate(context: *mut libc::c_void) -> bool {
    unsafe extern "C" {
        fn lockgate_gate_resolve();
        fn lockgate_gate_context();
    }
    let at = interrupted(context);
    (lockgate_gate_resolve as *const () as usize..lockgate_gate_context as *const () as usize).contains(&at)
}

/// True if it interrupts the assembly around a service that is not disturbed.
pub fn around_a_service(context: *mut libc::c_void) -> bool {
    let [_, _, undisturbed] = assembly();
    undisturbed.contains(&(interrupted(context) as u64))
}

/// The runtime's assembly: what gates, proxies and services that are not disturbed are made of.
pub fn assembly() -> [std::ops::Range<u64>; 3] {
    unsafe extern "C" {
        fn lockgate_exit();
        fn lockgate_invoke();
        fn lockgate_undisturbed_call();
        fn lockgate_kernel_call();
    }
    let exit = lockgate_exit as *const () as u64..lockgate_invoke as *const () as u64;
    let undisturbed = lockgate_undisturbed_call as *const () as u64..lockgate_kernel_call as *const () as u64;
    [gates(), exit, undisturbed]
}

/// True if it interrupts a proxy, the assembly around proxies and gates, or a domain: what may be jumped out of, as Rust may not.
pub fn outside_of_rust(context: *mut libc::c_void) -> bool {
    let at = interrupted(context);
    let mut found = unsafe { std::mem::zeroed() };
    let in_no_file = unsafe { libc::dladdr(at as *const libc::c_void, &mut found) } == 0;
    let [gates, exit, _] = assembly();
    in_no_file || [gates, exit].iter().any(|code| code.contains(&(at as u64)))
}

fn interrupted(context: *mut libc::c_void) -> usize {
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] as usize }
}

/// Lets SIGUSR1 through again, behind a handler that was jumped out of.
pub fn unblock() {
    unsafe {
        let mut one = std::mem::zeroed();
        libc::sigemptyset(&mut one);
        libc::sigaddset(&mut one, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &one, std::ptr::null_mut());
    }
}

/// No two places on a coroutine's stack are so far apart, and none is closer to a domain's.
pub const FAR: u64 = 1 << 20;

/// One that may end its thread.
pub type EndingHandler = extern "C-unwind" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// As the other kind.
pub fn ending_handler(handler: EndingHandler) -> Handler {
    unsafe { std::mem::transmute(handler) }
}

unsafe extern "C-unwind" {
    fn lockgate_test_call_and_end(code: *const (), x: i64) -> i64;
}

/// `pthread_exit`.
pub fn end_thread() -> ! {
    unsafe { super::common::host_sys::pthread_exit(ENDED as *mut libc::c_void) }
}

/// What a thread returns that [`end_thread`] has ended.
const ENDED: i64 = -7;

core::arch::global_asm!(
    ".globl lockgate_test_call_and_end",
    "lockgate_test_call_and_end:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "sub rsp,8",
    ".cfi_adjust_cfa_offset 8",
    "mov rax,rdi",
    "mov rdi,rsi",
    "call rax",
    "add rsp,8",
    ".cfi_adjust_cfa_offset -8",
    "ret",
    ".cfi_endproc",
);

/// As [`call_pointer`], for a call in which the thread may end: what unwinds finds no caller here.
pub fn call_and_end(code: *const (), x: i64) -> i64 {
    unsafe { lockgate_test_call_and_end(code, x) }
}

/// Runs `work` on a thread of its own; what it returns, unless the thread has ended in it.
pub fn ends_on_thread(work: &dyn Fn() -> i64) -> Option<i64> {
    extern "C" fn run(work: *mut libc::c_void) -> *mut libc::c_void {
        let work = unsafe { &*work.cast::<&dyn Fn() -> i64>() };
        work() as *mut libc::c_void
    }
    let mut thread = 0;
    let mut result = std::ptr::null_mut();
    unsafe {
        let word = (&raw const work).cast_mut().cast();
        assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), run, word), 0);
        assert_eq!(libc::pthread_join(thread, &mut result), 0);
    }
    Some(result as i64).filter(|&result| result != ENDED)
}

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(
        each: extern "C-unwind" fn(*mut libc::c_void, *mut u64) -> i32,
        last: *mut u64,
    ) -> i32;
    fn _Unwind_GetIP(context: *mut libc::c_void) -> u64;
}

/// Where unwinding from here ends: at an address that no table tells of, or at 0.
pub fn end_of_unwinding() -> u64 {
    extern "C-unwind" fn note(context: *mut libc::c_void, last: *mut u64) -> i32 {
        unsafe { *last = _Unwind_GetIP(context) };
        0
    }
    let mut last = u64::MAX;
    unsafe { _Unwind_Backtrace(note, &raw mut last) };
    last
}

/// True if there is code at `address`.
pub fn is_code(address: u64) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("this process's mappings");
    let holds = |line: &str| {
        let (from, rest) = line.split_once('-')?;
        let (to, rest) = rest.split_once(' ')?;
        let [from, to] = [from, to].map(|text| u64::from_str_radix(text, 16).expect("an address"));
        Some((from..to).contains(&address) && rest.as_bytes()[2] == b'x')
    };
    maps.lines().filter_map(holds).any(|holds| holds)
}
