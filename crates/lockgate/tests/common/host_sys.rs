//! What attacks and checks need of the host's own side.
use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

/// Sets the personality READ_IMPLIES_EXEC for this process, or takes it back.
pub fn make_data_executable(executable: bool) {
    // SAFETY: changes what later mappings may do, nothing that exists.
    unsafe { libc::personality(if executable { 0x0040_0000 } else { 0 }) };
}

thread_local! {
    /// How often [`count`] ran on this thread, and where its last frame was.
    static HANDLED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Has `work` run by the calling thread when it ends, among the destructors of its keys, in each round of them.
pub fn in_each_round_of_keys(work: fn()) {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    extern "C" fn end(work: *mut libc::c_void) {
        // SAFETY: set below and here, to such a function.
        let function = unsafe { std::mem::transmute::<*mut libc::c_void, fn()>(work) };
        set(work);
        function();
    }
    fn set(work: *mut libc::c_void) {
        // SAFETY: a key that stays.
        assert_eq!(unsafe { libc::pthread_setspecific(*KEY.get().expect("made"), work) }, 0);
    }
    KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the destructor stays.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(end)) }, 0);
        key
    });
    set(work as *mut libc::c_void);
}

/// Limits what the process may map privately and write.
pub fn limit_data(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the kernel reads the limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) }, 0);
}

extern "C" fn count(_: libc::c_int) {
    let frame = 0_u8;
    HANDLED.set((HANDLED.get().0 + 1, &raw const frame as u64));
}

/// Nanoseconds.
const MILLISECOND: u32 = 1_000_000;

/// Runs `work` while `signal` comes to this thread every millisecond; returns how many were handled.
pub fn signal_storm(signal: i32, work: impl FnOnce()) -> u64 {
    signal_storm_every(signal, MILLISECOND, work)
}

/// The same, every so many nanoseconds.
pub fn signal_storm_every(signal: i32, nanoseconds: u32, work: impl FnOnce()) -> u64 {
    let before = HANDLED.get().0;
    storm(signal, nanoseconds, count, work);
    HANDLED.get().0 - before
}

/// The same, with a handler that faults.
pub fn storm_of_faulting_handlers(signal: i32, work: impl FnOnce()) {
    extern "C" fn fault(_: libc::c_int) {
        read_address_16();
    }
    storm(signal, MILLISECOND, fault, work);
}

/// Runs `work` on a thread of its own, where a handler of `signal` comes as soon as the library lets handlers in again, the first time that this is so
/// `when` it says. It looks for its callers, as a profiler's does, and ends the thread. True if it has.
pub fn is_ended_where_handlers_are_let_in(
    signal: i32,
    when: impl Fn() -> bool + Sync,
    work: impl FnOnce() + Send,
) -> bool {
    const ENDED: u64 = 2_000;
    type When = dyn Fn() -> bool + Sync;
    thread_local! {
        static WHEN: Cell<Option<*const When>> = const { Cell::new(None) };
    }
    unsafe extern "C" {
        fn lockgate_let_to();
    }
    unsafe extern "C-unwind" fn end(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel's argument of an SA_SIGINFO handler; what asks is there while the work goes on, of whose frames none has a destructor
        // that matters.
        unsafe {
            let at = (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize];
            if at as usize == lockgate_let_to as *const () as usize
                && WHEN.get().is_some_and(|when| (*when)())
            {
                let mut callers = [std::ptr::null_mut(); 64];
                assert!(libc::backtrace(callers.as_mut_ptr(), callers.len() as libc::c_int) > 0);
                pthread_exit(ENDED as *mut libc::c_void);
            }
        }
    }
    install_with_info(signal, libc::SA_RESTART, end as *const ());
    // (It allocates at its first call.)
    // SAFETY: room for one.
    unsafe { libc::backtrace(&mut std::ptr::null_mut(), 1) };
    let when: &(dyn Fn() -> bool + Sync) = &when;
    let ended = on_plain_thread(move || {
        // SAFETY: a lifetime only: the thread ends before `when` goes.
        WHEN.set(Some(unsafe { std::mem::transmute::<&(dyn Fn() -> bool + Sync), &'static When>(when) }));
        on_timer(signal, 20_000, work);
        WHEN.set(None);
    });
    ended == ENDED
}

/// Calls `function` on threads of their own that may be cancelled at any moment, and are, each so many microseconds after its start: how many were.
pub fn cancelled_at_any_moment(
    function: *const (),
    argument: i64,
    after: impl Iterator<Item = u64>,
) -> usize {
    const ASYNCHRONOUS: libc::c_int = 1;
    unsafe extern "C-unwind" {
        fn pthread_setcanceltype(kind: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
    }
    struct Call(extern "C-unwind" fn(i64) -> i64, i64);
    // No frame has anything to drop: a cancellation unwinds it.
    extern "C-unwind" fn run(call: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the call outlives the thread; the thread's own kind of cancellation.
        unsafe {
            let Call(function, argument) = *call.cast::<Call>();
            let mut before = 0;
            pthread_setcanceltype(ASYNCHRONOUS, &raw mut before);
            function(argument);
            pthread_setcanceltype(before, &raw mut before);
        }
        std::ptr::null_mut()
    }
    const CANCELED: usize = usize::MAX;
    let mut cancelled = 0;
    for microseconds in after {
        // SAFETY: the caller's function; the thread is joined before the call goes.
        unsafe {
            let mut call =
                Call(std::mem::transmute::<*const (), extern "C-unwind" fn(i64) -> i64>(function), argument);
            let run = std::mem::transmute::<MayEnd, Start>(run);
            let (mut thread, mut result) = (0, std::ptr::null_mut());
            assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), run, (&raw mut call).cast()), 0);
            // The moment, which nothing depends on.
            std::thread::sleep(std::time::Duration::from_micros(microseconds));
            libc::pthread_cancel(thread);
            assert_eq!(libc::pthread_join(thread, &mut result), 0);
            cancelled += usize::from(result as usize == CANCELED);
        }
    }
    cancelled
}

/// How many kernel mappings a process may have.
pub fn most_mappings() -> usize {
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").expect("a limit");
    most.trim().parse().expect("a number")
}

/// All kernel mappings that the process may have, but for those that it had.
pub struct AllMappings {
    at: *mut libc::c_void,
    size: usize,
}

impl AllMappings {
    const PAGE: usize = 4096;

    pub fn taken() -> AllMappings {
        let size = (most_mappings() + 2) * AllMappings::PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, in which each second page gets another protection, until there are no mappings left for that.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0);
            assert!(at != libc::MAP_FAILED, "no room");
            let full = AllMappings { at, size };
            let taken = (1..).find(|nth| !full.protect(*nth, libc::PROT_READ)).expect("they are");
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOMEM), "{taken}");
            full
        }
    }

    /// So many times two of them can be had again.
    pub fn gives_back_up_to(&self, pairs: usize) {
        assert!((1..=pairs).all(|nth| self.protect(nth, libc::PROT_NONE)));
    }

    fn protect(&self, nth: usize, rights: libc::c_int) -> bool {
        let offset = 2 * nth * AllMappings::PAGE;
        assert!(offset < self.size);
        // SAFETY: a page of its own.
        unsafe { libc::mprotect(self.at.byte_add(offset), AllMappings::PAGE, rights) == 0 }
    }
}

impl Drop for AllMappings {
    fn drop(&mut self) {
        // SAFETY: its own.
        unsafe { libc::munmap(self.at, self.size) };
    }
}

/// Runs `work` on a thread that, once it is in the code of the domain at `base`, never again executes two instructions without the handler of
/// `signal` in between: it sends the signal again, which waits for its own end. (Anywhere else, the host would not get on.)
pub fn signals_without_end(signal: i32, base: u64, work: impl FnOnce()) {
    signals_behind_each_other(signal, base, u64::MAX, work);
}

/// How often the handler is to send it again.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// How often it was still to be sent when [`signals_behind_each_other`] ended, or is now.
pub fn signals_left() -> u64 {
    LEFT.load(Ordering::Acquire)
}

/// The same so many times.
pub fn signals_behind_each_other(signal: i32, base: u64, times: u64, work: impl FnOnce()) {
    static BASE: AtomicU64 = AtomicU64::new(0);
    extern "C" fn again(signal: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel's argument of an SA_SIGINFO handler.
        let at =
            unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] } as u64;
        if at.wrapping_sub(BASE.load(Ordering::Acquire)) < lockgate_abi::window::STRIDE
            && LEFT.load(Ordering::Acquire) > 0
        {
            LEFT.fetch_sub(1, Ordering::AcqRel);
            // SAFETY: sends a signal that has this handler.
            unsafe { libc::raise(signal) };
        }
    }
    BASE.store(base, Ordering::Release);
    LEFT.store(times, Ordering::Release);
    install_with_info(signal, libc::SA_RESTART, again as *const ());
    on_timer(signal, MILLISECOND, work);
}

