//! `lockgate run`: whole programs.
use crate::commands::shop::{command, lockgate, program};
use std::ffi::OsStr;
use std::io::{BufRead, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// Runs the program with options of `lockgate run` before it.
fn run(options: &[&str], arguments: &[&str]) -> crate::commands::shop::Ran {
    lockgate(&[&["run"], options, &[program()], arguments].concat())
}

#[test]
fn arguments_and_status_pass_through() {
    run(&[], &["arguments", "one", "--two", "-h", "three words"]).gives(0, "one\n--two\n-h\nthree words\n");
    for status in [0, 1, 77, 255] {
        run(&[], &["status", &status.to_string()]).gives(status, "");
    }
    run(&[], &["time"]).gives(0, "");
}

#[test]
fn a_program_sees_the_name_that_it_is_given() {
    run(&[], &["name"]).gives(0, &format!("{}\n", program()));
    run(&["--argv0", "a name"], &["name"]).gives(0, "a name\n");
    run(&["--argv0", ""], &["name"]).gives(0, "\n");
    run(&["--argv0", "a name"], &["arguments", "one"]).gives(0, "one\n");
}

/// Names of files are any bytes, and so are arguments and variables. Red with [`String`]s on the way.
#[test]
fn arguments_and_variables_are_any_bytes() {
    let odd = OsStr::from_bytes(b"caf\xe9");
    let passed = command(&["run", program(), "arguments"]).arg(odd).output().unwrap();
    assert_eq!(passed.stdout, b"caf\xe9\n", "{}", String::from_utf8_lossy(&passed.stderr));
    let [mut given, mut named] = [(); 2].map(|()| command(&["run", "--env"]));
    given.arg(OsStr::from_bytes(b"A=caf\xe9"));
    named.arg("A").env("A", odd);
    for mut run in [given, named] {
        let passed = run.args([program(), "environment"]).output().unwrap();
        assert_eq!(passed.stdout, b"A=caf\xe9\n", "{}", String::from_utf8_lossy(&passed.stderr));
    }
    let refused =
        command(&["run", "--env"]).arg(OsStr::from_bytes(b"\xe9=1")).arg(program()).output().unwrap();
    assert_eq!(refused.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the name is not UTF-8"));
}

#[test]
fn the_environment_is_what_was_given() {
    run(&[], &["environment"]).gives(0, "");
    let mut passed =
        command(&["run", "--env", "A=1", "--env", "PASSED", "--env", "EMPTY=", program(), "environment"]);
    let output = passed.env("PASSED", "on").env("SECRET", "kept").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "A=1\nPASSED=on\nEMPTY=\n");
    run(&["--env", "LOCKGATE_NOT_SET"], &["environment"]).fails(125, &["there is no such variable"]);
}

#[test]
fn streams_pass_through() {
    let mut child = command(&["run", program(), "copy"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("lockgate starts");
    let text = "a line\n".repeat(50_000);
    let mut stdin = child.stdin.take().unwrap();
    let (sent, mut copied) = (text.clone(), String::new());
    let writer = std::thread::spawn(move || stdin.write_all(sent.as_bytes()).unwrap());
    child.stdout.take().unwrap().read_to_string(&mut copied).unwrap();
    writer.join().unwrap();
    assert!(child.wait().unwrap().success() && copied == text);
    run(&[], &["complain"]).fails(0, &["complaint"]);
    run(&["--no-streams"], &["complain"]).gives(0, "");
    assert_eq!(run(&["--no-streams"], &["complain"]).err, "");
}

/// What a command did, and how it ended, does not depend on whether somebody can be told.
#[test]
fn nobody_needs_to_be_told() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let left = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    let attempts: [(&[&str], i32); 5] = [
        (&["run", program(), "mount"], 0),
        (&["run", program(), "null"], 139),
        (&["run", "no-such-file"], 125),
        (&["verify", "no-such-file"], 2),
        (&["call", program(), "int no_such_function(void)"], 2),
    ];
    for (arguments, status) in attempts {
        for nobody in [Stdio::from(full()), left()] {
            let ended = command(arguments).stdout(Stdio::null()).stderr(nobody).status().unwrap();
            assert_eq!(ended.code(), Some(status), "{arguments:?}");
        }
    }
}

/// As in a shell: `lockgate run yes.lg | head -1`.
#[test]
fn a_reader_that_leaves_ends_the_program() {
    let mut child =
        command(&["run", program(), "yes"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"y\n");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 13), "as by SIGPIPE");
}

/// As a service's manager ends it, by the number that the program knows itself by.
#[test]
fn signals_go_to_the_program() {
    for way in [Some("waits"), Some("loops"), None] {
        let arguments = [&["run", program(), "term"], way.as_slice()].concat();
        let mut child = command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), child.id().to_string());
        let process = rustix::process::Pid::from_child(&child);
        if way.is_some() {
            rustix::process::kill_process(process, rustix::process::Signal::USR1).unwrap();
            // Of two signals that come at once, the handler of the second may run first.
            assert_eq!(lines.next().unwrap().unwrap(), "noted");
        }
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        match way {
            Some(_) => assert_eq!(status.code(), Some(100 + 15), "{way:?}: {status}"),
            None => assert_eq!(status.signal(), Some(15), "as a program that knows nothing of signals"),
        }
    }
}

