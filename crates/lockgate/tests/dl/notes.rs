//! What a library says of its own functions decides nothing about the host's memory.
use super::File;
use crate::common::Guest;
use lockgate::dl::{DlError, Library, Mode, Options};
use lockgate::{BindError, Policy};

/// What a host takes for `int init(void *)` and `int run(int)`, and a function that is what it says.
const HOSTILE: &str = r#"
struct big { char bytes[64]; };
struct big init(void) { struct big all = {"MMMM"}; return all; }
int run(long a, long b, long c, long d, long e, long f, long g, long h) { return (int)(g + h); }
struct { long a, b; } small(long x) { return (__typeof__(small(0))){x, x + 1}; }
int answer = 42;
"#;

fn needs(error: &DlError, what: &str) {
    let DlError::Bind(BindError::NeedsPrototype { .. }) = error else { panic!("{error:?}") };
    let text = error.to_string();
    assert!(text.contains(what) && text.contains("lg_dlsym_typed"), "{text}");
}

#[test]
fn a_name_alone_stays_within_registers() {
    let file = File::c("hostile.so", HOSTILE);
    for options in [Options::default(), Options::default().policy(Policy::MUTUAL_TRUST).stack_bytes(4096)] {
        let library = Library::open(&file.path, Mode::NOW, &options).unwrap();
        needs(&library.function("init").unwrap_err(), "returns its result in memory");
        needs(&library.symbol("init").unwrap_err(), "returns its result in memory");
        needs(&library.function(" run ").unwrap_err(), "takes arguments on the stack");
        assert!(library.function("small").is_ok());
        assert!(library.function("struct { char bytes[64]; } init(void)").is_ok(), "as the host says, too");
        assert!(library.function("int init(void *)").is_err(), "the note may only narrow");
        library.close().unwrap();
    }
}

/// Two libraries of which one says what both are to do.
#[test]
fn one_librarys_word_is_not_the_others() {
    let server = |flags: &[&str]| Guest::c_with("int serve_note(void) { return 7; }", flags);
    let silent = File::new("silent.so", server(&["-O2"]));
    let noted = File::new("noted.so", server(&["-O2", "-g"]));
    let big = "struct big { char bytes[2800]; };
               struct big serve_note(void);
               int ask(int at) { struct big all = serve_note(); return all.bytes[at]; }";
    let big = Guest::c_with(big, &["-O2", "-g"]).gate("struct { char bytes[2800]; } serve_note(void)");
    let small = Guest::c_with("int serve_note(void); int ask(void) { return serve_note(); }", &["-O2"]);
    let client = File::new("client.so", big);
    let dumb = File::new("dumb.so", small.gate("serve_note"));
    for (server, client) in [(&silent, &client), (&noted, &client), (&noted, &dumb)] {
        let server = server.open_with(Mode::NOW.global(), &Options::default());
        let refused = Library::open(&client.path, Mode::NOW, &Options::default()).unwrap_err();
        let text = refused.to_string();
        assert!(matches!(refused, DlError::Imports { .. }), "{text}");
        assert!(text.contains("not both libraries have") || text.contains("signatures differ"), "{text}");
        server.close().unwrap();
    }
}

/// A note by which no call could be made is not as good as none: the function is none whose arguments are in registers.
#[test]
fn a_note_that_is_too_much_for_any_call_needs_a_prototype() {
    let big = ["struct { char c[60000]; }"; 10].join(", ");
    let guest = Guest::c("long take(long x) { return x; }").export(&format!("long take({big})"));
    let file = File::new("too-much.so", guest);
    let library = file.open();
    needs(&library.function("take").unwrap_err(), "more than a call can");
    library.close().unwrap();
}
