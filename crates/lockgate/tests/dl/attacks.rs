//! Libraries that lie, and hosts that hold on to what is gone.
use super::File;
use crate::common::watchdog;
use crate::dl::host_sys::{call, call_pointer};
use lockgate::dl::{self, DlError, Library, Mode, Options};
use std::sync::atomic::{AtomicBool, Ordering};

const TABLES: &str = "
    static long twice(long x) { return 2 * x; }
    long (*function(void))(long) { return twice; }
    int data = 7;
    void *inside_data(void) { return &data; }
    volatile long four = 4;
    void *inside_code(void) { return (char *)twice + four; }
    void *null(void) { return 0; }
    void *far_away(void) { return (void *)0x7fff12345678; }
    void *stub(void) { return (char *)twice - ((unsigned long)twice & 0xffffffff) + 0x12000; }
    void *callback_stub(void) { return (char *)twice - ((unsigned long)twice & 0xffffffff) + 0x14000; }
    void *last_byte(void) { return (char *)twice - ((unsigned long)twice & 0xffffffff) + 0xffffffff; }
";

/// Whatever a library says is a function, only beginnings of its functions can be called.
#[test]
fn wild_function_pointers_are_refused() {
    let file = File::c("wild.so", TABLES);
    let library = file.open();
    let given = |name: &str| call_pointer(library.function(name).unwrap()) as u64;
    let twice = library.function_at(given("function"), Some("long twice(long)")).unwrap();
    assert_eq!(call(twice, 21), 42);
    assert_eq!(call(library.function_at(given("function"), None).unwrap(), 21), 42);
    for wild in ["inside_data", "inside_code", "null", "far_away", "stub", "callback_stub", "last_byte"] {
        let address = given(wild);
        let refused = library.function_at(address, None);
        assert!(matches!(refused, Err(DlError::NoFunction { .. })), "{wild} {address:#x}");
    }
    for wild in [0, 1, u64::MAX, u64::MAX - 3] {
        assert!(library.function_at(wild, None).is_err(), "{wild:#x}");
    }
    library.close().unwrap();
}

/// Another library's function is none of this one's.
#[test]
fn functions_of_other_libraries_are_refused() {
    let (one, two) = (File::c("one-table.so", TABLES), File::c("two-table.so", TABLES));
    let (a, b) = (one.open(), two.open());
    let of_b = call_pointer(b.function("function").unwrap()) as u64;
    assert!(matches!(a.function_at(of_b, None), Err(DlError::NoFunction { .. })));
    a.close().unwrap();
    b.close().unwrap();
}

/// Nobody can get at a library by a number that is none.
#[test]
fn wild_handles_are_refused() {
    for number in [0, u64::MAX, 1 << 40] {
        let wild = Library::from_number(number);
        assert!(matches!(wild.symbol("f"), Err(DlError::Handle)));
        assert!(matches!(wild.close(), Err(DlError::Handle)));
        assert!(matches!(wild.allocate(1), Err(DlError::Handle)));
    }
}

/// Many threads call while libraries come and go: every call returns its value, or fails with an error, and nothing else.
#[test]
fn calls_race_with_closing() {
    let _watchdog = watchdog("calls that race with closing");
    let file = File::c("racing.so", "long f(long x) { return x + 1; }");
    let done = AtomicBool::new(false);
    let pointer = {
        let library = file.open();
        let f = library.function("f").unwrap() as usize;
        library.close().unwrap();
        f
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut returned = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    let result = call(pointer as *const (), 41);
                    assert!(result == 42 || result == -1, "{result}");
                    returned += u64::from(result == 42);
                }
                returned
            });
        }
        // And threads that were in no domain before.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let call = || call(pointer as *const (), 41);
                let result = std::thread::scope(|inner| inner.spawn(call).join().unwrap());
                assert!(result == 42 || result == -1, "{result}");
            }
        });
        for _ in 0..200 {
            let library = Library::open(&file.path, Mode::NOW, &Options::default()).unwrap();
            let f = library.function("f").unwrap();
            assert_eq!(call(f, 1), 2);
            library.close().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    dl::take_failure();
}

