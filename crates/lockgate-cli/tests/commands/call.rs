//! `lockgate call`: arguments, results, ends.
use crate::commands::shop::{library, lockgate};

fn call(prototype: &str, arguments: &[&str]) -> crate::commands::shop::Ran {
    lockgate(&[&["call", library(), prototype], arguments].concat())
}

#[test]
fn results_are_printed() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("double cube_root(double)", &["27"], "3\n"),
        ("cube_root", &["-8"], "-2\n"),
        ("cube_root", &["0.001"], "0.1\n"),
        ("half", &["5"], "2.5\n"),
        ("divide", &["-7", "2"], "-3\n"),
        ("divide", &["0x10", "4"], "4\n"),
        ("low_byte", &["300"], "44\n"),
        ("low_byte", &["-1"], "255\n"),
        ("shout", &["some text"], "SOME TEXT\n"),
        ("shout", &["42"], "42\n"),
        ("shout", &[""], "NULL\n"),
        ("distance", &["four", "one"], "1\n"),
        ("point", &["3", "2.5"], "{ 3, 2.5 }\n"),
        ("same", &["0x1234"], "0x1234\n"),
        ("same", &["NULL"], "NULL\n"),
        ("nothing", &[], ""),
        ("skip", &["lockgate", "4"], "gate\n"),
        ("const char *skip(const char *, unsigned)", &["lockgate", "4"], "gate\n"),
        ("int unnoted(int)", &["5"], "5\n"),
        // What C makes of them.
        ("bool low_byte(long)", &["0x102"], "1\n"),
        ("_Bool low_byte(long)", &["0x100"], "0\n"),
        ("unsigned char low_byte(long)", &["0x102"], "2\n"),
        ("int negated(bool)", &["true"], "0\n"),
        ("int negated(_Bool x)", &["0"], "1\n"),
        ("same", &["-1"], "0xffffffffffffffff\n"),
        ("shout", &["-1"], "-1\n"),
        ("half", &["inf"], "inf\n"),
        ("half", &["1e38"], "50000000000000000000000000000000000000\n"),
    ];
    for (prototype, arguments, out) in cases {
        call(prototype, arguments).gives(0, out);
    }
}

#[test]
fn faults_are_reports_and_statuses() {
    let source = include_str!("../programs/library.c");
    let line = 1 + source.lines().position(|line| line.contains("the line that reports name")).unwrap();
    let place = format!("library.c:{line}");
    let cases: &[(&str, &[&str], i32, &[&str])] = &[
        ("crash", &["NULL"], 139, &["write to a null pointer", "crash", &place]),
        ("divide", &["1", "0"], 136, &["integer division by zero", "divide", "library.c"]),
        ("recurse", &["0"], 139, &["stack overflow", "recurse"]),
        ("give_up", &[], 134, &["called abort"]),
        ("leave", &["7"], 7, &["exit(7)"]),
    ];
    for (prototype, arguments, status, parts) in cases {
        call(prototype, arguments).gives(*status, "").fails(*status, parts);
    }
}

#[test]
fn time_limits_hold() {
    for function in ["loop", "nap"] {
        let ran = lockgate(&["call", "--time-limit", "400ms", library(), function]);
        ran.fails(124, &["time limit of 400ms", function]);
    }
    // CPU time is used by a loop, and not by sleep.
    let call = |time: &str, function: &str| {
        lockgate(&["call", "--cpu-limit", "50ms", "--time-limit", time, library(), function])
    };
    call("10s", "loop").fails(137, &["CPU time limit", "loop"]);
    call("400ms", "nap").fails(124, &["time limit of 400ms", "nap"]);
}

#[test]
fn streams_are_granted_on_request() {
    lockgate(&["call", library(), "say", "hello"]).gives(0, "");
    lockgate(&["call", "--streams", library(), "say", "hello"]).gives(0, "hello\n");
    // What waits in a buffer of the module's C library comes, too.
    lockgate(&["call", "--streams", library(), "say", "hello\nagain"]).gives(0, "hello\nagain\n");
}

#[test]
fn refused_system_calls_are_reported() {
    call("mount_nothing", &[])
        .gives(0, "-1\n")
        .fails(0, &["system call 165 (mount) does not exist for modules; tried once"]);
}