#[test]
fn what_a_program_may_not_reach_is_listed() {
    run(&[], &["connect"])
        .fails(13, &["may not use TCP: --listen and --connect grant addresses; tried once"]);
    run(&["--connect", "127.0.0.1:7"], &["connect"])
        .fails(13, &["may not connect to 127.0.0.1:9: --connect grants that; tried once"]);
    assert_eq!(run(&["--quiet"], &["connect"]).err, "");
    run(&["--connect", "127.0.0.1"], &["connect"]).fails(125, &["--connect", "there is no port"]);
    run(&["--listen", "::1:80"], &["connect"]).fails(125, &["--listen", "[::1]:80"]);
}

#[test]
fn a_program_has_as_many_descriptors_as_it_is_given() {
    run(&[], &["descriptors"]).gives(0, "253\n");
    run(&["--descriptors", "1000"], &["descriptors"]).gives(0, "997\n");
    run(&["--descriptors", "70000"], &["descriptors"]).fails(2, &["70000"]);
}

#[test]
fn files_are_mapped_shared() {
    let host = tempfile::tempdir().unwrap();
    let file = host.path().join("f");
    let granted = format!("/data={}", host.path().display());
    let read_only = format!("{granted}:ro");
    std::fs::write(&file, "text").unwrap();
    run(&["--dir", &read_only], &["map", "/data/f"]).gives(2, "").fails(2, &["mprotect: Permission denied"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"text");
    run(&["--dir", &granted], &["map", "/data/f"]).gives(0, "");
    assert_eq!(std::fs::read(&file).unwrap(), b"Xext");
    run(&["--dir", &granted], &["map", "/data/f", "shrink"]).fails(135, &["without backing", "program.c"]);
}

/// Beyond the host's own limit of file sizes the kernel sends SIGXFSZ, which would kill the host.
#[test]
fn the_hosts_limit_of_file_sizes_is_an_error_of_the_write() {
    let host = tempfile::tempdir().unwrap();
    let granted = format!("/data={}", host.path().display());
    let lockgate = env!("CARGO_BIN_EXE_lockgate");
    // Large enough for lockgate's own memory files, in blocks of 512 or 1024 bytes.
    let script = "ulimit -f 2000; exec \"$0\" run --dir \"$1\" \"$2\" fill /data/large";
    let status =
        std::process::Command::new("sh").args(["-c", script, lockgate, &granted, program()]).status();
    assert_eq!(status.unwrap().code(), Some(0), "the program saw EFBIG");
}

#[test]
fn directories_are_granted() {
    let host = tempfile::tempdir().unwrap();
    std::fs::write(host.path().join("in"), "contents\n").unwrap();
    let folder = host.path().to_str().unwrap();
    let (whole, read_only) = (format!("/data={folder}"), format!("/data={folder}:ro"));
    run(&["--dir", &whole], &["show", "/data/in"]).gives(0, "contents\n");
    run(&["--dir", &whole], &["show", "in"]).gives(0, "contents\n");
    run(&["--dir", &whole], &["store", "/data/out", "stored"]).gives(0, "");
    assert_eq!(std::fs::read(host.path().join("out")).unwrap(), b"stored");
    run(&["--dir", &read_only], &["show", "/data/in"]).gives(0, "contents\n");
    run(&["--dir", &read_only], &["store", "/data/out", "no"]).gives(1, "/data/out: Read-only file system\n");
    // The same name inside and outside.
    let inside = format!("{folder}/in");
    run(&["--dir", folder], &["show", &inside]).gives(0, "contents\n");
    run(&["--dir", &whole, "--cwd", "/data"], &["where"]).gives(0, "/data\n");
    for outside in ["/etc/passwd", "/data/../etc/passwd", "/proc/self/maps", &inside] {
        let ran = run(&["--dir", &whole], &["show", outside]);
        assert_eq!(ran.status, 1, "{outside}: {}", ran.out);
    }
    run(&[], &["show", "/etc/passwd"]).gives(1, "/etc/passwd: No such file or directory\n");
}

/// Those that the program's mask leaves, and that of `lockgate` itself.
#[test]
fn files_have_the_rights_that_the_mask_leaves() {
    use std::os::unix::fs::MetadataExt as _;
    let host = tempfile::tempdir().unwrap();
    let granted = format!("/data={}", host.path().display());
    let lockgate = env!("CARGO_BIN_EXE_lockgate");
    let cases: [(&str, &[&str], u32); 5] = [
        ("0", &[], 0o644),
        ("0", &["--umask", "027"], 0o640),
        ("0", &["--umask", "0077"], 0o600),
        ("0", &["--umask", "0"], 0o666),
        ("077", &["--umask", "0"], 0o600),
    ];
    for (own, options, rights) in cases {
        let mut run = std::process::Command::new("sh");
        run.args(["-c", &format!("umask {own}; exec \"$@\""), "sh", lockgate, "run", "--dir", &granted]);
        let status = run.args(options).args([program(), "store", "/data/out", "x"]).status().unwrap();
        assert_eq!(status.code(), Some(0), "{own} {options:?}");
        let file = host.path().join("out");
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, rights, "{own} {options:?}");
        std::fs::remove_file(file).unwrap();
    }
}