fn storm(signal: i32, nanoseconds: u32, handler: extern "C" fn(libc::c_int), work: impl FnOnce()) {
    // SAFETY: a handler of one argument.
    unsafe { libc::signal(signal, handler as *const () as usize) };
    on_timer(signal, nanoseconds, work);
}

/// To this very thread: what is sent to a process goes to its first thread, and tests run on others.
fn on_timer(signal: i32, nanoseconds: u32, work: impl FnOnce()) {
    on_timer_with(signal, nanoseconds, 0, work);
}

/// The same; each signal comes with a value.
fn on_timer_with(signal: i32, nanoseconds: u32, value: usize, work: impl FnOnce()) {
    let interval = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds.into() };
    let every = libc::itimerspec { it_interval: interval, it_value: interval };
    // SAFETY: zeroed is a valid sigevent; the timer is deleted before the return.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_value = libc::sigval { sival_ptr: value as *mut libc::c_void };
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = std::mem::zeroed();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer), 0);
        assert_eq!(libc::timer_settime(timer, 0, &every, std::ptr::null_mut()), 0);
        work();
        libc::timer_delete(timer);
    }
}

/// What [`both_at_once`] has seen.
static ORDER: [AtomicI32; 3] = [const { AtomicI32::new(0) }; 3];

/// Sends this thread both signals, and lets them come at once: in which order handlers ran. `F` is the beginning of that of `fault`, `f` its
/// end, and `u` is the other's. `masks`: the mask of the first has the other signal.
pub fn both_at_once(fault: i32, other: i32, masks: bool) -> String {
    fn note(what: u8) {
        let free = |slot: &&AtomicI32| {
            slot.compare_exchange(0, what.into(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let _ = ORDER.iter().find(free);
    }
    extern "C" fn of_fault(_: libc::c_int) {
        note(b'F');
        note(b'f');
    }
    extern "C" fn of_other(_: libc::c_int) {
        note(b'u');
    }
    ORDER.iter().for_each(|slot| slot.store(0, Ordering::SeqCst));
    let bit = |signal: i32| 1_u64 << (signal - 1);
    let both = bit(fault) | bit(other);
    // SAFETY: zeroed is a valid action; masks as the kernel has them, of 8 bytes; signals that have handlers.
    unsafe {
        for (signal, handler) in [(fault, of_fault as extern "C" fn(libc::c_int)), (other, of_other)] {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            if masks && signal == fault {
                libc::sigaddset(&raw mut action.sa_mask, other);
            }
            assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
        }
        let change = |how: i32| {
            let none = std::ptr::null_mut::<u64>();
            assert_eq!(libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const both, none, 8), 0);
        };
        change(libc::SIG_BLOCK);
        for signal in [other, fault] {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal);
        }
        change(libc::SIG_UNBLOCK);
    }
    ORDER.iter().map(|slot| slot.load(Ordering::SeqCst) as u8 as char).collect()
}

/// Has a handler of `signal`, and sends this thread one with a value: that which the handler was told.
pub fn queued_to_itself(signal: i32, value: usize) -> Option<usize> {
    thread_local! {
        static TOLD: Cell<Option<usize>> = const { Cell::new(None) };
    }
    extern "C" fn came(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the kernel's argument of an SA_SIGINFO handler.
        TOLD.set(Some(unsafe { (*info).si_value().sival_ptr as usize }));
    }
    unsafe extern "C" {
        fn pthread_sigqueue(thread: libc::pthread_t, signal: libc::c_int, value: libc::sigval)
        -> libc::c_int;
    }
    install_with_info(signal, 0, came as *const ());
    // SAFETY: the thread itself.
    unsafe {
        let value = libc::sigval { sival_ptr: value as *mut libc::c_void };
        assert_eq!(pthread_sigqueue(libc::pthread_self(), signal, value), 0);
        libc::signal(signal, libc::SIG_DFL);
    }
    TOLD.get()
}

/// How many signals of a timer's came with its value, and how many without, while `work` was done again and again, until there were so many.
pub fn values_of_timer(signal: i32, nanoseconds: u32, many: usize, work: impl Fn()) -> [usize; 2] {
    const VALUE: usize = 0x5a5a_0102_0304;
    static CAME: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    extern "C" fn came(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the kernel's argument of an SA_SIGINFO handler.
        let (code, value) = unsafe { ((*info).si_code, (*info).si_value().sival_ptr as usize) };
        let with = code == libc::SI_TIMER && value == VALUE;
        CAME[usize::from(!with)].fetch_add(1, Ordering::SeqCst);
    }
    install_with_info(signal, libc::SA_RESTART, came as *const ());
    on_timer_with(signal, nanoseconds, VALUE, || {
        while CAME.iter().map(|came| came.load(Ordering::SeqCst)).sum::<usize>() < many {
            work();
        }
    });
    [0, 1].map(|index| CAME[index].load(Ordering::SeqCst))
}

/// Runs `work` with known values in the callee-saved registers; true if they are the same afterwards.
pub fn callee_saved_survive(work: impl FnOnce()) -> bool {
    extern "C" fn run<F: FnOnce()>(work: *mut Option<F>) {
        // SAFETY: the caller's own option.
        if let Some(work) = unsafe { (*work).take() } {
            work();
        }
    }
    fn runner<F: FnOnce()>(_: &Option<F>) -> extern "C" fn(*mut Option<F>) {
        run::<F>
    }
    let mut work = Some(work);
    let function = runner(&work);
    let kept: u64;
    // SAFETY: saves the callee-saved registers around a call that follows the C ABI; the stack is aligned.
    unsafe {
        core::arch::asm!(
            "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
            "mov rbp, rsp",
            "and rsp, -16",
            "push rbp", "push rbp",
            "mov rbx, 0x1111", "mov rbp, 0x2222", "mov r12, 0x3333", "mov r13, 0x4444", "mov r14, 0x5555", "mov r15, 0x6666",
            "call rax",
            "xor eax, eax",
            "cmp rbx, 0x1111", "jne 2f", "cmp rbp, 0x2222", "jne 2f", "cmp r12, 0x3333", "jne 2f",
            "cmp r13, 0x4444", "jne 2f", "cmp r14, 0x5555", "jne 2f", "cmp r15, 0x6666", "jne 2f",
            "mov eax, 1",
            "2:",
            "pop rsp",
            "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
            inout("rax") function => kept,
            inout("rdi") &raw mut work => _,
            clobber_abi("C"),
        );
    }
    kept == 1
}

#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

fn kernel_action(signal: i32, new: Option<&KernelAction>) -> KernelAction {
    let mut old = KernelAction { handler: 0, flags: 0, restorer: 0, mask: 0 };
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: kernel-layout actions, 8 bytes of mask.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, &mut old, 8) };
    old
}

/// The kernel's mask of the handler of a signal.
pub fn mask_of_handler(signal: i32) -> u64 {
    kernel_action(signal, None).mask
}

/// Installs a handler by a raw system call.
pub fn install_raw_handler(signal: i32, on_stack: bool) {
    // The restorer is that of a handler that libc installed.
    install_handler(libc::SIGUSR2);
    let like = kernel_action(libc::SIGUSR2, None);
    let flags = like.flags & !(libc::SA_ONSTACK as u64) | if on_stack { libc::SA_ONSTACK as u64 } else { 0 };
    kernel_action(signal, Some(&KernelAction { flags, ..like }));
}

/// True if the handler of [`install_raw_handler`] is the kernel's for `signal`.
pub fn has_raw_handler(signal: i32) -> bool {
    kernel_action(signal, None).handler == kernel_action(libc::SIGUSR2, None).handler
}

static BEFORE: std::sync::OnceLock<KernelAction> = std::sync::OnceLock::new();

/// Installs, by a raw system call, a handler for SIGSEGV that does as CPython's faulthandler: it says so, puts back what it
/// found, and raises the signal again.
pub fn report_faults_once() {
    extern "C" fn report(signal: libc::c_int) {
        // SAFETY: the handler's own text; raise(3) may be called in handlers.
        unsafe {
            libc::write(1, b"reported\n".as_ptr().cast(), 9);
            kernel_action(signal, BEFORE.get());
            libc::raise(signal);
        }
    }
    install_handler(libc::SIGUSR2);
    let like = kernel_action(libc::SIGUSR2, None);
    let flags = like.flags | (libc::SA_NODEFER | libc::SA_ONSTACK) as u64;
    let action = KernelAction { handler: report as *const () as usize, flags, ..like };
    FAULTS_HANDLER.store(action.handler as u64, Ordering::SeqCst);
    BEFORE.get_or_init(|| kernel_action(libc::SIGSEGV, None));
    kernel_action(libc::SIGSEGV, Some(&action));
}

