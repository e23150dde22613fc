//! `resume`, gate slot 1 (docs/returns.md): where a module may go on otherwise than by returning, and where not.
//!
//! The guests are assembly, so that each state of rsp is the test's own; what the toolchain makes of setjmp and longjmp is tested with
//! the C library.

use crate::common::watchdog;
use lockgate::{CallError, Domain, DomainOptions, FaultKind, HostFunction, Module};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Long = extern "C" fn(i64) -> i64;
type Longs = extern "C" fn(i64, i64, i64) -> i64;

/// What the tests call. `landing_N` is the label of functions whose frames are S(N) there.
const GUEST: &str = "
# A function that calls `by`, which goes to `label` with this frame's address.
.macro jumps name, label, by
function \\name
    lea -24(%rsp),%rsp
    mov %rsp,%rsi
    lea \\label(%rip),%rdx
    call \\by
    ud2
.endm
# dig(depth, address, label): calls itself so often, and jumps to the label with rax = 7.
function dig
    lea -8(%rsp),%rsp
    test %rdi,%rdi
    jne 1f
    mov %rsi,%r11
    mov %rdx,%r10
    mov $7,%eax
    resume_gate
1:  dec %rdi
    call dig
    lea 8(%rsp),%rsp
    ret

# The outermost function's frame, from `depth` calls deeper.
    jumps jump, landing_24, dig
function landing_24
    lea -24(%rsp),%rsp
    lea 100(%rax),%rax
    # The address is one of the data stack, and the frame's own: it is where rsp was.
    lea -OFF(%rsp),%rcx
    sub %r11,%rcx
    add %rcx,%rax
    lea 24(%rsp),%rsp
    ret

# The same of one function further in, which the outer one goes on behind.
function jump_between
    lea -40(%rsp),%rsp
    call jump
    add $1000,%rax
    lea 40(%rsp),%rsp
    ret

# Frames that were computed lie between, and the landing has one.
function jump_computed
    lea -16(%rsp),%rsp
    lea -0x100(%rsp),%r11
    open_frame
    lea -32(%rsp),%rsp
    mov %rsp,%rsi
    lea landing_computed(%rip),%rdx
    call dig_computed
    ud2
landing_computed: endbr64
    lea -16(%rsp),%rsp
    mov %r11,%rcx
    lea 32(%r11),%r11
    open_frame
    lea -32(%rsp),%rsp
    # Where it was.
    lea -OFF(%rsp),%rdx
    sub %rcx,%rdx
    lea 200(%rax,%rdx),%rax
    mov 32(%rsp),%rsp
    lea 16(%rsp),%rsp
    ret
function dig_computed
    lea -8(%rsp),%rsp
    mov %rsp,%r11
    open_frame
    call dig
    ud2

# Two of one function are in progress: the address says which. jump_inner(depth, ...): of the inner one; it is left then, and the outer
# one returns.
function twice
    lea -8(%rsp),%rsp
    mov %rsp,-OFF(%rsp)
    call jump
    lea 1(%rax),%rax
    lea 8(%rsp),%rsp
    ret

# Whatever the arguments say.
function anything
    lea -56(%rsp),%rsp
    call dig
    lea 56(%rsp),%rsp
    ret
function nothing
    xor %eax,%eax
    ret

# place(): the address of the caller's return word.
function place
    mov %rsp,%rax
    ret
# label(): the address of a label.
function label
    lea landing_label(%rip),%rax
    ret
landing_label: endbr64
    ret

# The registers that a function keeps for its caller, in a frame of 64 bytes.
.macro saves_registers
    lea -64(%rsp),%rsp
    mov %rbx,8-OFF(%rsp)
    mov %rbp,16-OFF(%rsp)
    mov %r12,24-OFF(%rsp)
    mov %r13,32-OFF(%rsp)
    mov %r14,40-OFF(%rsp)
    mov %r15,48-OFF(%rsp)
.endm
.macro restores_registers_and_returns
    mov 8-OFF(%rsp),%rbx
    mov 16-OFF(%rsp),%rbp
    mov 24-OFF(%rsp),%r12
    mov 32-OFF(%rsp),%r13
    mov 40-OFF(%rsp),%r14
    mov 48-OFF(%rsp),%r15
    vzeroupper
    lea 64(%rsp),%rsp
    ret
.endm
.macro fills_vectors
    .irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vpcmpeqb %ymm\\number,%ymm\\number,%ymm\\number
    .endr
.endm
.macro ors_if_vectors_are_not_zeros bit
    .irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vptest %ymm\\number,%ymm\\number
    jz 1f
    or \\bit,%rax
1:
    .endr
.endm
# Every general register but r10 and r11 is what it was, and vectors are zeros: 0, or what is not.
function keep
    saves_registers
    call set
    ud2
