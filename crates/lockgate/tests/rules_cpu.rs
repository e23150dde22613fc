//! Rules R17–R19: processor state that a domain leaves, shows or needs.

use crate::common::{Guest, host_sys};
use lockgate::{Domain, DomainOptions, HostFunction, Policy};

const SOURCE: &str = "
# Eight values on the register stack, an unmasked division by zero pending, another control word.
function dirty
    pending_x87
    ret
# The register stack full, the control word untouched.
function full
    fill_x87
    ret
# Another rounding, every exception masked.
function rounding
    sets_x87_control 0x0c7f
    ret
# A division by zero, under whatever control word there is.
function divide
    fldz
    fld1
    fdiv %st(1),%st
    ret
    asks_host dirty_then_host, dirty
    asks_host full_then_host, full
    asks_host divide_then_host, divide
# The control word that the domain set is its own when the host's function has returned.
function control_survives
    begins_frame
    fninit
    movw $0x0c7f,-OFF(%rsp)
    fldcw -OFF(%rsp)
    call *%gs:0x11080
    fnstcw -OFF(%rsp)
    movzwl -OFF(%rsp),%eax
    fninit
    ends_frame_and_returns
# Low half of the last x87 instruction's address, and of its data.
function environment
    fnstenv -64-OFF(%rsp)
    mov -64+12-OFF(%rsp),%eax
    mov -64+20-OFF(%rsp),%ecx
    or %ecx,%eax
    ret
# The same after a call of the host.
function environment_after_host
    begins_frame
    call *%gs:0x11080
    fnstenv -64-OFF(%rsp)
    mov -64+12-OFF(%rsp),%eax
    mov -64+20-OFF(%rsp),%ecx
    or %ecx,%eax
    ends_frame_and_returns
function mxcsr
    sets_mxcsr 0xffc0
    ret
    asks_host mxcsr_then_host, mxcsr
# The MXCSR that the domain set is its own when the host's function has returned.
function mxcsr_survives
    begins_frame
    call mxcsr
    call *%gs:0x11080
    stmxcsr -OFF(%rsp)
    mov -OFF(%rsp),%eax
    ends_frame_and_returns
    fills_upper_halves
";

/// A domain whose import does `host`.
fn domain(host: impl Fn() + Send + Sync + 'static) -> Domain {
    let host = HostFunction::new(move |_: &Domain| host());
    Guest::assembly(SOURCE).gate("void host(void)").domain_with(DomainOptions::new().gate("host", host))
}

/// Calls an export for a host that asks for its state and nothing else; what the export leaves in eax.
fn call(domain: &Domain, name: &str) -> u32 {
    domain.bind_with::<extern "C" fn() -> u32>(name, Policy::INTEGRITY).unwrap().call().unwrap()
}

/// Panics unless the x87 works as if nobody else had used it: no exception fires, the register stack is empty.
fn use_x87() {
    assert_eq!(host_sys::x87_sum(), 36.0);
}

/// R17: whatever the module left in the x87, the host's next instruction finds it clean. Red without `.Lreset_x87`
/// (the control word stays), or without `emms` (the register stack stays).
#[test]
fn r17_the_x87_is_clean_after_a_call() {
    let domain = domain(|| ());
    let before = host_sys::cpu_state();
    for name in ["dirty", "full", "rounding", "divide"] {
        call(&domain, name);
        use_x87();
        assert_eq!(host_sys::cpu_state(), before, "{name}");
    }
}

/// R17 for a host that unmasks exceptions itself: one that the module left pending does not fire in the proxy. Red
/// without the test of the masks before `emms`.
#[test]
fn r17_pending_exceptions_do_not_fire_under_an_unmasked_control_word() {
    let domain = domain(use_x87);
    const DIVISION_UNMASKED: u16 = 0x037b;
    host_sys::with_x87_control(DIVISION_UNMASKED, || {
        for name in ["divide", "divide_then_host"] {
            call(&domain, name);
            use_x87();
            assert_eq!(host_sys::cpu_state().1, DIVISION_UNMASKED, "{name}");
        }
    });
}

/// R17 at gates. Red without `.Lgate_cpu`.
#[test]
fn r17_the_x87_is_clean_in_host_functions() {
    let before = host_sys::cpu_state();
    let domain = domain(move || {
        use_x87();
        assert_eq!(host_sys::cpu_state(), before);
    });
    for name in ["dirty_then_host", "full_then_host"] {
        call(&domain, name);
    }
    assert_eq!(call(&domain, "control_survives"), 0x0c7f);
}

/// R17 for MXCSR: the host's, in host functions and after the call; and the domain's own again after a host
/// function. Red without `ldmxcsr` in proxy or gate.
#[test]
fn r17_mxcsr_is_the_hosts() {
    let before = host_sys::cpu_state();
    let domain = domain(move || assert_eq!(host_sys::cpu_state(), before));
    for name in ["mxcsr", "mxcsr_then_host"] {
        call(&domain, name);
        assert_eq!(host_sys::cpu_state(), before, "{name}");
    }
    assert_eq!(call(&domain, "mxcsr_survives"), 0xffc0);
}