/// Puts the handler of [`report_faults_once`] in front of the library's again.
pub fn install_faults_handler_again() {
    let on_stack = (libc::SA_NODEFER | libc::SA_ONSTACK) as u64;
    let like = kernel_action(libc::SIGUSR2, None);
    let handler = FAULTS_HANDLER.load(Ordering::SeqCst) as usize;
    kernel_action(libc::SIGSEGV, Some(&KernelAction { handler, flags: like.flags | on_stack, ..like }));
}

/// True if that is what libc's `sigaction` says of SIGSEGV.
pub fn faults_handler_is_known() -> bool {
    // SAFETY: a query into a valid structure.
    let known = unsafe {
        let mut known: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGSEGV, std::ptr::null(), &mut known);
        known.sa_sigaction
    };
    known as u64 == FAULTS_HANDLER.load(Ordering::SeqCst)
}

static FAULTS_HANDLER: AtomicU64 = AtomicU64::new(0);

/// Has `signal` handled by a function that is told of it (`SA_SIGINFO`), with these flags besides.
fn install_with_info(signal: i32, flags: libc::c_int, handler: *const ()) {
    // SAFETY: zeroed is a valid action; the handler has the arguments that its flag promises.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | flags;
        assert_eq!(libc::sigaction(signal, &raw const action, std::ptr::null_mut()), 0);
    }
}

/// Installs a handler through libc, without SA_ONSTACK.
pub fn install_handler(signal: i32) {
    // SAFETY: zeroed is a valid sigaction; the handler counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as *const () as usize;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// What the kernel has for `signal`.
pub fn runs_on_alternate_stack(signal: i32) -> bool {
    let action = kernel_action(signal, None);
    action.handler > 1 && action.flags & libc::SA_ONSTACK as u64 != 0
}

/// Starts and cancels a thread.
pub fn cancel_a_thread() {
    unsafe extern "C" {
        fn pthread_cancel(thread: libc::pthread_t) -> libc::c_int;
    }
    extern "C" fn wait(_: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: waits for the cancellation.
        unsafe {
            loop {
                libc::pause();
            }
        }
    }
    // SAFETY: the thread only waits.
    unsafe {
        let mut thread = 0;
        assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), wait, std::ptr::null_mut()), 0);
        pthread_cancel(thread);
        libc::pthread_join(thread, std::ptr::null_mut());
    }
}

/// Where the frame of this thread's last counting handler was.
pub fn last_handler_frame() -> u64 {
    HANDLED.get().1
}

fn set_alternate_stack(flags: i32, size: usize) {
    let memory = Box::leak(vec![0_u8; size.max(1)].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: flags, ss_size: size };
    // SAFETY: the memory is never freed.
    unsafe { libc::sigaltstack(&stack, std::ptr::null_mut()) };
}

/// What Rust's thread teardown does.
pub fn disable_alternate_stack() {
    set_alternate_stack(libc::SS_DISABLE, 0);
}

/// The smallest that `sigaltstack` accepts.
pub fn use_a_small_alternate_stack() {
    set_alternate_stack(0, libc::MINSIGSTKSZ);
}

/// One that has room for what a program's handlers do.
pub fn use_a_large_alternate_stack(size: usize) {
    set_alternate_stack(0, size);
}

/// Runs a handler of `signal` on the calling thread that needs 12,000 bytes of stack, and does not ask for an alternate one: what it has found there.
pub fn run_a_handler_that_needs_room(signal: i32) -> u64 {
    thread_local! {
        static SUM: Cell<u64> = const { Cell::new(0) };
    }
    extern "C" fn needs_room(_: libc::c_int) {
        let room = std::hint::black_box([1_u8; 12_000]);
        SUM.set(room.iter().map(|byte| u64::from(*byte)).sum());
    }
    // SAFETY: a handler of one argument.
    unsafe {
        libc::signal(signal, needs_room as *const () as usize);
        libc::raise(signal);
    }
    SUM.get()
}

/// Switches it off by a plain system call.
pub fn disable_alternate_stack_unseen() {
    let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the thread runs on another stack.
    unsafe { libc::syscall(libc::SYS_sigaltstack, &raw const none, 0) };
}

/// Bytes below the thread's alternate stack that nobody can write.
pub fn guard_of_alternate_stack() -> u64 {
    let mut now = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: a query.
    unsafe { libc::syscall(libc::SYS_sigaltstack, 0, &raw mut now) };
    let maps = std::fs::read_to_string("/proc/self/maps").expect("a list of mappings");
    let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
    let found = maps.lines().find_map(|line| {
        let (from, rest) = line.split_once('-')?;
        let (to, rest) = rest.split_once(' ')?;
        (number(to) == now.ss_sp as u64 && rest.starts_with("---p")).then(|| number(to) - number(from))
    });
    found.unwrap_or(0)
}

/// Size of the thread's alternate stack, if it has one that stays (without SS_AUTODISARM).
pub fn alternate_stack_size() -> Option<usize> {
    let mut now = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: a query.
    unsafe { libc::syscall(libc::SYS_sigaltstack, 0, &raw mut now) };
    (now.ss_flags == 0).then_some(now.ss_size)
}

/// What the kernel needs for one signal frame.
pub fn signal_frame_size() -> usize {
    // SAFETY: a query.
    unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) as usize }
}

static WORK: std::sync::Mutex<Option<fn()>> = std::sync::Mutex::new(None);

extern "C" fn do_work(_: libc::c_int) {
    let work = *WORK.lock().expect("not held while raising");
    if let Some(work) = work {
        work();
    }
}

/// Runs `work` in a handler of `signal`, now, on this thread.
pub fn raise_with(signal: i32, work: fn()) {
    *WORK.lock().expect("not poisoned") = Some(work);
    // SAFETY: the handler runs synchronously, between these two calls.
    unsafe {
        libc::signal(signal, do_work as extern "C" fn(libc::c_int) as *const () as usize);
        libc::raise(signal);
    }
}

/// A breakpoint.
pub fn trap() {
    // SAFETY: the process ends, or goes on behind it.
    unsafe { std::arch::asm!("int3") };
}

/// Loads from address 16.
pub fn read_address_16() {
    // SAFETY: meant to fault: what follows depends on the process's handler, which may skip the two bytes.
    unsafe { core::arch::asm!("mov rax, 16", "mov eax, [rax]", out("rax") _) };
}

static SKIPPED: AtomicU64 = AtomicU64::new(0);

extern "C" fn skip(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    SKIPPED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the kernel's context; `mov eax,[rax]` is two bytes long.
    unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] += 2 };
}

/// Installs the host's own SIGSEGV handler: it skips the load of [`read_address_16`].
pub fn skip_faulting_loads() {
    install_with_info(libc::SIGSEGV, 0, skip as *const ());
}

/// The same, of one load alone (`SA_RESETHAND`).
pub fn skip_one_faulting_load() {
    install_with_info(libc::SIGSEGV, libc::SA_RESETHAND, skip as *const ());
}

/// Has a handler of SIGSEGV come past the library, which `claims` its place, and go again: it puts back what it has found.
pub fn handler_comes_and_goes(claims: impl FnOnce()) {
    install_handler(libc::SIGUSR2);
    let own = kernel_action(libc::SIGUSR2, None);
    let found = kernel_action(libc::SIGSEGV, Some(&own));
    claims();
    kernel_action(libc::SIGSEGV, Some(&found));
}

/// How many loads were skipped.
pub fn skipped_loads() -> u64 {
    SKIPPED.load(Ordering::Relaxed)
}

/// MXCSR's control bits, the x87 control word, and DF, AC, TF and NT.
pub fn cpu_state() -> (u32, u16, u64) {
    let (mut mxcsr, mut control, flags): (u32, u16, u64);
    (mxcsr, control) = (0, 0);
    // SAFETY: stores to locals.
    unsafe {
        core::arch::asm!(
            "stmxcsr [{m}]", "fnstcw [{c}]", "pushfq", "pop {f}",
            m = in(reg) &mut mxcsr, c = in(reg) &mut control, f = out(reg) flags,
        );
    }
    (mxcsr & !0x3f, control, flags & (1 << 10 | 1 << 18 | 1 << 8 | 1 << 14))
}

/// True if the upper halves of vector registers hold anything (XINUSE of AVX; Intel SDM volume 1, 13.6). Emulators may say so always: that
/// is no answer, and skipped.
pub fn upper_vector_halves_are_used() -> bool {
    let in_use = || {
        let in_use: u32;
        // SAFETY: a query; processors with AVX2 have it.
        unsafe { core::arch::asm!("xgetbv", in("ecx") 1, out("eax") in_use, out("edx") _) };
        in_use & 4 != 0
    };
    if !is_x86_feature_detected!("avx") || !in_use() {
        return false;
    }
    // SAFETY: tests are compiled for processors without AVX: nothing of theirs is in upper halves.
    unsafe { core::arch::asm!("vzeroupper") };
    if in_use() {
        support::skipped(
            "r17 for upper halves of vectors",
            "this processor says that they are in use, whatever is in them",
        );
        return false;
    }
    true
}

