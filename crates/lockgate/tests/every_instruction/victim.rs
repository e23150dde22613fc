//! The process that is traced: one thread makes call after call, another one does what the tracer asks for.
use super::common::host_sys::Coroutine;
use super::common::{Guest, frames, host_sys};
use super::tracer_sys::{
    Handler, around_a_service, call_and_end, call_pointer, end_of_unwinding, end_thread, ending_handler,
    ends_on_thread, in_lazy_gate, install_handler, is_code, is_on_alternate_stack, mark, off_alternate_stack,
    outside_of_rust, stay, thread_number, unblock,
};
use lockgate::syscall::Grants;
use lockgate::{
    Allow, CallError, CallLimit, Domain, DomainOptions, Dynamic, Expiry, Export, FaultKind, Frame, Function,
    HostFunction, Module, OnFailure, Policy, Principal, Registry, Version, take_call_error,
};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The environment variable that names the scenario.
pub const SCENARIO: &str = "LOCKGATE_SCENARIO";

/// The one that names what SIGUSR1's handler does, if it is of the kind that nobody asks to run on the alternate stack: it came by a
/// system call of the host's own between two looks of the library's. It runs on the host's stack, or a domain's control stack.
pub const HANDLER: &str = "LOCKGATE_HANDLER";

/// The one that names the folder of the victims' modules: [`modules`].
pub const MODULES: &str = "LOCKGATE_MODULES";

/// The folder of the modules that victims use, built once for all of them.
pub fn modules() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = support::shared_folder();
        for (name, guest) in [("server", server()), ("client", client()), ("locks", locks())] {
            std::fs::write(folder.join(name), guest.build()).expect("the folder is writable");
        }
        folder
    });
    &FOLDER
}

fn module(name: &str) -> Arc<Module> {
    let folder = std::env::var_os(MODULES).expect("the folder of the modules");
    Module::open(Path::new(&folder).join(name)).expect("a module that verifies")
}

static SERVER: LazyLock<Arc<Module>> = LazyLock::new(|| module("server"));
static CLIENT: LazyLock<Arc<Module>> = LazyLock::new(|| module("client"));
static LOCKS: LazyLock<Arc<Module>> = LazyLock::new(|| module("locks"));

type Long = extern "C" fn(i64) -> i64;

