//! What any program expects of dlopen.
use super::File;
use crate::common::Guest;
use crate::dl::host_sys::{call, read_int};
use lockgate::dl::{self, DlError, Library, Mode, Options, Symbol};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const COUNTER: &str = "
    int counter = 40;
    static int starts;
    int table[3] = {1, 2, 3};
    __attribute__((constructor)) static void start(void) { starts++; counter += 2; }
    long count(long by) { return counter += by; }
    long started(void) { return starts; }
";

#[test]
fn a_library_opened_twice_is_one() {
    let file = File::c("counter.so", COUNTER);
    let (first, second) = (file.open(), file.open());
    assert_eq!(first, second);
    let count = first.function("count").unwrap();
    assert_eq!(count, second.function("count").unwrap(), "the same symbol, the same pointer");
    assert_eq!(call(count, 0), 42, "the constructor has run once");
    first.close().unwrap();
    assert_eq!(call(count, 8), 50, "it was opened twice and closed once");
    second.close().unwrap();
    assert!(matches!(second.close(), Err(DlError::Handle)));
    assert!(matches!(first.symbol("count"), Err(DlError::Handle)));

    let again = file.open();
    assert_ne!(again, first, "handles are not used twice");
    assert_eq!(call(again.function("count").unwrap(), 0), 42, "a new instance has new data");
    again.close().unwrap();
}

#[test]
fn two_files_with_the_same_bytes_are_two_libraries() {
    let (one, two) = (File::c("one.so", COUNTER), File::c("two.so", COUNTER));
    let (a, b) = (one.open(), two.open());
    assert_eq!(call(a.function("count").unwrap(), 1), 43);
    assert_eq!(call(b.function("count").unwrap(), 1), 43);
    a.close().unwrap();
    b.close().unwrap();
}

#[test]
fn a_file_that_was_replaced_is_another_library() {
    let file = File::c("changing.so", "long version(void) { return 1; }");
    let old = file.open();
    let version = old.function("version").unwrap();
    let new = Guest::c_with("long version(void) { return 2; }", &["-O2", "-g"]).build();
    std::fs::write(&file.path, new).unwrap();
    let fresh = file.open();
    assert_eq!(call(version, 0), 1, "what runs is what was verified");
    assert_eq!(call(fresh.function("version").unwrap(), 0), 2);
    old.close().unwrap();
    fresh.close().unwrap();
}

#[test]
fn data_is_found_with_its_size() {
    let file = File::c("data.so", COUNTER);
    let library = file.open();
    let counter = library.object("counter").unwrap();
    assert_eq!((read_int(counter.address), counter.size), (42, 4));
    call(library.function("count").unwrap(), 5);
    assert_eq!(read_int(counter.address), 47);
    assert_eq!(library.object("table").unwrap().size, 12);
    assert_eq!(library.symbol("counter").unwrap(), Symbol::Object(counter));
    assert!(matches!(library.function("counter"), Err(DlError::IsData { size: 4, .. })));
    assert!(matches!(library.object("count"), Err(DlError::IsFunction { .. })));
    library.close().unwrap();
}