/// Maps the page at address zero; false if the kernel forbids it.
pub fn map_page_zero() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: nothing else is ever mapped there.
    unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0) != libc::MAP_FAILED }
}

/// Divides by zero on the x87, whose flag stays.
pub fn divide_on_x87() {
    // SAFETY: the exception is masked; the register stack is as before.
    unsafe { std::arch::asm!("fld1", "fldz", "fdivp", "fstp st(0)", options(nostack)) };
}

/// 1 + … + 8 on the x87, with all eight registers in use; NaN if the register stack was not empty.
pub fn x87_sum() -> f64 {
    let mut sum = 0.0_f64;
    let numbers: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    // SAFETY: loads eight numbers, adds them, pops all.
    unsafe {
        core::arch::asm!(
            "fld qword ptr [{n}]", "fld qword ptr [{n} + 8]", "fld qword ptr [{n} + 16]", "fld qword ptr [{n} + 24]",
            "fld qword ptr [{n} + 32]", "fld qword ptr [{n} + 40]", "fld qword ptr [{n} + 48]", "fld qword ptr [{n} + 56]",
            "faddp", "faddp", "faddp", "faddp", "faddp", "faddp", "faddp",
            "fstp qword ptr [{s}]",
            n = in(reg) &numbers, s = in(reg) &mut sum,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _, out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
        );
    }
    sum
}

core::arch::global_asm!(
    "
    .globl test_set_jump
test_set_jump: # rdi buffer, rsi function, rdx argument: 0 if the function returned, 1 if it jumped out
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    push rdi
    mov [rdi], rsp
    mov rdi, rdx
    call rsi
    xor eax, eax
    jmp 2f
    .globl test_jump_out
test_jump_out: # rdi buffer
    mov rsp, [rdi]
    mov eax, 1
2:  pop rdi
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
    .globl test_set_jump_and_mask
test_set_jump_and_mask: # rdi sigjmp_buf, rsi function, rdx argument: 0 if the function returned, 1 if it left by siglongjmp
    push rbx
    push rbp
    sub rsp, 8
    mov rbx, rsi
    mov rbp, rdx
    mov esi, 1
    call __sigsetjmp@PLT
    test eax, eax
    jnz 3f
    mov rdi, rbp
    call rbx
    xor eax, eax
3:  add rsp, 8
    pop rbp
    pop rbx
    ret
    "
);

type SetJump =
    unsafe extern "C" fn(*mut u64, extern "C" fn(*mut libc::c_void), argument: *mut libc::c_void) -> i32;

unsafe extern "C" {
    fn test_set_jump(
        buffer: *mut u64,
        function: extern "C" fn(*mut libc::c_void),
        argument: *mut libc::c_void,
    ) -> i32;
    fn test_jump_out(buffer: *const u64) -> !;
    fn test_set_jump_and_mask(
        buffer: *mut u64,
        function: extern "C" fn(*mut libc::c_void),
        argument: *mut libc::c_void,
    ) -> i32;
    fn siglongjmp(buffer: *mut u64, value: i32) -> !;
}

thread_local! {
    static JUMPS: std::cell::RefCell<Vec<*mut u64>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Runs `work`; true if it ended with [`jump_out`]. What it skips must not need dropping.
pub fn jumped_out<F: FnOnce()>(work: F) -> bool {
    jumped(test_set_jump, work)
}

/// The same of [`jump_out_with_mask`].
pub fn jumped_out_with_mask<F: FnOnce()>(work: F) -> bool {
    jumped(test_set_jump_and_mask, work)
}

fn jumped<F: FnOnce()>(set_jump: SetJump, work: F) -> bool {
    extern "C" fn run<F: FnOnce()>(work: *mut libc::c_void) {
        // SAFETY: the caller's own option.
        if let Some(work) = unsafe { (*work.cast::<Option<F>>()).take() } {
            work();
        }
    }
    let mut work = Some(work);
    // (A `sigjmp_buf` has 200 bytes.)
    let mut buffer = [0_u64; 25];
    let at = (&raw mut buffer).cast();
    JUMPS.with(|jumps| jumps.borrow_mut().push(at));
    // SAFETY: as C's setjmp: this function's frame lives while the work runs.
    let jumped = unsafe { set_jump(at, run::<F>, (&raw mut work).cast()) };
    JUMPS.with(|jumps| jumps.borrow_mut().pop());
    jumped != 0
}

/// Jumps to the innermost [`jumped_out`], over whatever lies between.
pub fn jump_out() {
    let at = JUMPS.with(|jumps| *jumps.borrow().last().expect("inside jumped_out"));
    // SAFETY: the buffer's frame is live.
    unsafe { test_jump_out(at) }
}

/// Jumps to the innermost [`jumped_out_with_mask`] by libc's `siglongjmp`: the mask is what it was there.
pub fn jump_out_with_mask() {
    let at = JUMPS.with(|jumps| *jumps.borrow().last().expect("inside jumped_out_with_mask"));
    // SAFETY: the buffer's frame is live.
    unsafe { siglongjmp(at, 1) }
}

/// The signals of a mask of the calling thread's that `/proc` has under this name.
fn mask_of_thread(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("a thread's status");
    let mask = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("a mask")
}

/// Whether the kernel blocks a signal on the calling thread.
pub fn is_blocked_by_kernel(signal: i32) -> bool {
    mask_of_thread("SigBlk") & 1 << (signal - 1) != 0
}

/// Whether the calling thread sees it blocked, as it asks for its mask.
pub fn sees_blocked(signal: i32) -> bool {
    // SAFETY: a mask to be written.
    unsafe {
        let mut mask = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut mask);
        libc::sigismember(&mask, signal) == 1
    }
}

/// How a handler leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Leaving {
    /// By a jump alone; what it had blocked is unblocked past the library.
    Jump,
    /// By a jump, and then its signal is unblocked.
    JumpAndUnblock,
    /// By a jump that brings the mask back.
    JumpWithMask,
}

/// What [`leaves_with_a_signal_behind`] has seen.
#[derive(Debug, PartialEq, Eq)]
pub struct SignalBehind {
    /// The handler saw it blocked.
    pub by_handler: bool,
    /// A child that the handler forked had it blocked.
    pub by_child: bool,
    /// Once the handler had set its mask and unblocked it, it did not wait any more.
    pub let_through: bool,
    /// It was blocked right behind the jump. (Of [`Leaving::Jump`]: at the end.)
    pub behind: bool,
}

/// Runs `work`, which comes into the code of the domain at `base`, where the handler of `signal` interrupts it. That one waits until another signal, `kick`, waits for the
/// thread, stays for so long that kicks are rare by then, and leaves the work by a jump.
pub fn leaves_with_a_signal_behind(
    signal: i32,
    kick: i32,
    leaving: Leaving,
    base: u64,
    work: impl FnOnce(),
) -> SignalBehind {
    const LONG: std::time::Duration = std::time::Duration::from_millis(200);
    static KICK: AtomicI32 = AtomicI32::new(0);
    static BASE: AtomicU64 = AtomicU64::new(0);
    static MASKED: AtomicBool = AtomicBool::new(false);
    static LEFT: AtomicBool = AtomicBool::new(false);
    static SEEN: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];
    extern "C" fn leave(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel's argument of an SA_SIGINFO handler.
        let at =
            unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] } as u64;
        let is_inside = at.wrapping_sub(BASE.load(Ordering::Acquire)) < lockgate_abi::window::STRIDE;
        if !is_inside || LEFT.swap(true, Ordering::AcqRel) {
            return; // not yet, or the timer goes on
        }
        let kick = KICK.load(Ordering::Acquire);
        while mask_of_thread("SigPnd") & 1 << (kick - 1) == 0 {
            std::hint::spin_loop();
        }
        let begun = std::time::Instant::now();
        SEEN[0].store(sees_blocked(kick), Ordering::Release);
        // SAFETY: masks of our own; the child looks at its own mask, and ends.
        unsafe {
            let (mut one, mut mask) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigaddset(&mut one, kick);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &one, &mut mask);
            libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            SEEN[2].store(!is_blocked_by_kernel(kick), Ordering::Release);
            let child = libc::fork();
            if child == 0 {
                libc::_exit(is_blocked_by_kernel(kick).into());
            }
            let mut status = 0;
            while libc::waitpid(child, &mut status, 0) != child {} // a kick interrupts it
            SEEN[1].store(status != 0, Ordering::Release);
        }
        while begun.elapsed() < LONG {
            std::hint::spin_loop();
        }
        if MASKED.load(Ordering::Acquire) { jump_out_with_mask() } else { jump_out() }
    }
    let masked = leaving == Leaving::JumpWithMask;
    KICK.store(kick, Ordering::Release);
    MASKED.store(masked, Ordering::Release);
    LEFT.store(false, Ordering::Release);
    BASE.store(base, Ordering::Release);
    install_with_info(signal, libc::SA_RESTART, leave as *const ());
    let mut behind = false;
    on_timer(signal, MILLISECOND, || {
        let left = if masked { jumped_out_with_mask(work) } else { jumped_out(work) };
        assert!(left, "the handler leaves");
        match leaving {
            Leaving::Jump => {
                while is_blocked_by_kernel(kick) {
                    std::hint::spin_loop();
                }
                let one = 1_u64 << (signal - 1);
                // SAFETY: the kernel's mask, of 8 bytes.
                unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_UNBLOCK, &raw const one, 0, 8) };
            }
            Leaving::JumpAndUnblock => unblock(signal),
            Leaving::JumpWithMask => {}
        }
        behind = is_blocked_by_kernel(kick);
    });
    // SAFETY: the signal is the caller's.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
    let [by_handler, by_child, let_through] = SEEN.each_ref().map(|seen| seen.load(Ordering::Acquire));
    SignalBehind { by_handler, by_child, let_through, behind }
}

