//! Raw function pointers: with a signature, without, and what they return when the call fails.
use super::File;
use crate::dl::host_sys::{
    Large, Mixed, call, call_double, call_format, call_large, call_many, call_mixed, call_pointer,
    call_with_secrets, errno, read_bytes, write_bytes,
};
use lockgate::Policy;
use lockgate::dl::{self, DlError, Mode, Options};
use std::sync::atomic::{AtomicU64, Ordering};

const ALL_SHAPES: &str = "
    #include <stdarg.h>
    #include <stdio.h>
    long twice(long x) { return 2 * x; }
    double half(double x) { return x / 2; }
    struct mixed { double number; long count; };
    struct mixed mixed(long x) { return (struct mixed){x / 2.0, x}; }
    double many(long a, long b, long c, long d, long e, long f, double s, double t, double u, double v, double w, double x,
                double y, double z, long g, long h) {
        return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + s + t + u + v + w + x + y + z + 1000000 * g
            + 10000000 * h;
    }
    int format(char *to, size_t size, const char *format, ...) {
        va_list list;
        va_start(list, format);
        int length = vsnprintf(to, size, format, list);
        va_end(list);
        return length;
    }
";

/// The sum of the numbers and digits in `many`.
const MANY: f64 = 87654321.0 + 3.6;

#[test]
fn functions_without_a_signature_get_every_register() {
    let file = File::untyped("untyped.so", ALL_SHAPES);
    for policy in [Policy::MUTUAL_TRUST, Policy::SERVER_TRUSTED, Policy::INTEGRITY, Policy::MUTUAL_DISTRUST] {
        let library = file.open_with(Mode::NOW, &Options::default().stack_bytes(16).policy(policy));
        assert_eq!(call(library.function("twice").unwrap(), 21), 42);
        assert_eq!(call_double(library.function("half").unwrap(), 5.0), 2.5);
        assert_eq!(call_mixed(library.function("mixed").unwrap(), 3), Mixed { number: 1.5, count: 3 });
        assert!((call_many(library.function("many").unwrap()) - MANY).abs() < 1e-6);
        let room = library.allocate(64).unwrap();
        write_bytes(room + 32, b"%d %.1f\0");
        let length = call_format(library.function("format").unwrap(), room, 32, room + 32);
        assert_eq!(read_bytes(room, length as usize), b"42 2.5", "variable arguments need al");
        library.close().unwrap();
    }
}

#[test]
fn stack_arguments_are_passed_as_asked() {
    let file = File::untyped(
        "stack.so",
        "long ninth(long a, long b, long c, long d, long e, long f, long g, long h, long i) { return i; }",
    );
    let library = file.open_with(Mode::NOW, &Options::default().stack_bytes(24));
    let typed: *const () =
        library.function("long ninth(long, long, long, long, long, long, long, long, long)").unwrap();
    let generic = library.function("ninth").unwrap();
    assert_ne!(typed, generic);
    for function in [typed, generic] {
        assert_eq!(crate::dl::host_sys::call_nine(function), 9);
    }
    library.close().unwrap();
}

#[test]
fn too_many_stack_bytes_are_refused() {
    let file = File::untyped("bytes.so", "long f(void) { return 1; }");
    let most = dl::MAX_STACK_BYTES;
    let library = file.open_with(Mode::NOW, &Options::default().stack_bytes(most));
    // All that is copied is readable: the thread's stack is deeper than that.
    assert_eq!(call(library.function("f").unwrap(), 0), 1);
    library.close().unwrap();
    let refused = dl::Library::open(&file.path, Mode::NOW, &Options::default().stack_bytes(most + 1));
    assert!(matches!(refused, Err(DlError::StackBytes(bytes)) if bytes == most + 1));
}

/// Without stack bytes, nothing of the caller's stack is copied into the domain.
#[test]
fn the_callers_stack_is_its_own() {
    let file = File::untyped(
        "peek.so",
        "long seventh(long a, long b, long c, long d, long e, long f, volatile long g) { return g; }",
    );
    let library = file.open();
    let seventh = library.function("seventh").unwrap();
    let found = crate::dl::host_sys::call_with_stack(seventh, 0x5ec2e7);
    assert_ne!(found, 0x5ec2e7, "nobody asked for stack arguments");
    library.close().unwrap();
    let library = file.open_with(Mode::NOW, &Options::default().stack_bytes(8));
    assert_eq!(
        crate::dl::host_sys::call_with_stack(library.function("seventh").unwrap(), 0x5ec2e7),
        0x5ec2e7
    );
    library.close().unwrap();
}

const REGISTERS: &str = "
    function registers
        xor %eax,%eax
        cmp $0x5ec2e7,%rbx; je found
        cmp $0x5ec2e7,%r10; je found
        cmp $0x5ec2e7,%r12; je found
        cmp $0x5ec2e7,%r13; je found
        cmp $0x5ec2e7,%r14; je found
        cmp $0x5ec2e7,%r15; je found
        movq %xmm8,%rcx; cmp $0x5ec2e7,%rcx; je found
        movq %xmm15,%rcx; cmp $0x5ec2e7,%rcx; je found
        ret
    found: mov $1,%eax
        ret