#[test]
fn mistakes_are_explained() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("nowhere", &[], &["exports no function \"nowhere\"", "lockgate inspect --exports"]),
        ("double cube_rot(double)", &["1"], &["no function \"cube_rot\"", "did you mean \"cube_root\"?"]),
        ("int cube_root(int)", &["1"], &["signatures differ", "double cube_root(double)"]),
        ("char *skip(char *, int)", &["x", "1"], &["signatures differ", "skip(void *, uint32_t)"]),
        ("unnoted", &["1"], &["has no signature of unnoted", "prototype"]),
        ("double cube_root(", &["1"], &["prototype `double cube_root(`"]),
        ("int printf(const char *, ...)", &["x"], &["variable arguments"]),
        ("cube_root", &[], &["takes 1 argument, 0 given"]),
        ("divide", &["1"], &["takes 2 arguments, 1 given"]),
        ("cube_root", &["x"], &["argument 1 of double cube_root(double): \"x\" is not of type double"]),
        (
            "const char *skip(const char *, unsigned);",
            &["x", "y"],
            &["argument 2 of const char *skip(const char *, unsigned): \"y\" is not of type uint32_t"],
        ),
        ("divide", &["1", "2.5"], &["argument 2", "\"2.5\" is not of type int32_t"]),
        ("divide", &["99999999999", "1"], &["argument 1", ": 99999999999 is not of type int32_t"]),
        ("int negated(bool)", &["2"], &["argument 1", "\"2\" is not of type bool: give 0, 1, false or true"]),
        ("half", &["1e40"], &["argument 1", "\"1e40\" is not of type float: too large"]),
        ("cube_root", &["-1e400"], &["argument 1", "\"-1e400\" is not of type double: too large"]),
    ];
    for (prototype, arguments, parts) in cases {
        call(prototype, arguments).gives(2, "").fails(2, parts);
    }
}

/// What stands behind the prototype belongs to the function.
#[test]
fn options_behind_the_prototype_are_arguments() {
    lockgate(&["call", library(), "say", "--streams"]).gives(0, "");
    lockgate(&["call", "--streams", library(), "say", "--dir=/x=/etc"]).gives(0, "--dir=/x=/etc\n");
    lockgate(&["call", library()]).fails(2, &["<PROTOTYPE>"]);
}

/// An option about the domain that the command makes would do nothing for a domain of another process: it is refused, not ignored.
#[test]
fn options_that_another_process_cannot_honour_are_refused() {
    let help = lockgate(&["call", "--help"]).out;
    let options = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line =
            line.strip_prefix('-').and_then(|rest| rest.split_once(", ")).map_or(line, |(_, long)| long);
        let (name, rest) = line.strip_prefix("--")?.split_once(' ').unwrap_or((&line[2..], ""));
        Some((name, rest.trim_start()))
    });
    let options: Vec<_> = options.collect();
    assert!(options.len() > 14, "{options:?}");
    for (name, rest) in options {
        let is_honoured = ["at", "time-limit", "help", "version"].contains(&name);
        let value = match rest.split('>').next().unwrap_or_default().trim_start_matches('<') {
            _ if !rest.starts_with('<') => None,
            "[GUEST=]DIR[:ro|:special]" => Some("/d=/usr"),
            "ADDRESS" => Some("127.0.0.1:1"),
            "NAME[=VALUE]" => Some("A=1"),
            "GUEST" => Some("/d"),
            "MODE" => Some("022"),
            "TIME" => Some("2s"),
            "SIZE" => Some("8M"),
            "N" => Some("1"),
            "FORM" => Some("line"),
            _ if is_honoured => None,
            other => panic!("--{name}: give {other} a value here"),
        };
        if is_honoured {
            continue;
        }
        let option = format!("--{name}");
        let at = ["call", "--at", "/nowhere/shop.share", &option];
        let call = ["store.take", "long take(long)", "1"];
        let given: Vec<&str> = at.into_iter().chain(value).chain(call).collect();
        lockgate(&given).fails(2, &["--at <NAME>", "cannot be used with", &option]);
    }
    let limited = ["call", "--at", "/nowhere/shop.share", "--time-limit", "2s", "a.b", "long b(long)", "1"];
    lockgate(&limited).fails(2, &["cannot connect to /nowhere/shop.share"]);
}
