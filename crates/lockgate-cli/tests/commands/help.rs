//! Help, manual pages, and what the machine supports.
use crate::commands::shop::{command, lockgate};

/// Commands with help of their own; `cc` passes everything to gcc.
const COMMANDS: [&str; 12] =
    ["link", "rewrite", "verify", "inspect", "run", "up", "logs", "stop", "restart", "call", "ps", "doctor"];

#[test]
fn help_explains_itself() {
    let main = lockgate(&["--help"]).out;
    for command in COMMANDS {
        assert!(main.contains(&format!("  {command} ")), "{command} is not in: {main}");
    }
    for command in &COMMANDS[2..] {
        let help = lockgate(&[*command, "--help"]);
        assert_eq!(help.status, 0);
        for part in ["Exit status: ", "Examples:\n", &format!("lockgate {command} ")] {
            assert!(help.out.contains(part), "{command} --help lacks {part:?}: {}", help.out);
        }
    }
    assert!(lockgate(&["--version"]).out.starts_with("lockgate 0."));
    lockgate(&["nonsense"]).fails(2, &["unrecognized subcommand 'nonsense'"]);
}

#[test]
fn manual_pages_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let man = folder.path().join("deep");
    lockgate(&["man", man.to_str().unwrap()]).gives(0, "");
    let (man, library) = (man.join("man1"), man.join("man3"));
    assert!(std::fs::read_to_string(library.join("lg_bind.3")).unwrap().starts_with(".so man3/"));
    for name in
        ["lockgate".to_owned()].into_iter().chain(COMMANDS.map(|command| format!("lockgate-{command}")))
    {
        let page = std::fs::read_to_string(man.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".TH ") && page.contains(".SH SYNOPSIS"), "{name}");
    }
}

/// Results have colours where the help has them: no-color.org's variable counts if it is not empty, and colours can be had without a terminal.
#[test]
fn results_have_colours_where_the_help_has_them() {
    for (variables, is_coloured) in [
        (&[][..], false),
        (&[("CLICOLOR_FORCE", "1")], true),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")], true),
        (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        for arguments in [&["doctor"], &["--help"]] {
            let mut lockgate = command(arguments);
            for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
                lockgate.env_remove(name);
            }
            let output = lockgate.envs(variables.iter().copied()).output().expect("lockgate starts");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.len() > 100, "{arguments:?}: {text:?}");
            assert_eq!(text.contains('\x1b'), is_coloured, "{arguments:?} with {variables:?}: {text}");
        }
    }
}

/// Our own options come first, each with what it does; then gcc has its say.
#[test]
fn cc_names_its_own_options_first() {
    let help = lockgate(&["cc", "--help"]);
    assert_eq!(help.status, 0);
    let own = ["--export PROTOTYPE", "--gates FILE", "--for postgres", "--keep-rejected", "--split"];
    let gcc = help.out.find("-fsyntax-only").or(help.out.find("--target-help")).expect("gcc's help is there");
    for option in own {
        let at = help.out.find(&format!("\n  {option} ")).unwrap_or_else(|| panic!("{option}: {}", help.out));
        assert!(at < gcc, "{option} comes after gcc's");
    }
    // (Only C can be split.)
    let cxx = lockgate(&["c++", "--help"]);
    assert!(cxx.out.contains("\n  --gates FILE ") && !cxx.out.contains("--split"), "{}", cxx.out);
    let page = std::fs::read_to_string("../../docs/building-modules.md").unwrap();
    for (option, ..) in lockgate_toolchain::cc::OPTIONS {
        assert!(help.out.contains(&format!("\n  {option} ")), "{option} is not in: {}", help.out);
        assert!(page.contains(&format!("`{option}")), "docs/building-modules.md does not have {option}");
    }
}

/// Each shell takes its completions: bash completes with them, the others (where they are installed) read them.
#[test]
fn shells_read_their_completions() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let text = lockgate(&["completions", shell]);
        assert_eq!(text.status, 0);
        let file = folder.path().join(shell);
        std::fs::write(&file, &text.out).unwrap();
        let Ok(output) = std::process::Command::new(shell).arg("-n").arg(&file).output() else {
            support::skipped(format!("completions of {shell}"), format!("{shell} is not installed"));
            continue;
        };
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let script = "source \"$1\"; COMP_WORDS=(lockgate ver); COMP_CWORD=1; _lockgate lockgate ver lockgate; echo \"${COMPREPLY[@]}\"";
    let bash =
        std::process::Command::new("bash").args(["-c", script, "-"]).arg(folder.path().join("bash")).output();
    assert_eq!(String::from_utf8(bash.unwrap().stdout).unwrap(), "verify\n");
}

/// `lockgate bench` is the program beside it, and no other: nothing is looked for elsewhere.
#[test]
fn bench_runs_the_program_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("lockgate");
    support::copy_program(env!("CARGO_BIN_EXE_lockgate").as_ref(), &program);
    let run = || {
        let mut command = std::process::Command::new(&program);
        command.args(["bench", "calls", "--help"]).env("PATH", folder.path().join("elsewhere"));
        command.output().unwrap()
    };
    let other = folder.path().join("elsewhere/lockgate-bench");
    std::fs::create_dir(other.parent().unwrap()).unwrap();
    support::write_script(&other, "#!/bin/sh\necho taken from PATH\n");
    let missing = run();
    let said = String::from_utf8(missing.stderr).unwrap();
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(2), 0));
    assert!(said.contains("lockgate-bench is not there: `make benches`"), "{said}");
    support::write_script(&folder.path().join("lockgate-bench"), "#!/bin/sh\necho \"$@\"\nexit 7\n");
    let there = run();
    assert_eq!((there.status.code(), there.stdout), (Some(7), b"calls --help\n".to_vec()));
}

#[test]
fn doctor_tells_what_is_there() {
    let ran = lockgate(&["doctor"]);
    assert_eq!(ran.status, 0, "the machine of these tests builds and runs modules: {}", ran.out);
    let json = lockgate(&["doctor", "--json"]).json();
    let findings = json["findings"].as_array().unwrap();
    let state = |name: &str| &findings.iter().find(|finding| finding["name"] == name).expect(name)["state"];
    for needed in ["fsgsbase", "avx", "gcc", "ld", "musl", "sfi"] {
        assert_eq!(state(needed), "yes", "{needed}");
    }
    for other in ["PKU", "vectors", "5-level paging", "mseal", "openat2", "vm.max_map_count"] {
        assert_ne!(state(other), "missing", "{other} is good to know, not needed");
    }
    assert_eq!(state("mpk"), "no");
}

#[test]
fn doctor_says_what_to_install() {
    let bare = |variable: &str, value: &str| {
        let output = crate::commands::shop::command(&["doctor"]).env(variable, value).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for (variable, value) in [("LOCKGATE_MUSL", "/nowhere"), ("LOCKGATE_GCC", "/nowhere/gcc")] {
        let (status, out) = bare(variable, value);
        assert_eq!(status, Some(1), "{out}");
        assert!(out.contains("MISSING") && out.contains("apt-get install gcc"), "{out}");
    }
}