fn server() -> Guest {
    let source = "long host(long);
        long increment(long x) { return x + 1; }
        long for_ever(long x) { for (;;) __asm__ volatile(\"\"); return x; }
        long call_back(long x) { return host(x) + 1; }
        long crash(long x) { __builtin_trap(); return x; }
        static long own, *volatile at = &own;
        long remember(long x) { *at = x; host(x); return *at + 1; }
        #include <setjmp.h>
        __attribute__((noinline)) static void leave(jmp_buf place, long depth) {
            if (depth) leave(place, depth - 1); else longjmp(place, 3);
            __asm__ volatile(\"\");
        }
        long jump(long x) {
            jmp_buf place;
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            int landed = setjmp(place);
            if (!landed) leave(place, x);
            long sum = landed;
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum;
        }
        long jump_nowhere(long x) { static jmp_buf nowhere; longjmp(nowhere, 1); return x; }
        long jump_nowhere_later(long x) { static long calls; return calls++ ? jump_nowhere(x) : x; }
        #include <ucontext.h>
        static ucontext_t turning, turned;
        static char room[32768];
        static long made, wrong;
        static ucontext_t door, invader;
        static volatile int invited;
        long smash(long);
        static void turns(void) {
            getcontext(&door);
            if (invited) {
                invited = 0;
                smash(1);
                swapcontext(&turning, &invader);
            }
            for (long n = 0;; n++) {
                volatile long kept[8];
                for (int i = 0; i < 8; i++) kept[i] = n + i;
                swapcontext(&turning, &turned);
                for (int i = 0; i < 8; i++) wrong += kept[i] != n + i;
            }
        }
        long turn(long x) {
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            if (!made) {
                getcontext(&turning);
                turning.uc_stack.ss_sp = room;
                turning.uc_stack.ss_size = sizeof room;
                makecontext(&turning, turns, 0);
            }
            invited = 0;
            made = 0; /* whoever jumps out of here leaves it lost */
            swapcontext(&turned, &turning);
            made = 1;
            long sum = 3 + wrong;
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum;
        }
        /* By a word that was good for one switch. */
        long turn_nowhere(long x) {
            turn(x);
            ucontext_t old = turning;
            turn(x);
            made = 0;
            swapcontext(&turned, &old);
            return x;
        }
        /* Takes the context, and goes on at an early place of it, which uses much of its stack. */
        long invade(long x) {
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            invited = 1;
            swapcontext(&invader, &door);
            long sum = 0x5a5a5a5a;
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum;
        }
        /* A context of its own, which begins, ends, and has used much of its stack. */
        static ucontext_t guest, home;
        static char guests[32768];
        static void visits(void) { smash(1); }
        long invite(long x) {
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            getcontext(&guest);
            guest.uc_stack.ss_sp = guests;
            guest.uc_stack.ss_size = sizeof guests;
            guest.uc_link = &home;
            makecontext(&guest, visits, 0);
            swapcontext(&home, &guest);
            long sum = 0x5a5a5a5a;
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum;
        }
        #include <unistd.h>
        #include <sys/epoll.h>
        #include <sys/eventfd.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <time.h>
        long map(long x) {
            void *room = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            return x + 1 + (room == MAP_FAILED) - munmap(room, 65536);
        }
        static ucontext_t fresh;
        long make(long x) {
            getcontext(&fresh);
            fresh.uc_stack.ss_sp = room;
            fresh.uc_stack.ss_size = sizeof room;
            makecontext(&fresh, turns, 0);
            return x + 1;
        }
        long ask(long x) { return x + 1 + 0 * getpid(); }
        long ask_and_smash(long x) { return smash(x + 0 * getpid()); }
        /* By an instruction of its own, over which all registers are kept. */
        long ask_directly(long x) {
            long number = SYS_getpid;
            __asm__ volatile(\"syscall\" : \"+a\"(number) : : \"rcx\", \"r11\", \"memory\");
            return x + 1 + 0 * number;
        }
        long tell_time(long x) { struct timespec time; return x + 1 + clock_gettime(CLOCK_MONOTONIC, &time); }
        static struct timespec told = {-1, -1};
        long keep_time(long x) { return x + 1 + clock_gettime(CLOCK_MONOTONIC, &told); }
        #include <sys/random.h>
        long keep_random(long x) { return x + 1 + (getrandom(&told, sizeof told, 0) != sizeof told); }
        long was_told(long x) { return told.tv_sec != -1; }
        long tell_functions(long x) { long rows[20]; return x + (syscall(400, rows, 10, 0) > 0); }
        #include <setjmp.h>
        #include <signal.h>
        static volatile long own_handled;
        static sigjmp_buf behind;
        static void handle_own(int signal) {
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = signal + i;
            own_handled += getppid() == 0; /* through a gate */
            for (int i = 0; i < 8; i++) own_handled += kept[i] != signal + i;
            own_handled++;
            if (signal == SIGILL || signal == SIGSEGV) siglongjmp(behind, 1);
        }
        /* A signal of its own, whose handler begins behind a system call, and returns. */
        long raise_own(long x) {
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            signal(SIGUSR2, handle_own);
            own_handled = 0;
            long sum = x + syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR2);
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum + own_handled;
        }
        /* One that an instruction raises, and whose handler jumps. */
        long trap_own(long x) {
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            signal(SIGILL, handle_own);
            own_handled = 0;
            if (!sigsetjmp(behind, 1)) __builtin_trap();
            long sum = x;
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum + own_handled;
        }
        long fall(long x) { if (x == 2) __builtin_trap(); return x; }
        long quit(long x) { _exit(3); return x; }
        /* An overflow of the stack, whose end is kept for the handler. */
        __attribute__((noinline)) static long sinks(volatile long x) {
            volatile char room[30000];
            room[x] = 1;
            return sinks(x + 1) + room[x];
        }
        static void on_stack_end(void (*handler)(int)) {
            stack_t room = {.ss_size = 8192};
            sigaltstack(&room, 0);
            struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
            sigaction(SIGSEGV, &action, 0);
            own_handled = 0;
        }
        /* (With more in its frame than lies above the place of a gate that it calls.) */
        long overflow_own(long x) {
            volatile long kept[500];
            for (int i = 0; i < 500; i++) kept[i] = x + i;
            on_stack_end(handle_own);
            if (!sigsetjmp(behind, 1)) x += sinks(0);
            long sum = x;
            for (int i = 0; i < 500; i++) sum += kept[i] != x + i;
            return sum + own_handled;
        }
        /* A fault near the stack's end, whose handler returns. */
        static char *closed;
        static void open_closed(int signal) { own_handled++, mprotect(closed, 4096, PROT_READ | PROT_WRITE); }
        __attribute__((noinline)) static long touches(long left) {
            volatile long room[3000];
            for (int i = 0; i < 3000; i += 100) room[i] = left + i;
            if (!left) return closed[5];
            long sum = touches(left - 1);
            for (int i = 0; i < 3000; i += 100) sum += room[i] != left + i;
            return sum;
        }
        long return_own(long x) {
            if (!closed) closed = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            on_stack_end(open_closed);
            mprotect(closed, 4096, PROT_NONE);
            return x + touches(35) + own_handled;
        }
        /* Frames of variable size, opened in the middle of a function that is too long for short branches, while a signal may come whose
           handler jumps out; and opened once more, below much that lives, while its handler returns. */
        static sigjmp_buf outside;
        static volatile long armed, asked;
        static void leave_own(int signal) { if (armed) siglongjmp(outside, 1); }
        static void stay_own(int signal) { volatile char room[4000]; for (int i = 0; i < 4000; i++) room[i] = 0x5a; }
        static void once_own(void (*handler)(int)) {
            struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};
            if (!asked++) sigaction(SIGUSR2, &action, 0);
        }
        __attribute__((noinline)) static long opens(long x) {
            volatile char room[x * 16];
            room[0] = x;
            __asm__ volatile(\".rept 60\\n add $1,%%rbx\\n.endr\" ::: \"rbx\");
            return room[0];
        }
        long open_own(long x) {
            once_own(leave_own);
            long sum = x;
            if (!sigsetjmp(outside, 0)) {
                armed = 1;
                sum = opens(x);
            }
            armed = 0;
            return sum;
        }
        __attribute__((noinline)) static long reopens(long x) {
            volatile char *first = __builtin_alloca(x * 60000);
            for (int i = 0; i < 26; i++) first[i * 512 + 12000] = i;
            volatile char *second = __builtin_alloca(x * 16);
            second[0] = x;
            static void *volatile way[1];
            way[0] = &&there;
            goto *way[0];
        there:
            __asm__ volatile(\".rept 60\\n add $1,%%rbx\\n.endr\" ::: \"rbx\");
            long wrong = 0;
            for (int i = 0; i < 26; i++) wrong += first[i * 512 + 12000] != i;
            return second[0] + wrong;
        }
        long reopen_own(long x) { once_own(stay_own); return reopens(x); }
        long send_own(long x) {
            sigset_t all;
            sigfillset(&all);
            sigprocmask(SIG_SETMASK, &all, 0);
            return kill(getpid(), SIGUSR2);
        }
        /* Bytes that the kernel moves itself, and events that it tells of. */
        static int ends[2], set;
        static char sent = 7, got;
        long pass(long x) {
            if (!ends[1]) pipe(ends);
            got = 0;
            return x + 1 + (write(ends[1], &sent, 1) != 1 || read(ends[0], &got, 1) != 1 || got != sent);
        }
        long await(long x) {
            struct epoll_event event = {.events = EPOLLIN};
            if (!set) {
                int made = epoll_create1(0);
                epoll_ctl(made, EPOLL_CTL_ADD, eventfd(1, 0), &event);
                set = made;
            }
            return x + epoll_wait(set, &event, 1, 1000);
        }
        long doze(long x) { struct timespec time = {0, 1000}; return x + 1 + nanosleep(&time, 0); }
        /* What came of a call whose caller does not wait for it. */
        static volatile long kept_late;
        long late_result(long x) { return x + kept_late; }
        #define LATE(name) long late_##name(long x) { kept_late = -1; long result = name(x); return kept_late = result; }
        LATE(increment) LATE(ask_directly) LATE(jump) LATE(reopens) LATE(doze)
        struct wide { char bytes[1000]; };
        struct wide wide(long x, long b, long c, long d, long e, long f, long g, long h) {
            host(x);
            return (struct wide){{x + b + c + d + e + f + g + h}};
        }
        long remember_across_service(long x) { *at = x; getppid(); return *at + 1; }
        __attribute__((noinline)) static long sink(long depth, long x) {
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            long sum = depth ? sink(depth - 1, x) : host(x);
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum;
        }
        long go_deeper(long x) { return host(x) + sink(20, x); }
        long wait_8(long a, long b, long c, long d, long e, long f, long g, long x) { return for_ever(x); }"
        .to_owned()
        + &frames(&[("deep", "host(x) + 0 * getppid()")])
        + &low("host(x)");
    let exports = [
        "long increment(long)",
        "long for_ever(long)",
        "long call_back(long)",
        "long crash(long)",
        "long jump_nowhere(long)",
        "long jump_nowhere_later(long)",
        "long turn_nowhere(long)",
        "long ask_and_smash(long)",
        "long remember(long)",
        "long jump(long)",
        "long turn(long)",
        "long invade(long)",
        "long invite(long)",
        "long map(long)",
        "long make(long)",
        "long ask(long)",
        "long ask_directly(long)",
        "long tell_time(long)",
        "long tell_functions(long)",
        "long keep_time(long)",
        "long keep_random(long)",
        "long was_told(long)",
        "long pass(long)",
        "long await(long)",
        "long doze(long)",
        "long raise_own(long)",
        "long open_own(long)",
        "long reopen_own(long)",
        "long send_own(long)",
        "long trap_own(long)",
        "long overflow_own(long)",
        "long return_own(long)",
        "long fall(long)",
        "long quit(long)",
        "struct { char bytes[1000]; } wide(long, long, long, long, long, long, long, long)",
        "long remember_across_service(long)",
        "long go_deeper(long)",
        "long wait_8(long, long, long, long, long, long, long, long)",
        "long smash(long)",
        "long deep(long)",
        "long where(void)",
        "long low(long)",
        "long is_below(long)",
    ];
    exports.iter().fold(Guest::c(&source).gate("long host(long)"), |guest, export| guest.export(export))
}
fn client() -> Guest {
    let source = "long for_ever(long), increment(long);
        struct wide { char bytes[1000]; } wide(long, long, long, long, long, long, long, long);
        long call_wide(long x) { return wide(x, 0, 0, 0, 0, 0, 0, 1).bytes[0]; }
        long wait_8(long, long, long, long, long, long, long, long);
        long wait(long x) { return for_ever(x) - 1; } long twice(long x) { return increment(increment(x)) + 1; }
        long wait_on_stack(long x) { return wait_8(1, 2, 3, 4, 5, 6, 7, x) - 1; }
        long crash(long), tell(long);
        long itself(long x) { for (int i = 0; i < 3; i++) x = increment(x), tell(x); return x; }
        long plus_one(long x) { return x + 1; }"
        .to_owned()
        + &frames(&[("deep", "increment(x)"), ("deep_failing", "crash(x)")])
        + &low("increment(x)");
    let guest = Guest::c(&source).gate("long for_ever(long)").gate("long increment(long)");
    let guest = guest.gate("long crash(long)").export("long deep_failing(long)");
    let guest = guest.gate("long tell(long)").export("long itself(long)").export("long plus_one(long)");
    let guest = guest.gate("long wait_8(long, long, long, long, long, long, long, long)");
    let wide = "struct { char bytes[1000]; } wide(long, long, long, long, long, long, long, long)";
    let guest = guest.gate(wide).export("long call_wide(long)");
    let guest = guest.export("long wait_on_stack(long)").export("long smash(long)").export("long deep(long)");
    let guest = guest.export("long low(long)").export("long is_below(long)");
    guest.export("long wait(long)").export("long twice(long)").export("long where(void)")
}

/// A function whose lowest live word is known while it calls: the return word of that call. And one that says whether it begins below.
fn low(call: &str) -> String {
    format!(
        "
        static volatile long lowest;
        long low(long x) {{
            volatile long kept[8];
            for (int i = 0; i < 8; i++) kept[i] = x + i;
            long rsp;
            __asm__ volatile(\"lea (%%rsp),%0\" : \"=r\"(rsp));
            lowest = rsp - 8;
            long sum = {call};
            lowest = 0;
            for (int i = 0; i < 8; i++) sum += kept[i] != x + i;
            return sum;
        }}
        long is_below(long x) {{
            long own = (long)__builtin_frame_address(0) + 8;
            return !lowest || own < lowest ? 0x5a5a5a5a : x;
        }}"
    )
}

/// What two threads do under a lock of libc's: the one that says 5 stays there until the host lets it go.
fn locks() -> Guest {
    let source = "#include <pthread.h>
        long host(long);
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static volatile long inside, together;
        long lock(long x) {
            pthread_mutex_lock(&mutex);
            if (++inside != 1) together++;
            if (x == 5) host(x);
            inside--;
            pthread_mutex_unlock(&mutex);
            return together;
        }";
    Guest::c(source).gate("long host(long)").export("long lock(long)")
}

/// The first thread's number, and whether its call goes on.
static FIRST: AtomicI32 = AtomicI32::new(0);
static CALLING: AtomicBool = AtomicBool::new(false);
/// A second thread holds the lock.
static HOLDS: AtomicBool = AtomicBool::new(false);

/// Returns when the first thread waits for the lock, or needs it no more.
fn hold(_: &Domain, x: i64) -> i64 {
    HOLDS.store(true, Ordering::SeqCst);
    while CALLING.load(Ordering::SeqCst) && !waits(FIRST.load(Ordering::SeqCst)) {
        std::thread::yield_now();
    }
    x
}

/// How a function is called, which is how the caller hears of its end.
#[derive(Clone)]
enum Called {
    Typed(Function<Long>),
    /// With a frame, as bindings of other languages do.
    Dynamic(Dynamic),
    /// By a pointer, as C does.
    Bare(Function<Long>),
}

impl Called {
    fn new(way: &str, function: Function<Long>, domain: &Domain) -> Called {
        match way {
            "dynamic" => {
                let prototype = format!("long {}(long)", function.name());
                Called::Dynamic(domain.bind_dynamic(&prototype).expect("an export"))
            }
            "bare" => Called::Bare(function),
            _ => Called::Typed(function),
        }
    }

    fn call(&self, x: i64) -> Result<i64, CallError> {
        match self {
            Called::Typed(function) => function.call(x),
            Called::Dynamic(function) => {
                let mut frame = Frame::new(function.plan());
                frame.set(&function.plan().parameters[0], &[x as u64]);
                function.call_frame(&mut frame)?;
                Ok(frame.result(function.plan()).first().copied().unwrap_or_default() as i64)
            }
            Called::Bare(function) => {
                let value = call_pointer(function.as_ptr(), x);
                take_call_error().map_or(Ok(value), Err)
            }
        }
    }
}

/// Domains, what is called, and what a kill kills.
struct World {
    call: Function<Long>,
    domains: Vec<Domain>,
    doomed: usize,
    /// Where the imports come from at their first calls.
    _registry: Option<Registry>,
    /// Where the called domain's frames begin, and where they began before.
    place: Option<(Function<extern "C" fn() -> i64>, i64)>,
}

impl World {
    fn new(scenario: &str) -> World {
        if scenario == "lock" {
            let options = DomainOptions::new().gate("host", HostFunction::new(hold));
            let domain = Domain::new(&LOCKS, options).expect("a domain");
            return World::of(domain.bind("lock").expect("an export"), vec![domain], 0);
        }
        let options = if scenario == "ended" { ending_options() } else { options("server") };
        let options = if scenario == "exclusive" { options.exclusive(None) } else { options };
        let limited = [
            "map",
            "make",
            "ask",
            "ask_directly",
            "tell_time",
            "tell_functions",
            "pass",
            "await",
            "doze",
            "attach",
        ]
        .contains(&scenario);
        let options = if limited { options.time_limit(Duration::from_secs(60)) } else { options };
        let server = Domain::new(&SERVER, options).expect("a domain");
        let direct = |entry| server.bind::<Long>(entry).expect("an export");
        let (entry, doomed) = match scenario {
            "increment"
            | "for_ever"
            | "call_back"
            | "crash"
            | "deep"
            | "remember"
            | "remember_across_service"
            | "jump"
            | "jump_nowhere"
            | "turn_nowhere"
            | "map"
            | "make"
            | "ask"
            | "ask_directly"
            | "tell_time"
            | "keep_time"
            | "keep_random"
            | "tell_functions"
            | "pass"
            | "await"
            | "doze"
            | "raise_own"
            | "open_own"
            | "reopen_own"
            | "trap_own"
            | "overflow_own"
            | "return_own"
            | "low"
            | "quit"
            | "turn" => {
                return World::of(direct(scenario), vec![server], 0).placed();
            }
            late if late.starts_with("late_") => return World::late(server, late),
            "repair" => return World::of(direct("deep"), vec![server], 0).placed(),
            "ended" => {
                // (A proxy of its own, which no other call comes to.)
                AFTER_END.set(Some(server.bind_with("increment", Policy::MUTUAL_TRUST).expect("an export")));
                return World::of(direct("call_back"), vec![server], 0).placed();
            }
            "attach" => return World::of(direct("increment"), vec![server], 0),
            "wide" => return World::wide(server),
            "exclusive" => return World::of(direct("increment"), vec![server], 0),
            "lazy" => return World::lazy(server, "twice"),
            "lazy_deep" => return World::lazy(server, "deep"),
            "lazy_low" => return World::lazy(server, "low"),
            "itself" => return World::itself(server),
            "low_across" => ("low", 0),
            "deep_across" => ("deep", 0),
            "deep_failing" => ("deep_failing", 0),
            "kill_waiting_callee" => ("wait", 1),
            "kill_waiting_callee_on_stack" => ("wait_on_stack", 1),
            "kill_callee" => ("twice", 1),
            "across" | "kill_caller" => ("twice", 0),
            other => panic!("no scenario {other}"),
        };
        let client = Domain::new(&CLIENT, DomainOptions::new().name("client")).expect("a domain");
        for name in ["for_ever", "increment", "wait_8", "crash"] {
            client
                .link(
                    name,
                    &server,
                    &crate::common::said(&client, name, name),
                    Policy::default(),
                    OnFailure::default(),
                )
                .expect("an import");
        }
        World::of(client.bind(entry).expect("an export"), vec![client, server], doomed).placed()
    }

    /// Remembers where the called domain's frames begin.
    fn placed(self) -> World {
        let place = self.domains[0].bind::<extern "C" fn() -> i64>("where").expect("an export");
        let first = place.call().expect("a place");
        World { place: Some((place, first)), ..self }
    }

    fn of(call: Function<Long>, domains: Vec<Domain>, doomed: usize) -> World {
        World { call, domains, doomed, _registry: None, place: None }
    }

    /// Calls that go on without their caller, whose time is short: but for the first two, which are followed.
    fn late(server: Domain, name: &str) -> World {
        static WORLDS: AtomicI32 = AtomicI32::new(0);
        let time = if WORLDS.fetch_add(1, Ordering::SeqCst) < 2 { 60_000 } else { 15 };
        let limit = CallLimit::new(Duration::from_millis(time)).on_expiry(Expiry::Detach);
        let call = server.bind_within(name, Policy::default(), limit).expect("an export");
        World::of(call, vec![server], 0)
    }

    /// What came of such a call, when it is over.
    fn came_of_it(&self) -> String {
        let server = &self.domains[0];
        while server.usage().detached > 0 {
            std::thread::yield_now();
        }
        let result = server.bind::<Long>("late_result").expect("an export").call(0);
        match server.detached_fault() {
            None => format!("detached {}", result.expect("a result")),
            Some(fault) => format!("detached, and {fault}"),
        }
    }

    /// A client that calls itself.
    fn itself(server: Domain) -> World {
        let options = DomainOptions::new().name("client").gate("tell", HostFunction::new(tell));
        let client = Domain::new(&CLIENT, options).expect("a domain");
        let said = crate::common::said(&client, "increment", "plus_one");
        client
            .link("increment", &client, &said, Policy::default(), OnFailure::default())
            .expect("an import of its own");
        World::of(client.bind("itself").expect("an export"), vec![client, server], 0).placed()
    }

    /// A client whose callee has arguments on its stack and a result in memory; the place is the callee's.
    fn wide(server: Domain) -> World {
        let client = Domain::new(&CLIENT, DomainOptions::new().name("client")).expect("a domain");
        let said = crate::common::said(&client, "wide", "wide");
        client.link("wide", &server, &said, Policy::default(), OnFailure::default()).expect("an import");
        World::of(client.bind("call_wide").expect("an export"), vec![server, client], 1).placed()
    }

    /// A client whose import is bound when it first calls it.
    fn lazy(server: Domain, entry: &str) -> World {
        let registry = Registry::new();
        let export = Export::new("increment", Version::new(1, 0)).allow(Allow::Everyone);
        registry.export(&server, export).expect("an export");
        let options = DomainOptions::new().name("client").registry(&registry, Principal::nobody());
        let client = Domain::new(&CLIENT, options).expect("a domain");
        let place = client.bind::<extern "C" fn() -> i64>("where").expect("an export");
        let (call, call_back) = (client.bind(entry), server.bind::<Long>("call_back"));
        let (call, call_back) = (call.expect("an export"), call_back.expect("an export"));
        // The first call after a bind looks at handlers; the one that is followed step by step is not that.
        let first = place.call().expect("a place");
        // The record of a gate remembers another domain's place now.
        call_back.call(1).expect("a call");
        World {
            _registry: Some(registry),
            place: Some((place, first)),
            ..World::of(call, vec![client, server], 0)
        }
    }
}

fn say(result: Result<i64, CallError>) -> String {
    match result {
        Ok(value) => format!("returned {value}"),
        Err(CallError::Killed(_)) => "killed".to_owned(),
        Err(CallError::Panic(_)) => "ended".to_owned(),
        Err(CallError::Fault(fault)) if fault.kind() == FaultKind::Killed => "killed".to_owned(),
        Err(CallError::Fault(fault)) => format!("{:?}", fault.kind()),
        Err(error) => format!("{error:?}"),
    }
}

/// Calls of a handler's child, or in a function of the host's that a domain has called.
#[derive(Default)]
struct OfChild {
    /// The calling process is the child.
    is_here: Cell<bool>,
    /// Its number, in its parent.
    number: Cell<i32>,
    /// Of what is called in it: how often [`tell`] was.
    told: Cell<u32>,
    /// What is in the parent was called from the child.
    called: Cell<bool>,
}

thread_local! {
    static CHILD: OfChild = OfChild::default();
    /// What the host's function calls.
    static NESTED: RefCell<Vec<Called>> = const { RefCell::new(Vec::new()) };
}

/// Calls a domain of the parent's, in the child too, which is refused.
fn call_in_host(call: &Called) {
    CHILD.with(|child| {
        let is_childs = child.is_here.get();
        let refused = matches!(call.call(1), Err(CallError::Forked));
        child.called.set(child.called.get() || is_childs && !refused);
    });
}

/// What a domain calls after each call of itself. One of those may have been in progress when the child was made.
fn tell(_: &Domain, x: i64) -> i64 {
    CHILD.with(|child| {
        if child.is_here.get() {
            child.told.set(child.told.get() + 1);
            child.called.set(child.called.get() || child.told.get() > 1);
        }
    });
    x
}

/// Calls of a domain's, of each kind.
fn each_way(domain: &Domain) -> [Called; 3] {
    ["", "dynamic", "bare"].map(|way| Called::new(way, domain.bind("smash").expect("an export"), domain))
}

/// In the child of a handler: its parent's call is over, in which it was made, and it calls its parent's domains some more times.
fn end_as_child(calls: &[Called]) -> ! {
    (0..3).flat_map(|_| calls).for_each(call_in_host);
    host_sys::exit_now(CHILD.with(|child| i32::from(child.called.get())))
}

/// Of a domain of [`SERVER`].
fn options(name: &str) -> DomainOptions {
    let host = |_: &Domain, x: i64| {
        if LEAVES.replace(false) {
            host_sys::jump_out();
        }
        NESTED.with_borrow(|calls| calls.iter().for_each(call_in_host));
        if INVADING.load(Ordering::SeqCst) == ASKED {
            while INVADING.load(Ordering::SeqCst) == ASKED {
                std::thread::yield_now();
            }
        }
        x + 10
    };
    // (Whoever may reach something has descriptors.)
    let grants = Grants::default().connect("127.0.0.1:9").expect("an address");
    DomainOptions::new().name(name).grants(grants).gate("host", HostFunction::new(host))
}

thread_local! {
    /// What the host's function calls that has ended its call, and whether that call has been made.
    static AFTER_END: RefCell<Option<Function<Long>>> = const { RefCell::new(None) };
    static GOES_ON: Cell<bool> = const { Cell::new(false) };
}

/// Of a domain whose function of the host's ends the call that it is called in, and calls again before it returns.
fn ending_options() -> DomainOptions {
    let host = |_: &Domain, x: i64| {
        assert!(lockgate::end_call("the end"), "it is called by a domain");
        let after = AFTER_END.with_borrow(|after| after.as_ref().map(|function| function.call(1)));
        let is_refused = matches!(after, Some(Err(CallError::Panic(_))));
        GOES_ON.set(GOES_ON.get() || !is_refused);
        x
    };
    DomainOptions::new().name("server").gate("host", HostFunction::new(host))
}

/// What [`invade`] is to do, or has done.
static INVADING: AtomicI32 = AtomicI32::new(IDLE);
const IDLE: i32 = 0;
const ASKED: i32 = 1;
const TAKEN: i32 = 2;
const KEPT_OUT: i32 = 3;
/// By which function.
static INVADER: Mutex<Option<Function<Long>>> = Mutex::new(None);

/// A thread that takes a context of the domain's whenever it is asked for that, if it can be had.
fn invade() {
    loop {
        if INVADING.load(Ordering::SeqCst) != ASKED {
            std::thread::yield_now();
            continue;
        }
        let function = INVADER.lock().expect("no panic").clone().expect("a function");
        let done = match function.call(1) {
            Ok(0x5a5a_5a5a) => TAKEN,
            Err(error) if error.fault().is_some_and(|fault| fault.kind() == FaultKind::Gate) => KEPT_OUT,
            other => panic!("{other:?}"),
        };
        INVADING.store(done, Ordering::SeqCst);
    }
}

/// Returns when the watcher has looked at all threads some times: it ends an endless loop of this thread. `clock` is the loop, once
/// it was made; functions keep their domain.
fn watched(clock: &mut Option<Function<Long>>) {
    let loops = clock.get_or_insert_with(|| {
        let options = options("clock").time_limit(Duration::from_millis(3));
        crate::common::started(&SERVER, options).bind::<Long>("for_ever").expect("an export")
    });
    loops.call(0).expect_err("a limit");
}

/// True if thread `number` of this process is asleep in a futex system call.
fn waits(number: i32) -> bool {
    let file = format!("/proc/self/task/{number}/syscall");
    std::fs::read_to_string(file).is_ok_and(|text| text.starts_with(&format!("{} ", libc::SYS_futex)))
}

static FROM_HANDLERS: Mutex<Option<Called>> = Mutex::new(None);

thread_local! {
    /// The next call of the host's function jumps out of it.
    static LEAVES: Cell<bool> = const { Cell::new(false) };
    static HANDLED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Uses the thread's own storage and vector registers, and tries to enter a domain, which must be refused (rule R13); or jumps out of
/// the gate of a lazy import.
extern "C" fn handler(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if in_lazy_gate(context) {
        host_sys::jump_out();
    }
    let function = FROM_HANDLERS.try_lock().expect("nobody else is interested now");
    let refused = matches!(function.as_ref().expect("a function").call(1), Err(CallError::SignalHandler));
    HANDLED.set(Some(if refused { "refused" } else { "NOT refused" }));
}

/// Calls a domain, which is refused or works.
extern "C" fn call_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let function = FROM_HANDLERS.try_lock().expect("nobody else is interested now");
    HANDLED.set(Some(match function.as_ref().expect("a function").call(1) {
        Ok(0x5a5a_5a5a) => "entered",
        Err(CallError::SignalHandler) => "refused",
        Err(CallError::Panic(_)) => "as behind the end",
        _ => "WRONG",
    }));
}

/// Calls a function that fails, whose error tells of the calls around it.
extern "C" fn fail_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let function = FROM_HANDLERS.try_lock().expect("nobody else is interested now");
    HANDLED.set(Some(match function.as_ref().expect("a function").call(2) {
        Err(CallError::Fault(fault)) if fault.kind() == FaultKind::Ill => "failed",
        Err(CallError::SignalHandler) => "refused",
        _ => "WRONG",
    }));
}

/// Calls a function that its gate ends.
extern "C" fn end_in_gate(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let function = FROM_HANDLERS.try_lock().expect("nobody else is interested now");
    HANDLED.set(Some(match function.as_ref().expect("a function").call(1) {
        Err(CallError::Fault(fault)) if fault.kind() == FaultKind::Gate => "failed",
        Err(CallError::SignalHandler) => "refused",
        _ => "WRONG",
    }));
}

/// The same of a call in the middle of which another thread takes a context, or is kept out.
extern "C" fn invade_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let function = FROM_HANDLERS.try_lock().expect("nobody else is interested now");
    INVADING.store(ASKED, Ordering::SeqCst);
    let called = function.as_ref().expect("a function").call(1);
    HANDLED.set(Some(match (called, INVADING.swap(IDLE, Ordering::SeqCst)) {
        (Ok(11), TAKEN) => "taken",
        (Ok(11), KEPT_OUT) => "kept out",
        // (The other thread may be at it by now, with nobody in the middle of anything.)
        (Err(CallError::SignalHandler), _) => "refused",
        _ => "WRONG",
    }));
}

/// Calls by a pointer, on the alternate stack, and does not ask what came of it.
extern "C" fn forget_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let function = FROM_HANDLERS.try_lock().expect("nobody else is interested now");
    let Some(Called::Bare(function)) = function.as_ref() else { panic!("a raw function pointer") };
    call_pointer(function.as_ptr(), 1);
    HANDLED.set(Some("forgotten"));
}

/// Forks, by a system call that nobody hears of, and goes on in both. (Where no allocation is interrupted: the child has some to do.)
extern "C" fn fork_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    CHILD.with(|child| {
        if child.is_here.get() || !outside_of_rust(context) {
            return;
        }
        match host_sys::fork_here(true) {
            0 => {
                child.is_here.set(true);
                host_sys::end_in(60);
            }
            number => child.number.set(number),
        }
    });
}

/// Jumps out.
extern "C" fn jump_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if outside_of_rust(context) {
        host_sys::jump_out();
    }
}