#[test]
fn what_is_not_there_is_named() {
    let file = File::c("named.so", COUNTER);
    let library = file.open();
    let error = library.symbol("coumt").unwrap_err().to_string();
    assert!(error.contains("undefined symbol: coumt") && error.contains("count"), "{error}");
    let error = library.symbol("\u{1b}[2J").unwrap_err().to_string();
    assert!(error.ends_with("undefined symbol: ?[2J"), "{error:?}");
    for hidden in ["_lg_init", "_lg_fini", "_lg_alloc"] {
        assert!(matches!(library.symbol(hidden), Err(DlError::Symbol { .. })), "{hidden} is the runtime's");
    }
    let error = library.function("int count(int)").unwrap_err().to_string();
    assert!(error.contains("the signatures differ"), "{error}");
    library.close().unwrap();

    let error = Library::open("/nowhere/x.so", Mode::NOW, &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/x.so: No such file"), "{error}");
    let error = Library::open("no-such-name.so", Mode::NOW, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("no such module in") && error.contains("LG_LIBRARY_PATH"), "{error}");
}

#[test]
fn names_without_a_slash_are_looked_for() {
    let file = File::c("searched.so", COUNTER);
    let folder = file.path.parent().unwrap();
    dl::set_search_path(format!("/nowhere:{}", folder.display()));
    let library = Library::open("searched.so", Mode::LAZY, &Options::default()).unwrap();
    assert_eq!(library.name().unwrap(), "searched.so");
    library.close().unwrap();
}

#[test]
fn flags_mean_what_they_do() {
    let file = File::c("flags.so", COUNTER);
    let only_if_open = Mode { only_if_open: true, ..Mode::NOW };
    let closed = Library::open(&file.path, only_if_open, &Options::default());
    assert!(matches!(closed, Err(DlError::NotOpen(_))));
    let library = file.open();
    let again = Library::open(&file.path, only_if_open, &Options::default()).unwrap();
    assert_eq!(again, library);
    again.close().unwrap();
    library.close().unwrap();

    let keep = Mode { keep: true, ..Mode::NOW };
    let kept = Library::open(&file.path, keep, &Options::default()).unwrap();
    let count = kept.function("count").unwrap();
    kept.close().unwrap();
    assert_eq!(call(count, 1), 43, "it stays");
    assert_eq!(Library::open(&file.path, Mode::NOW, &Options::default()).unwrap(), kept);
}

#[test]
fn global_symbols_are_found_without_a_handle() {
    let file = File::c("global.so", "long only_in_global_so(long x) { return x + 1; }");
    assert!(matches!(Library::symbol_of_all("only_in_global_so"), Err(DlError::GlobalSymbol(_))));
    let local = file.open();
    assert!(Library::symbol_of_all("only_in_global_so").is_err());
    let global = file.open_with(Mode::NOW.global(), &Options::default());
    assert_eq!(local, global, "opened again, and global from now on");
    let Symbol::Function(function) = Library::symbol_of_all("only_in_global_so").unwrap() else {
        panic!("a function")
    };
    assert_eq!(call(function, 1), 2);
    local.close().unwrap();
    global.close().unwrap();
}

#[test]
fn the_heap_is_the_librarys() {
    let file = File::c(
        "heap.so",
        "#include <stdlib.h>\n#include <string.h>\nlong length(const char *s) { return strlen(s); }\nvoid *give(void) { return malloc(10); }",
    );
    let library = file.open();
    let text = library.allocate(16).unwrap();
    crate::dl::host_sys::write_bytes(text, b"four\0");
    assert_eq!(call(library.function("length").unwrap(), text as i64), 4);
    library.free(text).unwrap();
    let given = crate::dl::host_sys::call_pointer(library.function("give").unwrap());
    library.free(given as u64).unwrap();
    assert_eq!(Library::of_address(given as u64), Some(library));
    library.close().unwrap();
}

#[test]
fn exposed_memory_is_shared_until_it_is_hidden() {
    let file = File::c(
        "shared.so",
        "long read_it(const long *p) { return *p; }\nlong write_it(long *p) { return *p = 7; }",
    );
    let library = file.open();
    let pages = crate::dl::host_sys::shared_pages(8192);
    let inside = crate::dl::host_sys::expose(library, pages, 8192);
    let (read, write) = (library.function("read_it").unwrap(), library.function("write_it").unwrap());
    assert_eq!(call(read, inside as i64), 0);
    call(write, inside as i64);
    assert_eq!(crate::dl::host_sys::read_bytes(pages as u64, 1), [7]);
    library.hide(pages).unwrap();
    assert_eq!(call(read, inside as i64), -1, "it is gone");
    assert!(dl::take_failure().is_some());
    assert!(matches!(library.hide(pages), Err(DlError::NotExposed(..))));
    library.close().unwrap();
}

#[test]
fn an_ordinary_library_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.so");
    std::fs::write(folder.path().join("plain.c"), "int f(void) { return 1; }").unwrap();
    let mut gcc = std::process::Command::new("gcc");
    let status =
        gcc.current_dir(folder.path()).args(["-shared", "-o", "plain.so", "plain.c"]).status().unwrap();
    assert!(status.success());
    let error = Library::open(&path, Mode::NOW, &Options::default()).unwrap_err();
    assert!(matches!(error, DlError::NotConfined(_)), "{error}");
    std::fs::write(&path, "no ELF file").unwrap();
    let error = Library::open(&path, Mode::NOW, &Options::default()).unwrap_err();
    assert!(matches!(error, DlError::Load(_)), "{error}");
    assert!(matches!(
        Library::open(folder.path(), Mode::NOW, &Options::default()),
        Err(DlError::File { .. })
    ));
}