landing_64: endbr64
    lea -64(%rsp),%rsp
    .irp register,rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r12,r13,r14,r15
    sub $0x11,%\\register
    or %\\register,%rax
    .endr
    ors_if_vectors_are_not_zeros $0x100
    restores_registers_and_returns
function set
    fills_vectors
    lea 8(%rsp),%r11
    lea landing_64(%rip),%r10
    .irp register,rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r12,r13,r14,r15
    mov $0x11,%\\register
    .endr
    resume_gate
    ud2

# Every register but rax, rcx and r11 is what it was before a system call, vectors as well: 0, or what is not.
.macro makes_call gate
    saves_registers
    fills_vectors
    .irp register,rbx,rdx,rsi,rdi,rbp,r8,r9,r10,r12,r13,r14,r15
    mov $0x11,%\\register
    .endr
    mov $39,%eax # getpid
    \\gate
    mov $0,%eax
    jrcxz 1f
    or $0x100,%rax
1:  or %r11,%rax
    .irp register,rbx,rdx,rsi,rdi,rbp,r8,r9,r10,r12,r13,r14,r15
    sub $0x11,%\\register
    or %\\register,%rax
    .endr
.endm
function keep_over_call
    makes_call syscall_gate
    .irp number,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
    vpmovmskb %ymm\\number,%ecx
    not %ecx
    or %rcx,%rax
    .endr
    restores_registers_and_returns

# The same of one that is made as a call, but that vectors are zeros.
function keep_as_call
    makes_call syscall_as_call_gate
    ors_if_vectors_are_not_zeros $0x1000
    restores_registers_and_returns

# Their control words are what they were, and the x87 stack is empty.
function keep_words_as_call
    lea -8(%rsp),%rsp
    movl $0x1e80,-OFF(%rsp)
    ldmxcsr -OFF(%rsp)
    movl $0x37e,-OFF(%rsp)
    fldcw -OFF(%rsp)
    fld1
    mov $39,%eax
    syscall_as_call_gate
    stmxcsr -OFF(%rsp)
    fnstcw 4-OFF(%rsp)
    mov -OFF(%rsp),%rax
    fldz
    fstp %st(0)
    lea 8(%rsp),%rsp
    ret

# The control words of x87 and SSE too: what they are at the landing.
function keep_words
    lea -8(%rsp),%rsp
    movl $0x1f00,-OFF(%rsp)
    ldmxcsr -OFF(%rsp)
    movl $0x27f,-OFF(%rsp)
    fldcw -OFF(%rsp)
    mov %rsp,%rsi
    lea landing_words(%rip),%rdx
    call dig
    ud2
landing_words: endbr64
    lea -8(%rsp),%rsp
    stmxcsr -OFF(%rsp)
    fnstcw 4-OFF(%rsp)
    mov -OFF(%rsp),%rax
    lea 8(%rsp),%rsp
    ret

# around(address): calls the host, then jumps within itself: what lies between is over.
function around
    lea -24(%rsp),%rsp
    mov %rsp,%rdi
    call *%gs:0x11080
    mov $2,%edi
    mov %rsp,%rsi
    lea landing_24(%rip),%rdx
    call dig
    ud2

# As deep as the stack is: down(depth, address, label).
function down
    dec %rdi
    jle 1f
    call down
    ret
1:  mov %rsi,%r11
    mov %rdx,%r10
    mov $7,%eax
    resume_gate
    ud2
    jumps jump_far, landing_24, down
# For ever.
function jump_for_ever
    lea -24(%rsp),%rsp
    mov %rdi,8-OFF(%rsp)
    jmp 1f
landing_again: endbr64
    lea -24(%rsp),%rsp
1:  mov 8-OFF(%rsp),%rdi
    mov %rsp,%rsi
    lea landing_again(%rip),%rdx
    call down
    ud2
# jump_many(count, depth)
function jump_many
    lea -40(%rsp),%rsp
    mov %rdi,8-OFF(%rsp)
    mov %rsi,16-OFF(%rsp)
    jmp 1f
landing_many: endbr64
    lea -40(%rsp),%rsp
1:  decq 8-OFF(%rsp)
    js 2f
    mov 16-OFF(%rsp),%rdi
    mov %rsp,%rsi
    lea landing_many(%rip),%rdx
    call dig
2:  lea 40(%rsp),%rsp
    ret
trap: ud2
";