/// The same, from the alternate stack.
extern "C" fn jump_off_alternate_stack(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    assert!(is_on_alternate_stack(), "a handler on another stack");
    jump_in_handler(signal, info, context);
}

thread_local! {
    /// The call is in progress, which [`jump_anywhere`] may leave.
    static ARMED: Cell<bool> = const { Cell::new(false) };
}

/// Jumps out of whatever of the call it interrupts, services too, as `siglongjmp` does.
extern "C" fn jump_anywhere(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if ARMED.replace(false) {
        host_sys::jump_out();
    }
}

/// Ends its thread, which unwinds whatever of the call it interrupts, services too.
extern "C-unwind" fn end_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if ARMED.replace(false) {
        mark();
        end_thread();
    }
}

/// One call on a thread of its own, which may end in it, and one on this thread afterwards.
fn ending_round(scenario: &str, going: &Receiver<()>) {
    let world = World::new(scenario);
    if !scenario.starts_with("lazy") {
        world.call.call(1).expect("a call");
    }
    let code = world.call.as_ptr();
    let ended = ends_on_thread(&|| {
        if !["lazy", "attach"].contains(&scenario) {
            call_pointer(code, 1);
        }
        println!("@ready {}", thread_number());
        going.recv().expect("the tracer says when");
        mark();
        ARMED.set(true);
        let result = call_and_end(code, 1);
        ARMED.set(false);
        mark();
        result
    });
    let first = ended.map_or("ended".to_owned(), |result| format!("returned {result}"));
    let next = say(world.call.call(1));
    let moved =
        world.place.as_ref().is_some_and(|(place, first)| place.call().is_ok_and(|now| now != *first));
    let slots = world.domains[0].usage().threads;
    println!(
        "@outcome {first}, then {next}{}{}",
        if moved { "; its stack has moved" } else { "" },
        if slots > 1 { "; it keeps its place" } else { "" }
    );
}