/// Rule R6: a program cannot open the file that it came from.
#[test]
fn its_own_file_is_out_of_reach() {
    let folder = std::path::Path::new(program()).parent().unwrap().to_str().unwrap();
    let granted = format!("/here={folder}");
    run(&["--dir", &granted], &["store", "/here/program.lg", "evil"])
        .gives(1, "/here/program.lg: Permission denied\n");
    run(&["--dir", &granted], &["show", "/here/program.lg"])
        .gives(1, "/here/program.lg: Permission denied\n");
    run(&[], &["status", "3"]).gives(3, "");
}

#[test]
fn faults_are_reports_and_statuses() {
    for (what, status, part) in [
        ("null", 139, "null pointer"),
        ("divide", 136, "integer division by zero"),
        ("trap", 132, "illegal instruction"),
        ("abort", 134, "called abort"),
        ("terminate", 143, "signal 15"),
    ] {
        run(&[], &[what]).fails(status, &[part, "program.lg"]);
    }
    run(&["--time-limit", "400ms"], &["for-ever"]).fails(124, &["time limit of 400ms", "main", "program.c"]);
}

/// A watchdog of wall-clock time ends a program that the limit does not, with another status.
#[test]
fn cpu_time_is_limited() {
    run(&["--cpu-limit", "200ms", "--time-limit", "20s"], &["for-ever"])
        .fails(137, &["CPU time limit", "main", "program.c"]);
    run(&["--cpu-limit", "5m", "--time-limit", "400ms"], &["for-ever"]).fails(124, &["time limit of 400ms"]);
}