/// What the calling thread would not have, had it not been left in the middle of something: signals that are blocked, but for `signal`, or no
/// cancellation. Nothing is left of it.
pub fn left_behind(signal: i32) -> &'static str {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
    }
    let (none, mut blocked, mut cancellation) = (0_u64, 0_u64, 0);
    // SAFETY: both are masks as the kernel has them, of 8 bytes; writes one number.
    unsafe {
        let how = libc::SIG_SETMASK;
        libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const none, &raw mut blocked, 8);
        pthread_setcancelstate(0, &raw mut cancellation);
    }
    match (blocked & !(1 << (signal - 1)), cancellation) {
        (0, 0) => "",
        (0, _) => "; it cannot be cancelled",
        _ => "; it has signals blocked",
    }
}

/// The calling thread's mask, as the kernel has it.
pub fn mask() -> u64 {
    let mut mask = 0_u64;
    // SAFETY: a query, of 8 bytes.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, 0, 0, &raw mut mask, 8) };
    mask
}

/// The kernel's mask is this one, as behind a `siglongjmp`.
pub fn set_mask(mask: u64) {
    // SAFETY: a mask as the kernel has it.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, 0, 8) };
}

/// Sends a thread of this process a signal when it is asleep in a futex.
pub fn send_asleep(thread: i32, signal: i32) {
    let file = format!("/proc/self/task/{thread}/syscall");
    let futex = format!("{} ", libc::SYS_futex);
    while !std::fs::read_to_string(&file).is_ok_and(|text| text.starts_with(&futex)) {
        std::thread::yield_now();
    }
    // SAFETY: the caller's signal.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) };
}

/// Returns when a thread of this process sleeps, in whatever.
pub fn until_it_sleeps(thread: i32) {
    let file = format!("/proc/self/task/{thread}/stat");
    // (The thread's name, which may have any letters, is in parentheses before it.)
    let sleeps = |text: String| text.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'));
    while !std::fs::read_to_string(&file).is_ok_and(sleeps) {
        std::thread::yield_now();
    }
}

/// Has the handler of `signal` jump to the innermost [`jumped_out`] of its thread.
pub fn jump_out_at(signal: i32) {
    extern "C" fn leave(_: libc::c_int) {
        jump_out();
    }
    let handler = leave as extern "C" fn(libc::c_int);
    // SAFETY: a handler of that type.
    unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) };
}

/// Returns when a thread of this process sleeps until an exclusive domain may be free: on a word with the bit for that.
pub fn until_it_waits_for_its_turn(thread: i32) {
    let file = format!("/proc/self/task/{thread}/syscall");
    let waits = |text: String| {
        let words: Vec<_> = text.split(' ').collect();
        let [number, _, _, value, ..] = words[..] else { return false };
        let value = value.strip_prefix("0x").and_then(|value| u64::from_str_radix(value, 16).ok());
        number == libc::SYS_futex.to_string() && value.is_some_and(|value| value as u32 >> 31 == 1)
    };
    while !std::fs::read_to_string(&file).is_ok_and(waits) {
        std::thread::yield_now();
    }
}

/// The calling thread's number.
pub fn thread_number() -> i32 {
    // SAFETY: a query.
    unsafe { libc::gettid() }
}

/// True if nothing interrupts the calling thread for `milliseconds`, which are waited for in vain otherwise.
pub fn is_left_alone(milliseconds: i32) -> bool {
    // SAFETY: waits for no descriptor.
    unsafe { libc::poll(std::ptr::null_mut(), 0, milliseconds) == 0 }
}

/// Puts `value` into gs, as a host that uses gs itself might.
pub fn set_gs(value: u64) {
    // SAFETY: neither Rust nor libc uses gs on x86-64.
    unsafe { core::arch::asm!("wrgsbase {}", in(reg) value) };
}

/// True if the C++ and Rust unwinder of this process has a frame description for `address`.
pub fn unwinder_knows(address: u64) -> bool {
    unsafe extern "C" {
        fn _Unwind_Find_FDE(address: *const u8, bases: *mut [usize; 3]) -> *const u8;
    }
    let mut bases = [0; 3];
    // SAFETY: looks an address up.
    unsafe { !_Unwind_Find_FDE(address as *const u8, &mut bases).is_null() }
}

/// The thread's `errno` behind `work`, which begins with this one.
pub fn errno_after(begins: i32, work: impl FnOnce()) -> i32 {
    // SAFETY: the calling thread's own.
    unsafe { *libc::__errno_location() = begins };
    work();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

/// Ends the process if it has not ended in so many seconds.
pub fn end_in(seconds: u32) {
    // SAFETY: no handler of ours.
    unsafe { libc::alarm(seconds) };
}

/// Has fork(3) call `what` before it, and after it in the parent and in the child.
pub fn at_forks(what: extern "C" fn()) {
    // SAFETY: a function of the program's, which stays.
    assert_eq!(unsafe { libc::pthread_atfork(Some(what), Some(what), Some(what)) }, 0);
}

/// Runs `work` in a child of `fork`, or of the plain system call, which no handler hears of. What is wrong, if it is not done within 60
/// seconds without an error.
pub fn in_child_of(plain: bool, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    // SAFETY: the child runs the work, with the library whose business it is to live with that, and ends at once.
    unsafe {
        let child = if plain { libc::syscall(libc::SYS_fork) as i32 } else { libc::fork() };
        if child == 0 {
            libc::alarm(60);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            libc::_exit(match done {
                Ok(Ok(())) => 0,
                Ok(Err(what)) => {
                    eprintln!("in the child: {what}");
                    1
                }
                Err(_) => 2,
            });
        }
        let mut status = 0;
        // The library's own signal may come in between.
        while libc::waitpid(child, &mut status, 0) < 0 {}
        match libc::WIFEXITED(status) {
            true if libc::WEXITSTATUS(status) == 0 => Ok(()),
            true => Err(format!("the child ended with {}", libc::WEXITSTATUS(status))),
            false => Err(format!("the child ended by signal {}", libc::WTERMSIG(status))),
        }
    }
}

/// Runs `work` in a child that has this process's memory, as vfork's has, on a stack of its own; the calling thread waits. What it returned.
pub fn in_child_that_shares<F: FnOnce() -> u8>(work: F) -> u8 {
    const STACK: usize = 1 << 20;
    extern "C" fn run<F: FnOnce() -> u8>(work: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the option of the thread that waits.
        let work = unsafe { (*work.cast::<Option<F>>()).take() };
        work.map_or(255, |work| work().into())
    }
    let mut work = Some(work);
    // SAFETY: the child runs on a new mapping, which goes when it has ended; it has the calling thread's thread-local storage while that waits.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let stack =
            libc::mmap(std::ptr::null_mut(), STACK, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        assert!(stack != libc::MAP_FAILED, "no memory for a stack");
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let child = libc::clone(run::<F>, stack.byte_add(STACK), flags, (&raw mut work).cast());
        assert!(child > 0, "no child: {}", std::io::Error::last_os_error());
        let mut status = 0;
        // The library's own signal may come in between.
        while libc::waitpid(child, &mut status, 0) < 0 {}
        libc::munmap(stack, STACK);
        assert!(libc::WIFEXITED(status), "the child ended with {status:#x}");
        libc::WEXITSTATUS(status) as u8
    }
}

/// Runs `work` in a forked child; what it returned.
pub fn in_fork(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs the work, which takes no lock that another thread may hold, and ends at once.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(i32::from(work()));
        }
        let mut status = 0;
        // The library's own signal may come in between.
        while libc::waitpid(child, &mut status, 0) < 0 {}
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1
    }
}

/// Runs `work` on a thread that std does not know, with a stack of so many bytes.
pub fn on_a_stack_of<F: FnOnce() + Send>(size: usize, work: F) {
    // SAFETY: initialised attributes.
    on_a_stack(|attributes| unsafe { libc::pthread_attr_setstacksize(attributes, size) }, work);
}