/// Plugins that belong together: one module with a name for each.
#[test]
fn links_to_one_module_are_one_library_with_one_heap() {
    let file = File::c(
        "both.so",
        "#include <stdlib.h>\nlong *first_make(void) { long *p = malloc(8); *p = 5; return p; }\nlong second_use(long *p) { long x = *p; free(p); return x; }",
    );
    let link = file.path.with_file_name("second.so");
    std::os::unix::fs::symlink(&file.path, &link).unwrap();
    let first = file.open();
    let second = Library::open(&link, Mode::NOW, &Options::default()).unwrap();
    let made = crate::dl::host_sys::call_pointer(first.function("first_make").unwrap());
    assert_eq!(call(second.function("second_use").unwrap(), made as i64), 5);
    second.close().unwrap();
    first.close().unwrap();
}

/// A path that leads to one file and then to another, while other openings make each wait: whatever is opened under the identity of a file
/// has that file's contents.
#[test]
fn identity_and_contents_are_of_one_file() {
    let _watchdog = crate::common::watchdog("files that change their names");
    let bytes = |version: u32| {
        Guest::c_with(&format!("long version(void) {{ return {version}; }}"), &["-O2", "-g"]).build()
    };
    let (one, two) = (bytes(1), bytes(2));
    let slow = "long f(void) { return 0; }
        __attribute__((constructor)) static void begin(void) { for (volatile long n = 0; n < 1000000; n++); }";
    let slow = File::c("slow.so", slow);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                slow.open().close().unwrap();
            }
        });
        // Also when what follows fails.
        let _end = Stop(&stop);
        for round in 0..60 {
            let at = |name: &str| folder.path().join(format!("{name}{round}.so"));
            let (first, second, link, aside) = (at("first"), at("second"), at("link"), at("aside"));
            std::fs::write(&first, &one).unwrap();
            std::fs::write(&second, &two).unwrap();
            symlink(&first, &link).unwrap();
            symlink(&second, &aside).unwrap();
            let open = |path: &Path| Library::open(path, Mode::NOW, &Options::default()).unwrap();
            let by_link = std::thread::spawn(move || open(&link));
            if round % 2 == 0 {
                std::thread::yield_now();
            }
            std::fs::rename(&aside, at("link")).unwrap();
            let libraries = [by_link.join().unwrap(), open(&first), open(&second)];
            let versions = libraries.map(|library| call(library.function("version").unwrap(), 0));
            assert_eq!(versions[1..], [1, 2], "round {round}");
            libraries.into_iter().for_each(|library| library.close().unwrap());
        }
    });
}

/// Ends other threads when it goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_file_that_was_touched_is_the_same_library() {
    let file = File::c("touched.so", "long f(void) { return 1; }");
    let library = file.open();
    // A second name changes a time stamp.
    std::fs::hard_link(&file.path, file.path.with_file_name("touched-too.so")).unwrap();
    assert_eq!(file.open(), library);
    let only_if_open = Mode { only_if_open: true, ..Mode::NOW };
    assert_eq!(Library::open(&file.path, only_if_open, &Options::default()).unwrap(), library);
    for _ in 0..3 {
        library.close().unwrap();
    }
    assert!(library.symbol("f").is_err());
}