#[test]
fn memory_is_limited() {
    run(&["--memory-limit", "64M"], &["memory", "20"]).gives(0, "");
    run(&["--memory-limit", "64M"], &["unchecked"]).fails(137, &["memory limit"]);
}

#[test]
fn refused_system_calls_are_listed() {
    run(&[], &["mount"])
        .gives(0, "")
        .fails(0, &["system call 165 (mount) does not exist for modules; tried 3 times"])
        .fails(0, &["system call 446 (landlock_restrict_self) does not exist for modules; tried once"])
        .fails(0, &["system call 1024 or above does not exist for modules; tried once"]);
    assert_eq!(run(&["--quiet"], &["mount"]).err, "");
}

#[test]
fn threads_that_a_program_may_not_start_are_told_of() {
    run(&[], &["threads"]).fails(22, &["it may start no more threads than --threads 0; tried 2 times"]);
    run(&["--threads", "1"], &["threads"]).fails(11, &["no more threads than --threads 1; tried once"]);
    assert_eq!(run(&["--quiet"], &["threads"]).err, "");
    assert_eq!(run(&["--threads", "2"], &["threads"]).err, "");
}

/// What it is told has one reading, and what it refuses is explained.
#[test]
fn options_of_run() {
    let host = tempfile::tempdir().unwrap();
    std::fs::create_dir(host.path().join("in")).unwrap();
    let granted = format!("/d={}", host.path().display());
    let cases: &[(&[&str], i32, &[&str])] = &[
        (
            &["--dir", "/data=/nowhere/at/all"],
            125,
            &["cannot grant the directory /nowhere/at/all", "No such file"],
        ),
        (&["--dir", "/data=/proc"], 125, &["procfs", "grant an ordinary directory"]),
        (
            &["--dir", "/data=/etc:ro", "--dir", "/data/=/usr:ro"],
            125,
            &["--dir: /data/ is given twice, as /etc and as /usr"],
        ),
        (&["--dir", "data=relative"], 2, &["must start with /", "/data=relative"]),
        (&["--dir", ".=."], 2, &["must start with /: write . alone, or /NAME=."]),
        (&["--dir", "../up=relative:ro"], 2, &["write relative alone, or /NAME=relative"]),
        (&["--dir", ".:rw"], 2, &["may be written to unless :ro is behind it: write ."]),
        (&["--dir", ".=.:rw"], 2, &["must start with /: write . alone, or /NAME=."]),
        (&["--dir", "/data=/etc:rw"], 2, &["write /data=/etc\n"]),
        (&["--dir", "nowhere/at/all"], 125, &["cannot grant the directory nowhere/at/all", "No such file"]),
        (&["--time-limit", "5h"], 2, &["use ms, s or m"]),
        (&["--cpu-limit", "0.1ms"], 2, &["shortest limit is 1ms"]),
        (&["--time-limit", "soon"], 2, &["does not start with a number"]),
        (&["--time-limit", "0.1ms"], 2, &["shortest limit is 1ms"]),
        (&["--memory-limit", "1T"], 2, &["use K, M or G"]),
        (&["--memory-limit", "4G"], 0, &[]),
        (&["--memory-limit", "5G"], 2, &["a domain has at most 4G"]),
        (&["--memory-limit", "1K"], 125, &["memory limit is 1024"]),
        (&["--stack-size", "100"], 125, &["stack size 100 is not a multiple of 4096"]),
        (&["--threads", "62"], 0, &[]),
        (&["--threads", "63"], 2, &["63 is not in 0..=62"]),
        (&["--descriptors", "65536"], 0, &[]),
        (&["--descriptors", "65537"], 2, &["65537 is not in 1..=65536"]),
        (&["--listen", "127.0.0.1"], 125, &["--listen: "]),
        (&["--connect", "unix:"], 125, &["--connect: "]),
        (&["--mappings", "16384"], 0, &[]),
        (&["--mappings", "16385"], 2, &["16385 is not in 1..=16384"]),
        (&["--umask", "777"], 0, &[]),
        (&["--umask", "1000"], 2, &["it must be an octal number between 0 and 777"]),
        (&["--umask", "8"], 2, &["it must be an octal number between 0 and 777"]),
        (&["--umask", "+7"], 2, &["it must be an octal number"]),
        (&["--umask", ""], 2, &["it must be an octal number"]),
        (&["--env", "A=1", "--env", "A=2"], 125, &["A is given twice"]),
        (&["--env", "=1"], 125, &["the variable has no name"]),
        (&["--env", "A=1", "--env", "AA=2"], 0, &[]),
        (&["--cwd", "/nonexistent"], 125, &["--cwd /nonexistent: no granted directory has this name"]),
        (&["--dir", &granted, "--cwd", "/d/out"], 125, &["--cwd /d/out: no granted directory"]),
        (&["--dir", &granted, "--cwd", "/d/in"], 0, &[]),
        (&["--dir", &granted, "--cwd", "/d"], 0, &[]),
    ];
    for (options, status, parts) in cases {
        run(options, &["status", "0"]).fails(*status, parts);
    }
}