/// The same, a page of a guard below, and below that memory of somebody else's: false if that has changed.
pub fn on_a_stack_above_a_neighbour<F: FnOnce() + Send>(size: usize, work: F) -> bool {
    const NEIGHBOUR: usize = 256 << 10;
    const GUARD: usize = 4096;
    let length = NEIGHBOUR + GUARD + size;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a mapping of our own, which nobody uses any more when it goes.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), length, rights, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(start.byte_add(NEIGHBOUR), GUARD, libc::PROT_NONE), 0);
        let stack = start.byte_add(NEIGHBOUR + GUARD);
        on_a_stack(|attributes| libc::pthread_attr_setstack(attributes, stack, size), work);
        let neighbour = std::slice::from_raw_parts(start.cast::<u8>(), NEIGHBOUR);
        let is_untouched = neighbour.iter().all(|byte| *byte == 0);
        libc::munmap(start, length);
        is_untouched
    }
}

fn on_a_stack<F: FnOnce() + Send>(which: impl FnOnce(*mut libc::pthread_attr_t) -> libc::c_int, work: F) {
    extern "C" fn run<F: FnOnce()>(work: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the spawner's own option, which outlives the thread.
        if let Some(work) = unsafe { (*work.cast::<Option<F>>()).take() } {
            work();
        }
        std::ptr::null_mut()
    }
    let mut work = Some(work);
    // SAFETY: the attributes are initialised before use; the thread is joined before `work` goes.
    unsafe {
        let mut attributes = std::mem::zeroed();
        assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
        assert_eq!(which(&mut attributes), 0);
        let mut thread = 0;
        assert_eq!(libc::pthread_create(&mut thread, &attributes, run::<F>, (&raw mut work).cast()), 0);
        assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
        libc::pthread_attr_destroy(&mut attributes);
    }
}

/// As a daemon may: what is opened next gets their numbers.
pub fn close_standard_streams() {
    for stream in 0..3 {
        // SAFETY: nobody owns these, and the standard library goes on without them.
        unsafe { libc::close(stream) };
    }
}

/// From here on a filter of system calls (seccomp) has the system call `number` fail with `ENOSYS`, on all threads that are started.
pub fn refuse_system_call(number: i64) {
    filter(number, &[], libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32, 0);
}

/// From here on no mapping of 4 GiB or more can be made inaccessible: as if the kernel had no memory for that.
pub fn refuse_to_close() {
    const LENGTH_ABOVE: u32 = 16 + 8 + 4;
    const RIGHTS: u32 = 16 + 16;
    filter(
        libc::SYS_mprotect,
        &[
            (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, LENGTH_ABOVE),
            (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1),
            (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, RIGHTS),
            (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::PROT_NONE as u32),
        ],
        libc::SECCOMP_RET_ERRNO | libc::ENOMEM as u32,
        0,
    );
}

/// How often a thread that does `work` makes the system call `number`. A filter asks another thread about each (seccomp_unotify(2)), which counts it, and
/// lets it be done.
pub fn system_calls(number: i64, work: impl FnOnce() + Send) -> usize {
    std::thread::scope(|scope| {
        let (send, receive) = std::sync::mpsc::channel();
        let counter = scope.spawn(move || count_questions(receive.recv().expect("the filter's descriptor")));
        scope.spawn(move || {
            let (action, flags) = (libc::SECCOMP_RET_USER_NOTIF, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
            send.send(filter(number, &[], action, flags)).expect("a thread that counts");
            work();
        });
        counter.join().expect("no panic")
    })
}

/// Answers a filter's questions until the last thread that it asks about has ended.
fn count_questions(listener: i32) -> usize {
    let mut count = 0;
    loop {
        let mut asked = libc::pollfd { fd: listener, events: libc::POLLIN, revents: 0 };
        // SAFETY: the kernel writes what comes to pass, fills the question, which must be zeros, and reads the answer.
        unsafe {
            libc::poll(&raw mut asked, 1, -1);
            if asked.revents & libc::POLLHUP != 0 {
                libc::close(listener);
                return count;
            }
            let mut question: libc::seccomp_notif = std::mem::zeroed();
            if libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut question) == 0 {
                count += 1;
                let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
                let mut answer = libc::seccomp_notif_resp { id: question.id, val: 0, error: 0, flags };
                libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer);
            }
        }
    }
}

/// Has the kernel take this action for the system call `number`, on this thread and those that it starts, if all of `conditions` hold: loads, and jumps to
/// what follows. Returns what `seccomp` does: a descriptor, if the flags ask for one.
fn filter(number: i64, conditions: &[(u32, u32)], action: u32, flags: libc::c_ulong) -> i32 {
    const NUMBER: u32 = 0;
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, NUMBER)];
    let all = [&[(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number as u32)], conditions].concat();
    for (at, &(code, k)) in all.iter().enumerate() {
        let jumps = code & 7 == libc::BPF_JMP;
        steps.push(step(code, 0, if jumps { (all.len() - at) as u8 } else { 0 }, k));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, action));
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program lives until the kernel has copied it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let done = libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program);
        assert!(done >= 0, "seccomp: {}", std::io::Error::last_os_error());
        done as i32
    }
}

static NESTED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn need_room(_: libc::c_int) {
    // What a handler may use, in each of them: the first that runs is the innermost, above the frames of all others.
    let mut room = [1_u8; 48 << 10];
    let room = std::hint::black_box(&mut room);
    NESTED.fetch_add(usize::from(room[room.len() - 1]), Ordering::Relaxed);
}

/// Has every signal that can be handled, but those of faults and the library's own, come at once on this thread, with a handler that takes
/// 48 KiB of stack and blocks none. Returns how many came, and how many were sent.
pub fn all_signals_at_once() -> (usize, usize) {
    const FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];
    let ours = |signal: i32| FAULTS.contains(&signal) || signal == libc::SIGRTMAX();
    // SIGCONT takes signals that stop away, and they take it away.
    let others = [libc::SIGKILL, libc::SIGSTOP, libc::SIGCONT];
    let standard = (1..32).filter(|signal| !ours(*signal) && !others.contains(signal));
    let real_time = (libc::SIGRTMIN()..=libc::SIGRTMAX()).filter(|signal| !ours(*signal));
    let all: Vec<i32> = standard.chain(real_time).collect();
    // SAFETY: the sets are initialised; the handler touches its own frame and an atomic.
    unsafe {
        let (mut set, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut set);
        for signal in &all {
            libc::sigaddset(&mut set, *signal);
            assert_ne!(libc::signal(*signal, need_room as *const () as usize), libc::SIG_ERR);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
        for signal in &all {
            assert_eq!(libc::pthread_kill(libc::pthread_self(), *signal), 0);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
    (NESTED.load(Ordering::Relaxed), all.len())
}

/// The address space that this process has, bytes.
pub fn address_space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("/proc is mounted");
    pages.split_whitespace().next().and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4096
}

/// Limits the address space of this process, bytes; `u64::MAX` lifts the limit.
pub fn limit_address_space(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: u64::MAX };
    // SAFETY: sets a limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// Runs `work` under another x87 control word.
pub fn with_x87_control(control: u16, work: impl FnOnce()) {
    let mut own = 0_u16;
    // SAFETY: nothing of Rust uses the x87 but `x87_sum`; the word is restored.
    unsafe {
        core::arch::asm!("fnstcw [{o}]", "fldcw [{c}]", o = in(reg) &mut own, c = in(reg) &control);
        work();
        core::arch::asm!("fldcw [{o}]", o = in(reg) &own);
    }
}

/// Runs `work` under another MXCSR.
pub fn with_mxcsr(control: u32, work: impl FnOnce()) {
    let mut own = 0_u32;
    // SAFETY: `work` computes nothing with floating point; the word is restored.
    unsafe {
        core::arch::asm!("stmxcsr [{o}]", "ldmxcsr [{c}]", o = in(reg) &mut own, c = in(reg) &control);
        work();
        core::arch::asm!("ldmxcsr [{o}]", o = in(reg) &own);
    }
}

/// Gives this thread the control words of a new one.
pub fn reset_cpu_state() {
    let mxcsr = 0x1f80_u32;
    // SAFETY: what Rust expects.
    unsafe { core::arch::asm!("fninit", "ldmxcsr [{m}]", m = in(reg) &mxcsr) };
}

unsafe extern "C-unwind" {
    /// It unwinds.
    pub fn pthread_exit(value: *mut libc::c_void) -> !;
}

/// Ends the calling thread behind libc's back: nothing of what it does at the end of a thread is done.
pub fn end_without_libc() -> ! {
    loop {
        // SAFETY: who calls this has nothing on its stack that others look at.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

/// Ends threads in a handler of `signal`, wherever that comes.
pub fn end_threads_at(signal: i32) {
    // SAFETY: a handler that never returns; the signal's number is what the thread has to tell who joins it.
    unsafe { libc::signal(signal, pthread_exit as *const () as usize) };
}

/// Lets `signal` come on the calling thread.
pub fn unblock(signal: i32) {
    // SAFETY: a set of this function's.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        assert_eq!(libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()), 0);
    }
}

/// What threads begin with, and the same where their ends may unwind it.
type Start = extern "C" fn(*mut libc::c_void) -> *mut libc::c_void;
type MayEnd = extern "C-unwind" fn(*mut libc::c_void) -> *mut libc::c_void;

/// `pthread_exit` as a host function: no frame of Rust's lies between it and the gate.
pub fn thread_exit() -> extern "C" fn(i64) {
    // SAFETY: one word in a register; that it never returns is no business of the caller's.
    unsafe { std::mem::transmute(pthread_exit as unsafe extern "C-unwind" fn(*mut libc::c_void) -> !) }
}

/// Runs `work` on a thread that std does not know, and waits for its end; returns what it gave to `pthread_exit`, or 0.
pub fn on_plain_thread<F: FnOnce() + Send>(work: F) -> u64 {
    extern "C-unwind" fn run<F: FnOnce()>(work: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the spawner's own option, which outlives the thread.
        if let Some(work) = unsafe { (*work.cast::<Option<F>>()).take() } {
            work();
        }
        std::ptr::null_mut()
    }
    let mut work = Some(work);
    let mut result = std::ptr::null_mut();
    // SAFETY: the thread is joined before `work` goes.
    unsafe {
        let mut thread = 0;
        let attributes = std::ptr::null();
        let run = std::mem::transmute::<MayEnd, Start>(run::<F>);
        assert_eq!(libc::pthread_create(&mut thread, attributes, run, (&raw mut work).cast()), 0);
        assert_eq!(libc::pthread_join(thread, &mut result), 0);
    }
    result as u64
}

/// Runs `work` on the calling thread, which has been cancelled and has not found out.
pub fn cancelled<T>(work: impl FnOnce() -> T) -> T {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int;
    }
    const DISABLE: libc::c_int = 1;
    // SAFETY: the thread itself. Behind the work it never finds out.
    unsafe {
        assert_eq!(libc::pthread_cancel(libc::pthread_self()), 0);
        let done = work();
        let mut before = 0;
        pthread_setcancelstate(DISABLE, &raw mut before);
        done
    }
}

thread_local! {
    /// What the handler of [`interrupt_once`] sets.
    static WISH: Cell<Option<&'static AtomicBool>> = const { Cell::new(None) };
}

/// Runs `work`; after so many nanoseconds a signal comes to this thread, whose handler sets `wish` and interrupts, once.
pub fn interrupt_once<T>(
    signal: i32,
    wish: &'static AtomicBool,
    nanoseconds: u32,
    work: impl FnOnce() -> T,
) -> T {
    extern "C" fn interrupt(_: libc::c_int) {
        if WISH.get().is_some_and(|wish| !wish.swap(true, Ordering::SeqCst)) {
            // The first kick finds the thread here, where it cannot be stopped.
            interrupt_and_wait(1);
        }
    }
    WISH.set(Some(wish));
    let mut result = None;
    storm(signal, nanoseconds, interrupt, || result = Some(work()));
    WISH.set(None);
    result.expect("the work was done")
}

/// `number` leads to `file` from now on: that of a host which has closed a descriptor that it has not opened.
pub fn put_at(file: &std::fs::File, number: i32) {
    // SAFETY: what was there is the test's to lose.
    assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(file), number) }, number);
}