/// Stays until the tracer lets it go on.
extern "C" fn stay_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    stay();
}

/// The same, on the alternate stack.
extern "C" fn stay_on_alternate_stack(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    assert!(is_on_alternate_stack(), "a handler on another stack");
    stay();
}

/// Unwinds what it has interrupted: whatever that is, each frame leads to its caller, up to the module's code, a proxy, or the thread's start.
extern "C" fn unwind_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let end = end_of_unwinding();
    HANDLED.set(Some(if end == 0 || is_code(end) { "at an end" } else { "lost" }));
}

/// The same of a call that needs a service: the frames around that end in the module, and not before it.
extern "C" fn unwind_out_of_service(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let end = end_of_unwinding();
    let is_right = is_code(end) || end == 0 && !around_a_service(context);
    HANDLED.set(Some(if is_right { "at an end" } else { "lost" }));
}

/// Faults, which is the host's own affair.
extern "C" fn fault_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    host_sys::read_address_16();
    HANDLED.set(Some("skipped"));
}

thread_local! {
    /// What [`switch_in_handler`] goes on with.
    static OTHER: Cell<Option<Box<Coroutine>>> = const { Cell::new(None) };
}

/// Switches to another coroutine, which calls a domain, and is switched back to in a callback of that.
extern "C" fn switch_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if outside_of_rust(context) {
        let mut other = OTHER.take().expect("it has not run yet");
        other.resume();
        OTHER.set(Some(other));
    }
}