fn module() -> Arc<Module> {
    let bytes = crate::bare::module(GUEST, "16 long host(long)\n");
    Module::from_bytes(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

fn options(host: impl Fn(i64) -> i64 + Send + Sync + 'static) -> DomainOptions {
    DomainOptions::new().gate("host", HostFunction::new(move |_: &Domain, x: i64| host(x)))
}

fn domain() -> Domain {
    Domain::new(&module(), options(|x| x)).expect("a domain")
}

fn call(domain: &Domain, name: &str, x: i64) -> Result<i64, CallError> {
    domain.bind::<Long>(name).expect("an export").call(x)
}

/// Why the call ended.
fn reason(result: Result<i64, CallError>) -> String {
    let error = result.expect_err("it is refused");
    let fault = error.fault().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(fault.kind(), FaultKind::Gate, "{fault}");
    fault.reason().to_owned()
}

#[test]
fn control_goes_on_in_the_function_that_the_address_lies_in() {
    let domain = domain();
    for depth in [0, 1, 10, 1000] {
        for (name, result) in [("jump", 107), ("jump_between", 1107), ("twice", 108), ("jump_computed", 207)]
        {
            assert_eq!(call(&domain, name, depth).expect(name), result, "{name}, {depth} calls deeper");
        }
    }
}

/// The stack is what it was: what is called later finds its returns.
#[test]
fn nothing_is_left_behind() {
    let domain = domain();
    let place = call(&domain, "place", 0).expect("a place");
    for _ in 0..1000 {
        assert_eq!(call(&domain, "jump_between", 20).expect("a jump"), 1107);
        assert_eq!(call(&domain, "place", 0).expect("a place"), place);
    }
}

#[test]
fn jumps_keep_all_but_vectors_and_system_calls_these_too() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return support::skipped("jumps_keep_all_but_vectors_and_system_calls_these_too", "no AVX2");
    }
    let domain = domain();
    assert_eq!(call(&domain, "keep", 0).expect("a jump"), 0);
    assert_eq!(call(&domain, "keep_over_call", 0).expect("a system call"), 0);
    assert_eq!(call(&domain, "keep_as_call", 0).expect("a system call"), 0);
    // (Words of their own: a record still has those of the gate before.)
    for (function, expected) in [("keep_words", 0x27f_0000_1f00), ("keep_words_as_call", 0x37e_0000_1e80)] {
        let words = call(&domain, function, 1).expect("a jump, or a system call") as u64;
        assert_eq!(words & 0xffff_0000_ffff, expected, "{function}: {words:#x}");
    }
}

/// What is no label of the domain's own code is refused, wherever it lies. Red if any byte of the window, or of the code, will do.
#[test]
fn only_labels_are_gone_to() {
    let domain = domain();
    let at = call(&domain, "place", 0).expect("a place");
    let label = call(&domain, "label", 0).expect("a label");
    let anything = domain.bind::<Longs>("anything").expect("an export");
    assert_eq!(anything.call(3, at - 8, label).expect("a label"), 7);
    let end = module_end();
    let base = domain.base() as i64;
    let thunk = (lockgate_abi::window::THUNKS + lockgate_abi::gate::CALLBACK_THUNKS) as i64;
    for (what, at_label) in [
        ("behind a label", label + 4),
        ("before a label", label - 1),
        ("a callback's thunk", base + thunk),
        ("a gate's thunk", base + lockgate_abi::window::THUNKS as i64),
        ("the header", base + lockgate_abi::window::HEADER as i64),
        ("the null page", base),
        ("the last bytes of the code", base + end - 2),
        ("the first byte behind it", base + end),
        ("the stack", at),
        ("the window's end", base + 0xffff_ffff),
    ] {
        assert_eq!(
            reason(anything.call(3, at - 8, at_label)),
            "a jump (longjmp) to something that is no label of the module's code",
            "{what}"
        );
    }
    // Only the low 32 bits count, which cannot lead out of the window.
    assert_eq!(anything.call(3, at - 8, label - base).expect("an offset"), 7);
    assert_eq!(anything.call(3, at - 8, label - base - (1 << 32)).expect("an offset"), 7);
}

/// Window offset of one past the code.
fn module_end() -> i64 {
    let bytes = crate::bare::module(GUEST, "16 long host(long)\n");
    let parsed = lockgate_verify::Module::parse(&bytes).expect("a module");
    (lockgate_abi::window::IMAGE + parsed.segments[0].size) as i64
}