/// Blocks every signal on the calling thread, in the kernel: as a jump does that brings back a mask from before the thread's first call.
pub fn block_past_the_library() {
    let mask = !0_u64;
    // SAFETY: a mask as the kernel has it, of 8 bytes.
    let done = unsafe {
        let none = std::ptr::null_mut::<u64>();
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, none, 8)
    };
    assert_eq!(done, 0);
}

/// Runs `body` with every signal blocked, in the kernel: the library's own `pthread_sigmask` would leave those it lives by.
/// The closure that `body` gets waits for a signal, as long as a minute, and is the only place where one comes.
fn between_signals(body: impl FnOnce(&dyn Fn())) {
    let change = |mask: u64| {
        let mut before = 0_u64;
        // SAFETY: both are masks as the kernel has them, of 8 bytes.
        let done = unsafe {
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const mask, &raw mut before, 8)
        };
        assert_eq!(done, 0);
        before
    };
    let before = change(!0);
    body(&|| {
        let minute = libc::timespec { tv_sec: 60, tv_nsec: 0 };
        let nobody = std::ptr::null_mut::<libc::pollfd>();
        // SAFETY: as above; it waits for nothing but a signal.
        let waited =
            unsafe { libc::syscall(libc::SYS_ppoll, nobody, 0, &raw const minute, &raw const before, 8) };
        assert_eq!(waited, -1, "nobody kicked this thread");
    });
    change(before);
}

/// Interrupts this thread, and returns when it has been kicked so often, here.
pub fn interrupt_and_wait(times: u32) {
    between_signals(|wait| {
        lockgate::interrupt();
        for _ in 0..times {
            wait();
        }
    });
}

/// A word that this process and its children share.
pub fn shared_word() -> &'static std::sync::atomic::AtomicU32 {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping of zeros, for good.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_ne!(at, libc::MAP_FAILED);
        &*at.cast()
    }
}

/// `fork`, or the plain system call: 0 in the child.
pub fn fork_here(plain: bool) -> i32 {
    // SAFETY: the caller sees to the child.
    unsafe { if plain { libc::syscall(libc::SYS_fork) as i32 } else { libc::fork() } }
}

/// What `fork` returned in handlers of [`forks_in_handlers`].
static FORKED: [AtomicI32; 64] = [const { AtomicI32::new(0) }; 64];
static FORKS: AtomicUsize = AtomicUsize::new(0);
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Calls `work` with a handler that forks now and then, and goes on in both. Children end with what `work` says; how many of them did so well, and
/// how many there were. Once in a process. `plain`: as in [`fork_here`], and not where the C library runs: its `fork` waits for locks that `malloc` may
/// have on this very thread.
pub fn forks_in_handlers(signal: i32, plain: bool, work: impl Fn() -> bool) -> (usize, usize) {
    extern "C" fn fork(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let number = FORKS.load(Ordering::SeqCst);
        // SAFETY: the kernel's argument of an SA_SIGINFO handler.
        let at = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] }
            as usize;
        let is_in_libc = LIBC.get().is_some_and(|code| code.contains(&at));
        if is_in_libc && !PLAIN.load(Ordering::SeqCst) {
            return;
        }
        if let Some(forked) = FORKED.get(number).filter(|_| !IS_CHILD.load(Ordering::SeqCst)) {
            match fork_here(PLAIN.load(Ordering::SeqCst)) {
                0 => IS_CHILD.store(true, Ordering::SeqCst),
                child => forked.store(child, Ordering::SeqCst),
            }
            FORKS.store(number + 1, Ordering::SeqCst);
        }
    }
    static PLAIN: AtomicBool = AtomicBool::new(false);
    static LIBC: OnceLock<Range<usize>> = OnceLock::new();
    PLAIN.store(plain, Ordering::SeqCst);
    LIBC.get_or_init(code_of_libc);
    install_with_info(signal, libc::SA_RESTART, fork as *const ());
    on_timer(signal, MILLISECOND, || {
        while FORKS.load(Ordering::SeqCst) < FORKED.len() {
            let well = work();
            if IS_CHILD.load(Ordering::SeqCst) {
                exit_now(i32::from(!well));
            }
        }
    });
    let well = |child: &&AtomicI32| wait_for(child.load(Ordering::SeqCst));
    (FORKED.iter().filter(well).count(), FORKED.len())
}

/// Where the C library's code lies.
fn code_of_libc() -> Range<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the process's mappings");
    let is_it =
        |line: &&str| line.contains(" r-xp ") && (line.contains("/libc.so") || line.contains("/libc-"));
    let line = maps.lines().find(is_it).expect("a C library");
    let (begin, rest) = line.split_once('-').expect("a range");
    let (end, _) = rest.split_once(' ').expect("a range");
    let address = |text| usize::from_str_radix(text, 16).expect("an address");
    address(begin)..address(end)
}

/// Maps what lies from the second page to 16 MiB, as far as nothing is there; each word leads to the end of the process.
pub fn map_low_memory() {
    extern "C" fn end() -> ! {
        exit_now(99)
    }
    const PAGE: usize = 4096;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let mut mapped = 0;
    for at in (PAGE..16 << 20).step_by(PAGE) {
        let place = at as *mut libc::c_void;
        // SAFETY: new mappings where nothing is; on success all of the page is ours.
        unsafe {
            if libc::mmap(place, PAGE, rights, flags, -1, 0) == place {
                mapped += 1;
                for word in 0..PAGE / 8 {
                    place.cast::<usize>().add(word).write(end as *const () as usize);
                }
            }
        }
    }
    assert!(mapped > 1000, "{mapped} pages of low memory");
}