thread_local! {
    /// The call is in progress, out of which [`switch_anywhere`] switches.
    static SWITCHING: Cell<bool> = const { Cell::new(false) };
}

/// The same, in what services of Rust's a handler may interrupt, too.
extern "C" fn switch_anywhere(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if SWITCHING.replace(false) {
        let mut other = OTHER.take().expect("it has not run yet");
        other.resume();
        OTHER.set(Some(other));
    }
}

/// What another thread finds of what a service has done in the wrong domain: a time that was told, a context that was taken.
fn untouched(domain: &Domain) -> String {
    let [told, turn] = ["was_told", "turn"].map(|name| domain.bind::<Long>(name).expect("an export"));
    std::thread::scope(|scope| {
        let look = scope.spawn(move || format!("{}, {}", say(told.call(1)), say(turn.call(1))));
        look.join().expect("no panic")
    })
}

/// One call of a coroutine's, in which the signal comes, and what comes of both coroutines' calls. On a thread of its own: it may call no domain
/// afterwards. Nothing separates the stacks, so that the second one's call is taken for the first one's caller's.
fn switching_round(scenario: &str, going: &Receiver<()>) {
    let [low, high] = host_sys::adjoining_stacks();
    let world = World::new(scenario);
    let give_way = HostFunction::new(|_: &Domain, x: i64| {
        host_sys::give_way();
        x
    });
    let domain =
        Domain::new(&SERVER, DomainOptions::new().name("other").gate("host", give_way)).expect("a domain");
    let other = domain.bind::<Long>("call_back").expect("an export");
    domain.bind::<Long>("turn").expect("an export").call(1).expect("a call");
    domain.bind::<Long>("smash").expect("an export").call(1).expect("a call");
    if !scenario.starts_with("lazy") {
        world.call.call(1).expect("a call");
    }
    let told: [Rc<Cell<Option<String>>>; 2] = Default::default();
    let telling = |index: usize, call: Function<Long>| {
        let told = told[index].clone();
        move || {
            SWITCHING.set(index == 0);
            let result = call.call(1);
            SWITCHING.set(false);
            told.set(Some(say(result)));
        }
    };
    let mut first = Coroutine::new(low, telling(0, world.call.clone()));
    OTHER.set(Some(Coroutine::new(high, telling(1, other))));
    println!("@ready {}", thread_number());
    going.recv().expect("the tracer says when");
    off_alternate_stack();
    mark();
    first.resume();
    mark();
    unblock();
    let [first, second] = told;
    let mut other = OTHER.take().expect("it is nowhere else");
    let ended = second.take().or_else(|| {
        let begun = other.has_begun();
        begun.then(|| other.resume());
        second.take()
    });
    let first = first.take().expect("the first is over");
    println!("@outcome {first}; {}; {}", ended.as_deref().unwrap_or("none"), untouched(&domain));
}