#[test]
fn a_library_is_no_program() {
    let ran = lockgate(&["run", crate::commands::shop::library()]);
    ran.fails(125, &["is no program: it has no main"]);
}

/// What stands behind the program is its own, whatever it looks like: an argument grants nothing.
#[test]
fn options_behind_the_program_are_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let (source, module) = (folder.path().join("echo.c"), folder.path().join("echo.lg"));
    let text = "#include <stdio.h>\nint main(int c, char **v) { while (*++v) puts(*v); return fopen(\"/x/passwd\", \"r\") != 0; }\n";
    std::fs::write(&source, text).unwrap();
    crate::commands::shop::build(&source, &module, &[]);
    let module = module.to_str().unwrap();
    lockgate(&["run", module, "--dir=/x=/etc", "--no-streams", "--", "-q", "--help"])
        .gives(0, "--dir=/x=/etc\n--no-streams\n--\n-q\n--help\n");
    lockgate(&["run", "--", module, "--", "-q"]).gives(0, "--\n-q\n");
    lockgate(&["run", "--dir=/x=/etc", module, "-q"]).gives(1, "-q\n");
    lockgate(&["run", "--nonsense", program()]).fails(2, &["--nonsense"]);
}

/// The same relative paths lead to the same files, in what was granted.
#[test]
fn relative_directories() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("show.c");
    let text = "#include <stdio.h>\nint main(int c, char **v) { char b[9]; FILE *f = fopen(v[1], \"r\"); \
                if (!f) return 1; puts(fgets(b, 9, f)); return 0; }\n";
    std::fs::write(&source, text).unwrap();
    let module = folder.path().join("show.lg");
    crate::commands::shop::build(&source, &module, &[]);
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/f"), "text").unwrap();
    std::fs::write(folder.path().join("outside"), "text").unwrap();
    let run = |directory: &str, path: &str| {
        let mut run = command(&["run", "--dir", directory]);
        let output = run.arg(&module).arg(path).current_dir(folder.path()).output().expect("lockgate starts");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (directory, path) in
        [("data", "data/f"), (".", "data/f"), ("./data:ro", "./data/f"), ("data/../data", "data/f")]
    {
        assert_eq!(run(directory, path), (Some(0), String::new()), "{directory} {path}");
    }
    assert_eq!(run("data", "outside").0, Some(1));
    for (directory, part) in [("x=/etc", "write /x=/etc"), ("nowhere", "nowhere")] {
        let (status, said) = run(directory, "f");
        assert!(status != Some(0) && said.contains(part), "{directory}: {said}");
    }
}