/// True in a child that a handler of [`forks_in_handlers`] has forked.
pub fn is_forked_child() -> bool {
    IS_CHILD.load(Ordering::SeqCst)
}

/// Waits for a child to end.
pub fn wait_for(child: i32) -> bool {
    let mut status = 0;
    // SAFETY: writes the status. The library's own signal may come in between.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0 {}
    status == 0
}

/// Ends the process as it is.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: nothing runs any more.
    unsafe { libc::_exit(status) }
}

/// A child at work.
pub struct Child(i32);

impl Child {
    /// Waits; true if its work returned true.
    pub fn ended_well(self) -> bool {
        wait_for(self.0)
    }
}

/// Has a forked child do `work` beside the parent.
pub fn start_child(work: impl FnOnce() -> bool) -> Child {
    match fork_here(false) {
        0 => exit_now(i32::from(!work())),
        child => Child(child),
    }
}

/// A stack of its own, on which work can stop in the middle: a host's coroutine (`makecontext`).
pub struct Coroutine {
    here: libc::ucontext_t,
    caller: libc::ucontext_t,
    work: Option<Box<dyn FnOnce()>>,
}

thread_local! {
    /// The coroutine that runs on this thread; resumed by none of them.
    static RUNNING: Cell<*mut Coroutine> = const { Cell::new(std::ptr::null_mut()) };
}

/// Bytes of a coroutine's stack.
pub const COROUTINE_STACK: usize = 256 << 10;

/// Room for two stacks of coroutines, the lower one first, with a gap between; at the address `near`, if that is free.
pub fn coroutine_stacks(near: u64) -> [u64; 2] {
    let length = 3 * COROUTINE_STACK;
    // SAFETY: a new mapping, which is never taken back, and the middle of it.
    unsafe {
        let at = libc::mmap(
            near as *mut libc::c_void,
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(at, libc::MAP_FAILED);
        assert_eq!(libc::mprotect(at.byte_add(COROUTINE_STACK), COROUTINE_STACK, libc::PROT_NONE), 0);
        [at as u64, at as u64 + 2 * COROUTINE_STACK as u64]
    }
}

/// Room for two stacks of coroutines, the lower one first, that nothing separates.
pub fn adjoining_stacks() -> [u64; 2] {
    let length = 2 * COROUTINE_STACK;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which is never taken back.
    let at = unsafe {
        libc::mmap(std::ptr::null_mut(), length, rights, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    assert_ne!(at, libc::MAP_FAILED);
    [at as u64, at as u64 + COROUTINE_STACK as u64]
}

/// A coroutine that shares its stack with others: what it has there is put aside while it does not run (as greenlets do).
pub struct Sharing {
    coroutine: Box<Coroutine>,
    aside: Vec<u8>,
}

/// What goes on until it gives way, or is over.
pub trait Resume {
    fn resume(&mut self);
}

impl Resume for Box<Coroutine> {
    fn resume(&mut self) {
        Coroutine::resume(self);
    }
}

impl Sharing {
    /// It has not begun.
    pub fn new(stack: u64, work: impl FnOnce() + 'static) -> Sharing {
        let mut aside = vec![0; COROUTINE_STACK];
        // What there is to be put back the first time is what `Coroutine::new` leaves.
        let coroutine = Coroutine::new(stack, work);
        // SAFETY: the stack, on which nothing runs.
        unsafe { std::ptr::copy_nonoverlapping(stack as *const u8, aside.as_mut_ptr(), COROUTINE_STACK) };
        Sharing { coroutine, aside }
    }
}

impl Resume for Sharing {
    fn resume(&mut self) {
        let stack = self.coroutine.here.uc_stack.ss_sp.cast::<u8>();
        // SAFETY: the stack, on which nothing runs before and after.
        unsafe {
            std::ptr::copy_nonoverlapping(self.aside.as_ptr(), stack, COROUTINE_STACK);
            self.coroutine.resume();
            std::ptr::copy_nonoverlapping(stack, self.aside.as_mut_ptr(), COROUTINE_STACK);
        }
    }
}

impl Coroutine {
    /// It has not begun.
    pub fn new(stack: u64, work: impl FnOnce() + 'static) -> Box<Coroutine> {
        extern "C" fn run() {
            // SAFETY: `resume` has set it, and does not look at it meanwhile.
            unsafe {
                let own = RUNNING.get();
                if let Some(work) = (*own).work.take() {
                    work();
                }
                libc::setcontext(&raw const (*own).caller);
            }
        }
        // SAFETY: zeroed contexts are filled by getcontext, makecontext and swapcontext.
        unsafe {
            let [here, caller] = [std::mem::zeroed(), std::mem::zeroed()];
            let mut made = Box::new(Coroutine { here, caller, work: Some(Box::new(work)) });
            libc::getcontext(&raw mut made.here);
            made.here.uc_stack.ss_sp = stack as *mut libc::c_void;
            made.here.uc_stack.ss_size = COROUTINE_STACK;
            libc::makecontext(&raw mut made.here, run, 0);
            made
        }
    }

    /// True if it has been resumed before.
    pub fn has_begun(&self) -> bool {
        self.work.is_none()
    }

    /// Goes on until it gives way, or is over.
    pub fn resume(self: &mut Box<Coroutine>) {
        let own: *mut Coroutine = &raw mut **self;
        let before = RUNNING.replace(own);
        // SAFETY: both contexts are valid.
        unsafe { libc::swapcontext(&raw mut (*own).caller, &raw const (*own).here) };
        RUNNING.set(before);
    }
}

/// True in a coroutine, on its own stack: not in a handler that runs on another.
pub fn on_own_stack() -> bool {
    let local = 0_u8;
    let own = RUNNING.get();
    // SAFETY: a coroutine that runs is there.
    let low = || unsafe { (*own).here.uc_stack.ss_sp } as usize;
    !own.is_null() && (low()..low() + COROUTINE_STACK).contains(&(&raw const local as usize))
}

/// Runs `work`; signals come each millisecond, and the first to find that the number at `begun` is not 0 gives way in its handler, on the
/// alternate stack.
pub fn give_way_in_handler<T>(signal: i32, begun: u64, work: impl FnOnce() -> T) -> T {
    thread_local! {
        static BEGUN: Cell<u64> = const { Cell::new(0) };
    }
    extern "C" fn give(signal: libc::c_int) {
        let begun = BEGUN.get() as *const i64;
        // SAFETY: the caller says where a number lies, until the work is done.
        if !begun.is_null() && unsafe { begun.read_volatile() } != 0 {
            BEGUN.set(0);
            // SAFETY: the next one would have its frame where this one lies, which waits on the alternate stack.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
            give_way();
        }
    }
    BEGUN.set(begun);
    let mut result = None;
    storm(signal, MILLISECOND, give, || result = Some(work()));
    result.expect("the work was done")
}

/// In a coroutine: back to who resumed it.
pub fn give_way() {
    let own = RUNNING.get();
    // SAFETY: it is running, and both contexts are valid.
    unsafe { libc::swapcontext(&raw mut (*own).here, &raw const (*own).caller) };
}

/// Calls the function at `pointer`, which a function `long f(long)` has given.
pub fn call_by_pointer(pointer: *const (), x: i64) -> i64 {
    // SAFETY: a function of this type; what it returns is a number whether it has ended by a return or not.
    unsafe { std::mem::transmute::<*const (), extern "C" fn(i64) -> i64>(pointer)(x) }
}

/// What was done with a file, as the kernel tells: times that it was opened, and times that it was read.
pub struct Uses(std::os::fd::OwnedFd);

impl Uses {
    pub fn of(path: &std::path::Path) -> Uses {
        use std::os::unix::ffi::OsStrExt as _;
        let path = std::ffi::CString::new(path.as_os_str().as_bytes()).expect("no zero in a path");
        // SAFETY: a new descriptor, and a string of this function's.
        unsafe {
            let fd = libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK);
            assert!(fd >= 0, "inotify");
            assert!(libc::inotify_add_watch(fd, path.as_ptr(), libc::IN_OPEN | libc::IN_ACCESS) >= 0);
            Uses(std::os::fd::FromRawFd::from_raw_fd(fd))
        }
    }

    /// Since the last look. The kernel joins what comes twice in a row.
    pub fn look(&self) -> (usize, usize) {
        let mut events = [0_u32; 4096];
        let fd = std::os::fd::AsRawFd::as_raw_fd(&self.0);
        // SAFETY: into this function's own memory.
        let read = unsafe { libc::read(fd, events.as_mut_ptr().cast(), size_of_val(&events)) };
        let (mut opened, mut accessed) = (0, 0);
        // (Events of a watched file have no name: four words each.)
        for event in events[..read.max(0) as usize / 4].chunks_exact(4) {
            opened += usize::from(event[1] & libc::IN_OPEN != 0);
            accessed += usize::from(event[1] & libc::IN_ACCESS != 0);
        }
        (opened, accessed)
    }
}