/// Back to who resumed the coroutine whose call it interrupts.
extern "C" fn give_way_in_handler(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    if outside_of_rust(context) {
        host_sys::give_way();
    }
}

/// A host function of one coroutine's call gives way, and another coroutine, whose stack lies below, makes a call, in which the signal comes.
/// Its handler gives way, and the first call goes on, deeper, to the next host function; then the second one's, and the first one's. If signals
/// come `twice`, the first one does in the first call, which gives way there, and its first host function does not.
fn going_back_round(going: &Mutex<Receiver<()>>, twice: bool) {
    // Once for all: later mappings, and so stacks of threads, lie below.
    static STACKS: LazyLock<[u64; 2]> = LazyLock::new(|| host_sys::coroutine_stacks(0));
    let [low, high] = *STACKS;
    let round = || {
        let calls = AtomicI32::new(0);
        let give_way = HostFunction::new(move |_: &Domain, x: i64| {
            if calls.fetch_add(1, Ordering::SeqCst) > 0 || !twice {
                host_sys::give_way();
            }
            x
        });
        let domain = Domain::new(&SERVER, DomainOptions::new().name("server").gate("host", give_way))
            .expect("a domain");
        let bind = |name| domain.bind::<Long>(name).expect("an export");
        let (goes_deeper, smash) = (bind("go_deeper"), bind("smash"));
        smash.call(1).expect("a call");
        let told: [Rc<Cell<Option<String>>>; 2] = Default::default();
        let [one, other] = told.clone();
        let mut first = Coroutine::new(high, move || {
            if twice {
                mark();
            }
            one.set(Some(say(goes_deeper.call(5))));
        });
        let mut second = Coroutine::new(low, move || {
            mark();
            let result = smash.call(1);
            mark();
            other.set(Some(say(result)));
        });
        println!("@ready {}", thread_number());
        going.lock().expect("no panic").recv().expect("the tracer says when");
        off_alternate_stack();
        let [one, other] = told.each_ref().map(|cell| {
            move || {
                let said = cell.take();
                cell.set(said.clone());
                said
            }
        });
        first.resume();
        second.resume();
        while one().is_none() || other().is_none() {
            if one().is_none() {
                first.resume();
            }
            if other().is_none() {
                second.resume();
            }
        }
        unblock();
        println!("@outcome {}; {}", one().expect("it is over"), other().expect("it is over"));
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(256 << 20);
        thread.spawn_scoped(scope, round).expect("a thread").join().expect("no panic");
    });
}