/// A rewritten file on its way in is judged by the bytes that will run.
#[test]
fn a_damaged_module_is_refused_though_its_like_was_verified() {
    let file = File::c("damaged.so", "long f(long x) { return x + 1; }");
    let library = file.open();
    let mut bytes = std::fs::read(&file.path).unwrap();
    // A system call in place of the first label of its code.
    let label = [0xf3, 0x0f, 0x1e, 0xfa];
    let at = bytes.windows(4).position(|window| window == label).expect("a label");
    bytes[at..at + 4].copy_from_slice(&[0x0f, 0x05, 0x90, 0x90]);
    let damaged = file.path.with_file_name("damaged-copy.so");
    std::fs::write(&damaged, &bytes).unwrap();
    let refused = Library::open(&damaged, Mode::NOW, &Options::default());
    assert!(matches!(refused, Err(DlError::Load(_))), "{refused:?}");
    // The same in place, under the same name and with the same size.
    library.close().unwrap();
    std::fs::write(&file.path, &bytes).unwrap();
    let refused = Library::open(&file.path, Mode::NOW, &Options::default());
    assert!(matches!(refused, Err(DlError::Load(_))), "{refused:?}");
}

/// Bytes in data that look like the beginning of a function are none.
#[test]
fn labels_in_data_are_no_functions() {
    let file = File::c(
        "labels.so",
        "unsigned char forged[16] __attribute__((aligned(16))) = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};
         const unsigned char constant[16] = {0xf3, 0x0f, 0x1e, 0xfa, 0xc3};
         void *in_data(void) { return forged; }
         const void *in_constants(void) { return constant; }",
    );
    let library = file.open();
    for name in ["in_data", "in_constants"] {
        let address = call_pointer(library.function(name).unwrap()) as u64;
        assert!(matches!(library.function_at(address, None), Err(DlError::NoFunction { .. })), "{name}");
    }
    library.close().unwrap();
}

/// Two libraries next to each other: a pointer of one that leads into the other is not followed on its behalf.
#[test]
fn nothing_but_its_own_memory_is_read_for_a_library() {
    let source = "int secret = 0x5ec2e7; long f(void) { return 1; }";
    let (one, two) = (File::c("near-one.so", source), File::c("near-two.so", source));
    let (a, b) = (one.open(), two.open());
    let mut bytes = [0; 4];
    let own = a.object("secret").unwrap().address;
    a.read(own, &mut bytes).unwrap();
    assert_eq!(i32::from_le_bytes(bytes), 0x5ec2e7);
    let others = b.object("secret").unwrap().address;
    let host = bytes.as_ptr() as u64;
    let end = own - own % (4 << 30) + (4 << 30) - 2;
    for wild in [others, host, 0, u64::MAX - 1, end] {
        assert!(matches!(a.read(wild, &mut bytes), Err(DlError::Memory(_))), "{wild:#x}");
        assert!(matches!(a.write(wild, &[0; 4]), Err(DlError::Memory(_))), "{wild:#x}");
    }
    let constant_code = a.function("f").unwrap();
    assert_eq!(call(constant_code, 0), 1);
    a.close().unwrap();
    b.close().unwrap();
}

/// The host writes to data that it finds by its name; that it is data, and no constant, is the library's word.
#[test]
fn constants_and_code_are_no_data_of_the_hosts() {
    let file = File::c(
        "constant.so",
        "const int limit = 5;\nint counter = 1;\nlong f(long x) { return x + limit; }",
    );
    let library = file.open();
    let counter = library.object("counter").expect("data");
    library.write(counter.address, &7_i32.to_le_bytes()).unwrap();
    assert!(matches!(library.object("limit"), Err(DlError::Memory(_))));
    assert!(matches!(library.symbol("limit"), Err(DlError::Memory(_))));
    library.close().unwrap();
}

/// Whoever names the file does not write on the terminal of whoever reads reports.
#[test]
fn names_of_files_are_made_printable() {
    let file = File::c("name\u{1b}[2J\n.so", "long f(long at) { return *(volatile long *)at; }");
    let library = file.open();
    assert_eq!(library.name().unwrap(), "name?[2J?.so");
    assert_eq!(call(library.function("f").unwrap(), 0), -1);
    let failure = dl::take_failure().expect("it crashed");
    let lockgate::CallError::Fault(fault) = &failure.error else { panic!("{failure}") };
    let texts = [failure.to_string(), fault.to_string(), fault.backtrace().to_string()];
    assert!(texts.iter().all(|text| !text.contains('\u{1b}')), "{texts:?}");
    library.close().unwrap();
    let absent = file.path.with_file_name("absent\u{1b}.so");
    let error = lockgate::dl::Library::open(&absent, Mode::NOW, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("absent?.so"), "{error:?}");
}