/// R17 for the upper halves of vector registers, which make the host's SSE slow while they are in use. Red without
/// `vzeroupper`.
#[test]
fn r17_upper_vector_halves_are_clean() {
    if !std::is_x86_feature_detected!("avx2") {
        support::skipped(
            "r17_upper_vector_halves_are_clean",
            "this processor lacks AVX2, and has no upper halves, or none that the module can set",
        );
        return;
    }
    let domain = domain(|| ());
    let upper_halves = domain.bind_with::<extern "C" fn()>("upper_halves", Policy::INTEGRITY).unwrap();
    upper_halves.call().unwrap();
    assert!(!host_sys::upper_vector_halves_are_used());
}

/// R18: fnstenv does not show where the host's last x87 instruction or its data was, at the start of a call or after
/// one of the host's functions. Red without `fninit` on the way in.
#[test]
fn r18_the_x87_environment_shows_nothing_of_the_host() {
    let domain = domain(use_x87);
    for name in ["environment", "environment_after_host"] {
        use_x87();
        assert_eq!(call(&domain, name), 0, "{name}: an address of the host's shows");
    }
}

const FLAGS: &str = r#"
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
void host(void);
static jmp_buf back;
static void handler(int signal) { (void)signal; }
static void leave(int how) {
    signal(SIGUSR1, handler);
    switch (how) {
    case 0: host(); break;
    case 1: getppid(); break;
    case 2: if (!setjmp(back)) longjmp(back, 1); break;
    case 3: raise(SIGUSR1); break;
    }
}
int raised(int how) {
    volatile long double zero = 0, one = 1;
    feclearexcept(FE_ALL_EXCEPT);
    one = one / zero;
    leave(how);
    return fetestexcept(FE_ALL_EXCEPT);
}
int clear(int how) {
    feclearexcept(FE_ALL_EXCEPT);
    leave(how);
    return fetestexcept(FE_ALL_EXCEPT);
}
"#;

/// What the module's x87 instructions have raised stays over functions of the host, system calls, jumps and handlers, and what the host's have is
/// not to be seen. Red if R18's `fninit` is all that the gate does.
#[test]
fn r18_flags_of_exceptions_are_the_modules() {
    let domain = Guest::c(FLAGS)
        .gate("void host(void)")
        .export("int raised(int)")
        .export("int clear(int)")
        .domain_with(
            DomainOptions::new().gate("host", HostFunction::new(|_: &Domain| host_sys::divide_on_x87())),
        );
    for policy in [Policy::MUTUAL_DISTRUST, Policy::INTEGRITY] {
        for how in 0..4 {
            for (name, expected) in [("raised", 4), ("clear", 0)] {
                let function = domain.bind_with::<extern "C" fn(i32) -> i32>(name, policy).unwrap();
                assert_eq!(function.call(how).unwrap(), expected, "{policy}: {name}, {how}");
            }
        }
    }
}

/// R19: what counts is what gs is: host code that changed it, between calls or in a host function, does no harm,
/// whether gs then points nowhere, to memory of the host's, to another window, or to one that is gone. Red if the
/// proxy or the gate trusts a remembered value.
#[test]
fn r19_gs_is_compared_with_the_hardware() {
    let host_memory = vec![0x55_u8; 1 << 20];
    let other = Guest::c("int f(void) { return 0; }").domain();
    let gone = Guest::c("int f(void) { return 0; }").domain().base();
    let wrong = [0, 0x1234_5000, host_memory.as_ptr() as u64, other.base(), gone];
    let round = std::sync::atomic::AtomicUsize::new(0);
    let meddle = HostFunction::new(move |_: &Domain| {
        host_sys::set_gs(wrong[round.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % wrong.len()]);
    });
    let domain = Guest::c(
        "extern void host(void);
         static int n;
         static int *volatile at = &n;
         int count(void) { return ++*at; }
         int meddle(void) { ++*at; host(); return ++*at; }",
    )
    .gate("void host(void)")
    .domain_with(DomainOptions::new().gate("host", meddle));
    let count = domain.bind::<extern "C" fn() -> i32>("count").unwrap();
    let meddle = domain.bind::<extern "C" fn() -> i32>("meddle").unwrap();
    for (round, gs) in (0..).zip(wrong) {
        assert_eq!(count.call().unwrap(), 4 * round + 1);
        host_sys::set_gs(gs);
        assert_eq!(count.call().unwrap(), 4 * round + 2, "{gs:#x}");
        assert_eq!(meddle.call().unwrap(), 4 * round + 4, "{gs:#x}");
    }
}