";

/// Registers that can carry no argument are cleared even where the signature is unknown, if the policy hides them.
#[test]
fn generic_proxies_hide_what_can_be_no_argument() {
    let file = File::new("registers.so", crate::common::Guest::assembly(REGISTERS));
    for (policy, seen) in [(Policy::MUTUAL_DISTRUST, 0), (Policy::INTEGRITY, 1)] {
        let library = file.open_with(Mode::NOW, &Options::default().policy(policy));
        let registers = library.function("registers").unwrap();
        assert_eq!(call_with_secrets(registers, 0), seen, "{policy:?}");
        library.close().unwrap();
    }
}

const FAILING: &str = "
    long number(long x) { return *(volatile long *)x; }
    double real(double x) { return *(volatile double *)(long)x; }
    void *pointer(void) { return *(void *volatile *)0; }
    struct large { long words[4]; };
    struct large large(long x) { return *(volatile struct large *)x; }
";

#[test]
fn what_a_failing_call_returns_depends_on_its_type() {
    let file = File::c("failing.so", FAILING);
    let library = file.open();
    assert_eq!(call(library.function("number").unwrap(), 0), -1);
    assert_eq!(errno(), libc::EFAULT);
    let failure = dl::take_failure().expect("it is told why");
    assert_eq!((failure.library.as_str(), failure.symbol.as_str()), ("failing.so", "number"));
    assert!(failure.to_string().contains("null pointer"), "{failure}");
    assert!(dl::last_failure().is_none(), "it was taken");
    assert!(call_double(library.function("real").unwrap(), 0.0).is_nan());
    assert!(call_pointer(library.function("pointer").unwrap()).is_null());
    let zeros = Large { words: [0; 4] };
    assert_eq!(call_large(library.function("struct { long words[4]; } large(long)").unwrap(), 0), zeros);
    assert_eq!(dl::take_failure().expect("the last one").symbol, "large");
    library.close().unwrap();
}

#[test]
fn what_a_failing_call_returns_can_be_chosen() {
    let file = File::c("chosen.so", FAILING);
    let library = file.open_with(Mode::NOW, &Options::default().failure(77));
    let (number, real) = (library.function("number").unwrap(), library.function("real").unwrap());
    assert_eq!(call(number, 0), 77);
    library.set_failure(Some("number"), 78).unwrap();
    library.set_failure(Some("real"), 1.5_f64.to_bits()).unwrap();
    assert_eq!((call(number, 0), call_double(real, 0.0)), (78, 1.5));
    library.set_failure(None, 79).unwrap();
    assert_eq!(call(number, 0), 79);
    assert_eq!(call_pointer(library.function("pointer").unwrap()) as u64, 79, "also what is looked up later");
    assert!(library.set_failure(Some("large"), 1).is_err(), "not looked up");
    library.close().unwrap();
}

#[test]
fn a_handler_is_told_on_the_callers_thread() {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    let file = File::c("told.so", FAILING);
    let library = file.open();
    let number = library.function("number").unwrap();
    let me = std::thread::current().id();
    dl::on_failure(Some(Box::new(move |failure| {
        if failure.library == "told.so" && std::thread::current().id() == me {
            TOLD.fetch_add(1, Ordering::SeqCst);
        }
    })));
    call(number, 0);
    call(number, 0);
    dl::on_failure(None);
    call(number, 0);
    assert_eq!(TOLD.load(Ordering::SeqCst), 2);
    library.close().unwrap();
}

#[test]
fn failures_are_of_their_thread() {
    let file = File::c("threads.so", FAILING);
    let library = file.open();
    let number = library.function("number").unwrap() as usize;
    dl::take_failure();
    let elsewhere = std::thread::spawn(move || {
        call(number as *const (), 0);
        dl::take_failure().is_some()
    });
    assert!(elsewhere.join().unwrap());
    assert!(dl::last_failure().is_none());
    library.close().unwrap();
}

/// A pointer of another kind, whose failure nobody asked about, leaves that with the thread.
#[test]
fn the_failure_of_another_call_is_not_taken_for_ones_own() {
    let source =
        "void crash(void) { static int *volatile nowhere; *nowhere = 1; }\nlong fine(long x) { return x; }";
    let domain = crate::common::Guest::c(source).domain();
    let crash = domain.bind::<extern "C" fn()>("crash").unwrap();
    let file = File::c("fine.so", source);
    let library = file.open();
    let fine = library.function("fine").unwrap();
    dl::take_failure();
    call(crash.as_ptr(), 0);
    assert_eq!(call(fine, 5), 5);
    assert!(dl::take_failure().is_none());
    library.close().unwrap();
}