#[test]
#[ignore = "traced by the other tests"]
fn victim() {
    println!("@begun");
    let scenario = std::env::var(SCENARIO).expect("a scenario");
    let (scenario, way) = scenario.split_once('/').unwrap_or((&scenario, ""));
    let (go, going) = channel();
    let world: Mutex<Option<World>> = Mutex::new(None);
    let rivals: Mutex<Option<JoinHandle<String>>> = Mutex::new(None);
    let own = std::env::var(HANDLER).ok();
    let own = own.as_deref();
    let on_alternate = own.is_some_and(|own| own.ends_with("the alternate stack"));
    let handle = match own {
        None => handler as Handler,
        Some("calls" | "calls another" | "asks" | "invites" | "looks") => call_in_handler,
        Some("fails") => fail_in_handler,
        Some("fails in a gate") => end_in_gate,
        Some("invades") => invade_in_handler,
        Some("forgets") => forget_in_handler,
        Some("forks") => fork_in_handler,
        Some("jumps") => jump_in_handler,
        Some("jumps anywhere") => jump_anywhere,
        Some("stays") => stay_in_handler,
        Some("jumps off the alternate stack") => jump_off_alternate_stack,
        Some("stays on the alternate stack") => stay_on_alternate_stack,
        Some("ends") => ending_handler(end_in_handler),
        Some("faults") => fault_in_handler,
        Some("unwinds") => unwind_in_handler,
        Some("unwinds out of a service") => unwind_out_of_service,
        Some("switches") => switch_in_handler,
        Some("switches anywhere") => switch_anywhere,
        Some("gives way" | "gives way twice") => give_way_in_handler,
        Some(other) => panic!("no handler {other}"),
    };
    let another = || Domain::new(&SERVER, options("another")).expect("a domain");
    let another = matches!(own, Some("calls another" | "forks")).then(another);
    install_handler(handle);
    host_sys::skip_faulting_loads();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut clock = None;
            for order in std::io::stdin().lines() {
                match order.expect("text").as_str() {
                    "kill" => {
                        let world = world.lock().expect("no panic");
                        let world = world.as_ref().expect("a call is going on");
                        world.domains[world.doomed].kill();
                        if scenario == "for_ever" {
                            watched(&mut clock);
                        }
                        println!("@killed");
                    }
                    "own" => {
                        let send = {
                            let world = world.lock().expect("no panic");
                            let world = world.as_ref().expect("a call is going on");
                            world.domains[0].bind::<Long>("send_own").expect("an export")
                        };
                        assert_eq!(send.call(1).expect("it is sent"), 0);
                        println!("@own");
                    }
                    "late" => {
                        let world = world.lock().expect("no panic");
                        let world = world.as_ref().expect("a call is going on");
                        println!("@late {}", world.domains[0].threads_inside());
                    }
                    "watch" => {
                        watched(&mut clock);
                        println!("@watched");
                    }
                    "raw" => {
                        if !on_alternate {
                            off_alternate_stack();
                        }
                        println!("@raw");
                    }
                    "rival" => {
                        let call = world
                            .lock()
                            .expect("no panic")
                            .as_ref()
                            .expect("a call is going on")
                            .call
                            .clone();
                        let (tell, told) = channel();
                        let rival = std::thread::spawn(move || {
                            tell.send(thread_number()).expect("the number is waited for");
                            say(call.call(5))
                        });
                        let number = told.recv().expect("the rival lives");
                        while !rival.is_finished() && !waits(number) && !HOLDS.load(Ordering::SeqCst) {
                            std::thread::yield_now();
                        }
                        *rivals.lock().expect("no panic") = Some(rival);
                        println!("@rival");
                    }
                    _ => go.send(()).expect("the thread listens"),
                }
            }
            std::process::exit(0); // the tracer is gone
        });
        if own == Some("invades") {
            scope.spawn(invade);
        }
        while own == Some("ends") {
            ending_round(scenario, &going);
        }
        if own.is_some_and(|own| own.starts_with("gives way")) {
            let going = Mutex::new(going);
            loop {
                going_back_round(&going, own == Some("gives way twice"));
            }
        }
        if own.is_some_and(|own| own.starts_with("switches")) {
            let going = Mutex::new(going);
            let round = || switching_round(scenario, &going.lock().expect("no panic"));
            loop {
                std::thread::scope(|scope| scope.spawn(round).join()).expect("no panic");
            }
        }
        loop {
            let new = World::new(scenario);
            let call = Called::new(way, new.call.clone(), &new.domains[0]);
            let smashed = another.as_ref().unwrap_or(&new.domains[0]);
            let name = match own {
                Some("invades") => "deep",
                Some("invites") => "invite",
                Some("fails") => "fall",
                Some("looks") => "is_below",
                Some("asks") => "ask_and_smash",
                Some("fails in a gate") => "jump_nowhere_later",
                _ => "smash",
            };
            let smash = || Called::Typed(smashed.bind(name).expect("an export"));
            *FROM_HANDLERS.lock().expect("no panic") = Some(match own {
                Some(own) if own != "forgets" && scenario != "lock" => smash(),
                _ if way == "bare" => call.clone(),
                _ => Called::Typed(new.call.clone()), // (A result in a frame is allocated.)
            });
            if own == Some("invades") {
                *INVADER.lock().expect("no panic") = Some(new.domains[0].bind("invade").expect("an export"));
            }
            if own.is_some() && scenario != "lock" {
                smash().call(1).expect("a call");
            }
            let mut childs = Vec::new();
            if own == Some("forks") {
                childs.extend(new.domains.iter().chain(&another).flat_map(each_way));
                childs.iter().for_each(|call| assert_eq!(call.call(1).expect("a call"), 0x5a5a_5a5a));
                NESTED.set(childs.clone());
            }
            *world.lock().expect("no panic") = Some(new);
            if !scenario.starts_with("kill")
                && scenario != "for_ever"
                && !scenario.starts_with("lazy")
                && !["attach", "ended"].contains(&scenario)
            {
                call.call(1).err().iter().for_each(|error| assert!(error.fault().is_some(), "{error}"));
            }
            FIRST.store(thread_number(), Ordering::SeqCst);
            HOLDS.store(false, Ordering::SeqCst);
            CALLING.store(true, Ordering::SeqCst);
            println!("@ready {}", thread_number());
            going.recv().expect("the tracer says when");
            if own.is_some_and(|own| {
                !["forgets", "forks", "unwinds", "unwinds out of a service"].contains(&own) && !on_alternate
            }) {
                off_alternate_stack();
            }
            if scenario == "repair" {
                let left = host_sys::jumped_out(|| {
                    LEAVES.set(true);
                    let _ = call.call(1);
                });
                assert!(left, "the host's function has jumped");
            }
            mark();
            let mut result = None;
            let jumped = host_sys::jumped_out(|| {
                ARMED.set(true);
                result = Some(call.call(1));
                ARMED.set(false);
            });
            if CHILD.with(|child| child.is_here.get()) {
                end_as_child(&childs);
            }
            mark();
            let left = if jumped { host_sys::left_behind(libc::SIGUSR1) } else { "" };
            unblock();
            CALLING.store(false, Ordering::SeqCst);
            let detached = match &result {
                Some(Err(CallError::Detached { .. })) => {
                    Some(world.lock().expect("no panic").as_ref().expect("a world").came_of_it())
                }
                _ => None,
            };
            let handled = HANDLED.take().map(|came_of_it| format!("; handled, {came_of_it}"));
            let next = call.call(1);
            let next = say(next);
            let next = next.strip_prefix("returned ").unwrap_or(&next);
            let rival = rivals.lock().expect("no panic").take();
            let rival = rival.map(|rival| format!("; the rival: {}", rival.join().expect("no panic")));
            let child = CHILD.with(|child| child.number.take());
            let child = (child != 0).then(|| match host_sys::wait_for(child) {
                true => "; its child was refused",
                false => "; its child was NOT refused",
            });
            let more = [handled.as_deref(), rival.as_deref(), child].map(Option::unwrap_or_default).concat();
            let goes_on = if GOES_ON.take() { "; a call was made behind the end" } else { "" };
            let more = more + left + goes_on;
            let result = match (jumped, detached) {
                (true, _) => "jumped".to_owned(),
                (false, Some(detached)) => detached,
                (false, None) => say(result.expect("the call came back")),
            };
            let world = world.lock().expect("no panic");
            let moved = world
                .as_ref()
                .and_then(|world| world.place.as_ref())
                .is_some_and(|(place, first)| place.call().is_ok_and(|now| now != *first));
            println!(
                "@outcome {result}, then {next}{more}{}",
                if moved { "; its stack has moved" } else { "" }
            );
        }
    });
}