/// Addresses in frames that are not there any more, in those of an earlier call, and on other stacks.
#[test]
fn only_functions_in_progress_are_gone_to() {
    let domain = domain();
    let at = call(&domain, "place", 0).expect("a place");
    let label = call(&domain, "label", 0).expect("a label");
    let anything = domain.bind::<Longs>("anything").expect("an export");
    let off = i64::from(lockgate_abi::code::OFF);
    let slot = lockgate_abi::stack::SLOT as i64;
    // Both stacks' addresses serve, with whatever lies above their low 32 bits.
    for address in [at, at - 8, at - 56, at - off, at - off - 8, at & 0xffff_ffff] {
        assert_eq!(anything.call(3, address, label).expect("in progress"), 7, "{address:#x}");
    }
    for (what, address, expected) in [
        ("below all frames", at - 4096, "a jump (longjmp) to a function that has returned"),
        ("the same on the data stack", at - off - 4096, "a jump (longjmp) to a function that has returned"),
        (
            "above the exit return address",
            at + 8,
            "a jump (longjmp) beyond the host: to a function of a call that this one is nested in",
        ),
        (
            "another thread's stack",
            at + slot,
            "a jump (longjmp) to a function on another stack: another thread's, or a context's",
        ),
        (
            "the same below",
            at - off - slot,
            "a jump (longjmp) to a function on another stack: another thread's, or a context's",
        ),
        (
            "the heap",
            0x4000_0000,
            "a jump (longjmp) to a function on another stack: another thread's, or a context's",
        ),
        // The first control stacks begin where the low 32 bits are 0.
        ("nowhere", 0, "a jump (longjmp) to a function that has returned"),
        (
            "the window's end",
            -1,
            "a jump (longjmp) to a function on another stack: another thread's, or a context's",
        ),
    ] {
        assert_eq!(reason(anything.call(3, address, label)), expected, "{what}");
    }
}

/// A call that is nested in another one of the domain's, through the host: its own functions are all that it can go to. Red if the walk
/// goes on beyond the innermost entry's place, to what looks like an exit return address or a frame.
#[test]
fn a_nested_call_does_not_reach_the_outer_ones_functions() {
    let reasons: Arc<Mutex<Vec<String>>> = Arc::default();
    let inner: Arc<Mutex<Option<Domain>>> = Arc::default();
    let (told, domain) = (reasons.clone(), inner.clone());
    let host = move |outer: i64| {
        let domain = domain.lock().expect("no panic");
        let domain = domain.as_ref().expect("a domain");
        let label = call(domain, "label", 0).expect("a label");
        let anything = domain.bind::<Longs>("anything").expect("an export");
        assert_eq!(call(domain, "jump_between", 3).expect("its own functions"), 1107);
        for address in [outer, outer + 24, call(domain, "place", 0).expect("a place") + 8] {
            told.lock().expect("no panic").push(reason(anything.call(3, address, label)));
        }
        0
    };
    let domain = Domain::new(&module(), options(host)).expect("a domain");
    let around = domain.bind::<Long>("around").expect("an export");
    *inner.lock().expect("no panic") = Some(domain);
    assert_eq!(around.call(0).expect("the outer call goes on"), 107);
    let reasons = reasons.lock().expect("no panic");
    assert_eq!(reasons.len(), 3);
    for reason in reasons.iter() {
        assert!(reason.contains("beyond the host"), "{reason}");
    }
    drop(reasons);
    inner.lock().expect("no panic").take();
}

/// As many functions as a stack has room for: it takes milliseconds, and time limits are heard.
#[test]
fn the_longest_walk_is_bounded_and_heeds_limits() {
    let _watchdog = watchdog("a walk over two million functions");
    let size = lockgate_abi::stack::MAX_SIZE;
    let depth = (size / 8 - 64) as i64;
    let large = options(|x| x).stack_size(size).memory_limit(1 << 30);
    let domain = Domain::new(&module(), large.clone()).expect("a domain");
    let begun = Instant::now();
    assert_eq!(call(&domain, "jump_far", depth).expect("a jump"), 107);
    let first = begun.elapsed();
    println!("{depth} functions, with their calls: {first:?}");
    let limited = Domain::new(&module(), large.time_limit(Duration::from_millis(300))).expect("a domain");
    let begun = Instant::now();
    let error = call(&limited, "jump_for_ever", depth).expect_err("a limit");
    assert_eq!(error.fault().expect("a fault").kind(), FaultKind::TimeOut, "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(crate::common::in_time(|| call(&limited, "nothing", 0)).expect("the thread goes on"), 0);
}

/// What a jump costs (`lockgate-bench calls` has it of C's).
#[test]
#[ignore = "prints times"]
fn times() {
    const COUNT: i64 = 100_000;
    let domain = domain();
    let many = domain.bind::<extern "C" fn(i64, i64) -> i64>("jump_many").expect("an export");
    for depth in [0, 1, 2, 5, 10, 20, 50, 100, 1000] {
        let rounds = (0..20).map(|_| {
            let begun = Instant::now();
            many.call(COUNT / (1 + depth), depth).expect("jumps");
            begun.elapsed().as_nanos() as i64 / (COUNT / (1 + depth))
        });
        println!("{} functions: {} ns", depth + 1, rounds.min().expect("rounds"));
    }
}
