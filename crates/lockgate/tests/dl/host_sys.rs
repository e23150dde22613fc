//! Calls of raw function pointers.
use std::ffi::c_void;

/// `long f(long)`.
pub fn call(function: *const (), argument: i64) -> i64 {
    // SAFETY: the tests look up functions of this type, or of none that is known.
    unsafe { std::mem::transmute::<*const (), extern "C" fn(i64) -> i64>(function)(argument) }
}

/// `double f(double)`.
pub fn call_double(function: *const (), argument: f64) -> f64 {
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*const (), extern "C" fn(f64) -> f64>(function)(argument) }
}

/// `void *f(void)`.
pub fn call_pointer(function: *const ()) -> *mut c_void {
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*const (), extern "C" fn() -> *mut c_void>(function)() }
}

pub type Many =
    extern "C" fn(i64, i64, i64, i64, i64, i64, f64, f64, f64, f64, f64, f64, f64, f64, i64, i64) -> f64;

/// Six integers, eight numbers, two integers on the stack.
pub fn call_many(function: *const ()) -> f64 {
    // SAFETY: as above.
    let function = unsafe { std::mem::transmute::<*const (), Many>(function) };
    function(1, 2, 3, 4, 5, 6, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 7, 8)
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixed {
    pub number: f64,
    pub count: i64,
}

/// `struct { double; long; } f(long)`.
pub fn call_mixed(function: *const (), argument: i64) -> Mixed {
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*const (), extern "C" fn(i64) -> Mixed>(function)(argument) }
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Large {
    pub words: [i64; 4],
}

/// A structure in memory.
pub fn call_large(function: *const (), argument: i64) -> Large {
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*const (), extern "C" fn(i64) -> Large>(function)(argument) }
}

/// `int f(char *, size_t, const char *format, ...)` with an integer and a number.
pub fn call_format(function: *const (), room: u64, size: usize, format: u64) -> i32 {
    type Format = unsafe extern "C" fn(u64, usize, u64, ...) -> i32;
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*const (), Format>(function)(room, size, format, 42_i32, 2.5_f64) }
}

/// Calls with known values in every register that carries no argument: the caller's secrets.
pub fn call_with_secrets(function: *const (), argument: i64) -> i64 {
    let result: i64;
    // SAFETY: a function of the C convention, which keeps what it must; the stack is aligned.
    unsafe {
        core::arch::asm!(
            "push rbx", "push rbp", "mov rbp, rsp", "and rsp, -16", "push rbp", "sub rsp, 8",
            "mov rbx, 0x5ec2e7",
            "mov r10, 0x5ec2e7", "mov r12, 0x5ec2e7", "mov r13, 0x5ec2e7", "mov r14, 0x5ec2e7", "mov r15, 0x5ec2e7",
            "movq xmm8, rbx", "movq xmm15, rbx",
            "call rax",
            "add rsp, 8", "pop rsp", "pop rbp", "pop rbx",
            inout("rax") function => result,
            in("rdi") argument,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("C"),
        );
    }
    result
}

/// Reads one `int` of a window.
pub fn read_int(at: u64) -> i32 {
    // SAFETY: data of a library that is open.
    unsafe { (at as *const i32).read_volatile() }
}

/// Copies bytes into a window.
pub fn write_bytes(at: u64, bytes: &[u8]) {
    // SAFETY: room that the library's heap gave.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) }
}

/// Copies bytes out of a window.
pub fn read_bytes(at: u64, length: usize) -> Vec<u8> {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(at as *const u8, length).to_vec() }
}

/// The calling thread's errno.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Shared pages of the host's own.
pub fn shared_pages(length: usize) -> *mut u8 {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.cast()
}

/// Exposes shared pages.
pub fn expose(library: lockgate::dl::Library, at: *mut u8, length: u64) -> u64 {
    // SAFETY: pages of `shared_pages`, to which nobody has references.
    unsafe { library.expose(at, length, lockgate::Rights::ReadWrite).expect("exposed") }
}

/// A service from a C function.
pub fn service(prototype: &str, function: *const ()) -> lockgate::dl::Service {
    // SAFETY: the tests' own functions, of the type that they say.
    unsafe { lockgate::dl::Service::new(prototype, function, 0).expect("a service") }
}

/// `long f(long, …)` with nine arguments, 1 to 9.
pub fn call_nine(function: *const ()) -> i64 {
    type Nine = extern "C" fn(i64, i64, i64, i64, i64, i64, i64, i64, i64) -> i64;
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*const (), Nine>(function)(1, 2, 3, 4, 5, 6, 7, 8, 9) }
}

/// Calls with `word` where the first stack argument would be.
pub fn call_with_stack(function: *const (), word: i64) -> i64 {
    type Seven = extern "C" fn(i64, i64, i64, i64, i64, i64, i64) -> i64;
    // SAFETY: as above.
    unsafe { std::mem::transmute::<*const (), Seven>(function)(0, 0, 0, 0, 0, 0, word) }
}

/// A service that is never called.
pub fn try_service(prototype: &str) -> Result<lockgate::dl::Service, lockgate::dl::DlError> {
    // SAFETY: it is never called.
    unsafe { lockgate::dl::Service::new(prototype, std::ptr::null(), 0) }
}
