//! Numbers of the code that documents name: each is today's.

use super::read;

/// The number that a source file has behind `before`: `1 << 20`, `0x1_0000`, `0o777`, `((size_t)64 << 20)`, `Duration::from_secs(10)`, `"8M"`.
fn number_in(path: &str, before: &str) -> u64 {
    let source = read(path);
    let (_, rest) = source.split_once(before).unwrap_or_else(|| panic!("{path} has no {before:?}"));
    let mut rest = rest.trim_start_matches(['(', '"', '\'']);
    for start in ["Size)", "size_t)", "Duration::from_millis(", "Duration::from_secs(", "Bytes("] {
        rest = rest.strip_prefix(start).unwrap_or(rest);
    }
    let is_digit = |c: char| c.is_ascii_hexdigit() || ['_', 'x', 'o'].contains(&c);
    let parse = |text: &str| {
        let digits: String = text.chars().take_while(|c| is_digit(*c)).filter(|c| *c != '_').collect();
        let number = match (digits.strip_prefix("0x"), digits.strip_prefix("0o")) {
            (Some(digits), _) => u64::from_str_radix(digits, 16),
            (None, Some(digits)) => u64::from_str_radix(digits, 8),
            (None, None) => digits.parse(),
        };
        number.unwrap_or_else(|error| panic!("{path}: {before:?} is before {digits:?}: {error}"))
    };
    let number = parse(rest);
    let rest = rest.trim_start_matches(is_digit);
    match rest.chars().next() {
        Some('G') => number << 30,
        Some('M') => number << 20,
        Some('K') => number << 10,
        _ => rest.strip_prefix(" << ").map_or(number, |shift| number << parse(shift)),
    }
}

/// The value of a constant in a source file, as the source spells it.
fn constant_of(path: &str, name: &str) -> u64 {
    let source = read(path);
    let start = format!("const {name}: ");
    let is_declaration = |line: &&str| {
        line.split_once(&start)
            .is_some_and(|(before, _)| before.trim().is_empty() || before.trim_start().starts_with("pub"))
    };
    let line = source.lines().find(is_declaration).unwrap_or_else(|| panic!("{path} declares no {name}"));
    let (before, _) =
        line.split_once(" = ").unwrap_or_else(|| panic!("{path}: {name} has no value in its line"));
    number_in(path, &format!("{before} = "))
}

/// The same of a constant of the contract.
fn constant(name: &str) -> u64 {
    constant_of("crates/lockgate-abi/src/lib.rs", name)
}

const HEADER: &str = "crates/lockgate-headers/include/lockgate.h";

/// The exponent of a power of two, raised.
fn power(number: u64) -> String {
    assert!(number.is_power_of_two(), "{number}");
    let raised = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = number.ilog2().to_string();
    digits.bytes().map(|digit| raised[usize::from(digit - b'0')]).collect()
}

/// The oldest compiler that builds the tree.
fn rust() -> String {
    let manifest = read("Cargo.toml");
    let (_, rest) = manifest.split_once("\nrust-version = \"").expect("the workspace says it");
    rest.split('"').next().expect("a version").to_owned()
}

/// The oldest and the newest PostgreSQL that the extension knows: it refuses older ones, and no other version is compared with.
fn servers() -> (u64, u64) {
    let header = read("postgres/src/version.h");
    let compared = header.lines().filter_map(|line| line.split_once("PG_VERSION_NUM ")).map(|(_, rest)| {
        let digits = rest.trim_start_matches(['<', '>', '=', ' ']);
        digits.parse::<u64>().expect("a version") / 10_000
    });
    let versions: Vec<u64> = compared.collect();
    let (refused, _) = header.split_once("#error").expect("it refuses older ones");
    assert!(refused.ends_with(&format!("#if PG_VERSION_NUM < {}0000\n", versions[0])), "{refused}");
    (versions[0], versions.into_iter().max().expect("versions"))
}

fn in_words(number: u64) -> &'static str {
    match number {
        2 => "Two",
        64 => "Sixty-four",
        _ => panic!("say {number} in words here"),
    }
}

/// Pages that name a number of the code name today's.
#[test]
fn numbers_in_documents_are_those_of_the_code() {
    let window = |offset: u64| format!("W+0x{:04X}_{:04X}", offset >> 16, offset & 0xffff);
    let (kib, mib, gib) = (|n: u64| n >> 10, |n: u64| n >> 20, |n: u64| n >> 30);
    let shared = gib(constant("SHARED_END") - constant("SHARED"));
    let joined = constant("JOINED");
    let grants = constant_of("crates/lockgate/src/grant/mod.rs", "MAX_GRANTS");
    let descriptors = constant_of("crates/lockgate-syscall/src/descriptors.rs", "LIMIT");
    let largest = gib(constant_of("crates/lockgate-outside/src/file.rs", "LARGEST"));
    let mappings = constant_of("crates/lockgate/src/space/services.rs", "MAPPINGS");
    let most_mappings = constant_of("crates/lockgate/src/space/services.rs", "MAX_MAPPINGS");
    let poll = constant_of("crates/lockgate/src/call/watch.rs", "POLL");
    let line_header = kib(constant_of("crates/lockgate-symbols/src/elf.rs", "MAX_HEADER"));
    let abbreviations = kib(constant_of("crates/lockgate-symbols/src/inlines.rs", "MAX_ABBREVIATIONS"));
    let bools = constant_of("crates/lockgate-stubs/src/plan/record.rs", "MOST_BOOLS");
    let reclaim = constant_of("crates/lockgate/src/domain/reclamation.rs", "TIMEOUT");
    let watch = |name| constant_of("crates/lockgate-stubs/src/watch.rs", name);
    let (seconds, idle, memory) = (watch("PROCESSOR"), watch("IDLE"), gib(watch("MEMORY")));
    let entries = kib(constant_of("crates/lockgate-syscall/src/calls/getdents.rs", "MOST"));
    let of_runtime = |path: &str, name| constant_of(&format!("crates/lockgate/src/{path}"), name);
    let of_calls = |path: &str, name| constant_of(&format!("crates/lockgate-syscall/src/{path}"), name);
    // What the library itself looks for, some frames deeper, is less.
    let asked_at_callers =
        |name: &str| number_in("crates/lockgate-c/tests/c/domains.c", &format!("enum {{ {name} = "));
    let of_client =
        |name: &str| number_in("crates/lockgate-stubs/runtime/state.h", &format!("#define {name} "));
    let of_server =
        |file: &str, name: &str| number_in(&format!("postgres/src/{file}"), &format!("#define {name} "));
    let of_run = |start: &str| number_in("crates/lockgate-cli/src/cmd/domain.rs", start);
    let commas = |n: u64| match n {
        0..1000 => n.to_string(),
        _ => format!("{},{:03}", n / 1000, n % 1000),
    };
    let memory_limit = mib(number_in("crates/lockgate/src/domain/options.rs", "            memory_limit: "));
    let stack_size = mib(number_in("crates/lockgate/src/call/instance.rs", "            stack_size: "));
    let (run_memory, run_stack) = (gib(of_run("MEMORY: Bytes = ")), mib(of_run("STACK: Bytes = ")));
    let (umask, most_umask) = (of_calls("process.rs", "UMASK"), of_calls("process.rs", "MAX_UMASK"));
    let most_descriptors = of_calls("descriptors.rs", "MOST");
    let largest_file = gib(constant_of("crates/lockgate-outside/src/file.rs", "LARGEST"));
    let of_specs = |before: &str| number_in("crates/lockgate-programs/src/spec.rs", before);
    let of_programs = |path: &str, name| constant_of(&format!("crates/lockgate-programs/src/{path}"), name);
    let of_share = |path: &str, name| of_programs(&format!("share/{path}"), name);
    let off = constant("OFF");
    let (oldest, newest) = servers();
    let offers = read("crates/lockgate-programs/src/share/server.rs");
    // In one line: `Limits { clients: 32, …, bytes: 64 << 10 }`.
    let (_, offers) = offers.split_once("        Limits { ").expect("the default");
    let of_offers = |name: &str| -> u64 {
        let (_, rest) = offers.split_once(&format!("{name}: ")).unwrap_or_else(|| panic!("no {name}"));
        rest.split([',', ' ']).next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let rules = read("docs/rules.md");
    let last_rule = |kind: char| {
        let of_rule = |line: &str| {
            line.trim_start_matches('*').strip_prefix(kind)?.split([' ', '.']).next()?.parse::<u32>().ok()
        };
        rules.lines().filter_map(of_rule).max().expect("rules of the kind")
    };
    let of_gdb = |before: &str| number_in("crates/lockgate/gdb/lockgate.py", before);
    let strings_of_python = number_in("crates/lockgate-python/python/lockgate/_types.py", "STRING_LIMIT = ");
    let of_handlers = |name| of_runtime("call/interrupt_sys.rs", name);
    let info_and_context = of_calls("signal_state.rs", "INFO") + of_handlers("UCONTEXT");
    let handler = of_handlers("LEAST_ROOM") + info_and_context + of_handlers("MOST_VECTORS");
    let red_zone = of_runtime("call/layout.rs", "RED_ZONE");
    let interruptions = of_runtime("call/interruptions_sys.rs", "MOST");
    let gates = (constant("GATE_TABLE_END") - constant("GATE_TABLE")) / 8;
    let waiting = of_runtime("domain/reclamation.rs", "FEW");
    let guest_threads = constant("SLOTS") - 1;
    let cases = [
        ("docs/worked-example.md", format!("`OFF` = {:#x}", constant("OFF"))),
        ("docs/stability.md", format!("`ABI_VERSION` in `lockgate-abi`, {} now", constant("ABI_VERSION"))),
        ("docs/code-model.md", format!("{} GiB *stride*", gib(constant("STRIDE")))),
        ("docs/code-model.md", format!("{} slots of {} MiB", constant("SLOTS"), mib(constant("SLOT")))),
        ("docs/code-model.md", format!("{} KiB guards", kib(constant("GUARD")))),
        ("docs/code-model.md", window(constant("SHARED"))),
        ("docs/code-model.md", window(constant("STACKS"))),
        (
            "docs/rules.md",
            format!(
                "| SLOT | power of two; one thread's control stack with both guards lies inside one SLOT-aligned block | {} MiB |",
                mib(constant("SLOT"))
            ),
        ),
        (
            "docs/rules.md",
            format!("also window of legal rsp displacements | {} KiB |", kib(constant("MAX_MOVE"))),
        ),
        ("docs/rules.md", format!("| {} KiB; at least 2T + D + A + 4096", kib(constant("GUARD")))),
        ("docs/grants.md", format!("`{}`", window(constant("SHARED")))),
        ("docs/grants.md", format!("all regions of a process share {shared} GiB")),
        ("docs/grants.md", format!("A domain has at most {grants} grants")),
        ("docs/python.md", format!("share {shared} GiB, and a domain has at most {grants} grants")),
        ("docs/limits.md", format!("| threads | `thread_limit` | {} |", constant("SLOTS"))),
        ("docs/limits.md", format!("| {} with one thread |", constant("SLOTS") - 1)),
        ("docs/limits.md", format!("| descriptors | `descriptor_limit` | {descriptors} |")),
        ("docs/limits.md", format!("| mappings | `mapping_limit` | {} |", commas(mappings))),
        ("docs/limits.md", format!("can be given {} at most |", commas(most_mappings))),
        ("docs/programs.md", format!("at most {} | {} |", commas(most_mappings), commas(mappings))),
        (HEADER, format!("/* default {mappings}. 1-{most_mappings}. Mappings of memory")),
        ("docs/programs.md", format!("in a string, at most `\"{most_umask:o}\"`")),
        ("docs/programs.md", format!("`lockgate up` removes | `\"{umask:03o}\"` |")),
        ("docs/system-calls.md", format!("it begins with {umask:03o},")),
        (HEADER, format!("/* default {umask:03o}. 0-0{most_umask:o}. File")),
        ("docs/limits.md", format!("Every {poll} ms the watcher")),
        ("docs/dlopen.md", format!("{joined} modules in the life of one domain")),
        ("docs/dlopen.md", format!("may block for at most {reclaim} ms")),
        ("docs/dlopen.md", format!("A file has at most {largest} GiB")),
        ("docs/building-modules.md", format!("ordinary files of at most {largest} GiB")),
        ("docs/system-calls.md", format!("up to {entries} KiB a call")),
        ("docs/stubs.md", format!("ends after {seconds} seconds of CPU time, with {memory} GiB of memory")),
        ("docs/stubs.md", format!("nothing has happened for {idle} seconds")),
        ("docs/stubs.md", format!("a structure {},{:03} fields of type `bool`", bools / 1000, bools % 1000)),
        ("CAVEATS.md", format!("one domain holds at most {joined} modules")),
        ("CAVEATS.md", format!("samples CPU time every {poll} ms")),
        ("CAVEATS.md", format!("share {shared} GiB of offsets")),
        ("CAVEATS.md", format!("line tables over {line_header} KiB")),
        ("CAVEATS.md", format!("abbreviations over {abbreviations} KiB")),
        ("CAVEATS.md", format!("larger than a guard ({} KiB)", kib(constant("GUARD")))),
        ("CAVEATS.md", format!("one thread has {} contexts", constant("SLOTS") - 1)),
        ("CAVEATS.md", format!("A module's file has at most {largest} GiB")),
        (
            "docs/limits.md",
            format!("heap and mappings have about {} GiB of the window", gib(constant("SHARED"))),
        ),
        ("docs/limits.md", format!("| memory | `memory_limit` | {memory_limit} MiB |")),
        ("docs/limits.md", format!("| stack | `stack_size` | {stack_size} MiB a thread |")),
        (
            "docs/limits.md",
            format!("larger defaults: {run_memory} GiB of memory and {run_stack} MiB of stack"),
        ),
        ("docs/limits.md", format!("a domain can be given {} at most", commas(most_descriptors))),
        (
            "docs/limits.md",
            format!(
                "| pieces of files locked by `fcntl` | – | {} |",
                commas(of_calls("record_locks.rs", "MOST"))
            ),
        ),
        ("docs/limits.md", format!("as the watcher sees it, at most {poll} ms later")),
        ("docs/limits.md", format!("checks for this every {} ms", of_calls("waits.rs", "LOOK"))),
        (
            "docs/programs.md",
            format!(
                "| size; at most `{}G`, of which a heap can have about 2 GiB | `{}G` |",
                gib(constant("SIZE")),
                run_memory
            ),
        ),
        ("docs/programs.md", format!("| `stack_size` | size | `{run_stack}M` |")),
        ("docs/programs.md", format!("threads that the program may start, at most {guest_threads}")),
        ("docs/programs.md", format!("| at most {} | {descriptors} |", commas(most_descriptors))),
        (
            "docs/programs.md",
            format!(
                "| `{}ms`, `{}s`, `{}s` |",
                of_specs("            first: "),
                of_specs("            ceiling: "),
                of_specs("            reset: ")
            ),
        ),
        (
            "docs/programs.md",
            format!("| `stop_timeout` | time | `{}s` |", of_specs("            stop_timeout: ")),
        ),
        ("docs/programs.md", format!("address space ({} GiB a domain)", gib(constant("STRIDE")))),
        ("docs/programs.md", format!("A line longer than {} KiB", kib(of_programs("logs.rs", "LINE")))),
        ("docs/programs.md", format!("the last {} KiB of each", kib(of_programs("logs.rs", "TAIL")))),
        ("docs/programs.md", format!("as failed, with status {}", of_programs("run.rs", "NOT_STARTED"))),
        (
            "docs/registry.md",
            format!("all {} places for exports and bindings", of_runtime("stats/table_sys.rs", "BOUND") - 1),
        ),
        (
            "docs/registry.md",
            format!(
                "a process's first {} descriptors",
                commas(of_runtime("registry/observe.rs", "DESCRIPTORS"))
            ),
        ),
        (
            "docs/registry.md",
            format!(
                "demangle {} KiB of names",
                kib(constant_of("crates/lockgate-cli/src/cmd/ps.rs", "MANGLED"))
            ),
        ),
        (
            "docs/debugging.md",
            format!("at most {} KiB of the thread's", kib(of_runtime("report/stack_image.rs", "MOST"))),
        ),
        ("docs/debugging.md", format!("at most {} bytes long", of_calls("last_words.rs", "LONGEST"))),
        ("docs/debugging.md", format!("a row of {} bytes", of_runtime("stats/table_sys.rs", "ROW"))),
        ("docs/debugging.md", format!("those of the first {} |", of_gdb("EAGER = "))),
        ("docs/debugging.md", format!("more than {} deep", of_gdb("MOST_DEPTH = "))),
        ("docs/python.md", format!("at most {} MiB, in memory of the domain", mib(strings_of_python))),
        ("docs/python.md", format!("A domain has {} function pointers", constant("CALLBACKS"))),
        ("docs/postgres.md", format!("At most {} domains", of_server("domains.c", "MOST_DOMAINS"))),
        ("docs/postgres.md", format!("in progress in a session have {shared} GiB together")),
        ("docs/postgres.md", format!("keeps at least {} KiB", kib(of_server("exchange.c", "FIRST_CHUNK")))),
        (
            "docs/postgres.md",
            format!("More than {} words (8 bytes each)", of_server("registers.h", "STACKED")),
        ),
        (
            "docs/postgres.md",
            format!("more than {} columns in all row types", of_server("rows.h", "MOST_NESTED_COLUMNS")),
        ),
        ("docs/postgres.md", format!("rows of more than {} columns", of_server("rows.h", "MOST_COLUMNS"))),
        (
            "docs/postgres.md",
            format!(
                "image, stacks, heap; {} MB",
                number_in(
                    "postgres/src/domains.c",
                    "\"Memory that a module may have in each session and for each role.\", NULL, &memory_limit, "
                )
            ),
        ),
        ("docs/system-calls.md", format!("own table ({descriptors} if the host does not say")),
        (
            "docs/system-calls.md",
            format!("{} MiB at most (`EMSGSIZE`)", mib(of_calls("calls/pieces.rs", "MESSAGE"))),
        ),
        (
            "docs/system-calls.md",
            format!("`SO_RCVBUF` ({} MiB at most)", mib(of_calls("calls/socket_option.rs", "BUFFER"))),
        ),
        (
            "docs/system-calls.md",
            format!("made and emptied {} MiB at a time", mib(of_calls("calls/truncate.rs", "PIECE"))),
        ),
        (
            "docs/system-calls.md",
            format!("MADV_FREE from {} KiB on", kib(of_runtime("space/services.rs", "FREED"))),
        ),
        (
            "docs/system-calls.md",
            format!("| own | up to {} bytes a call |", of_calls("calls/random.rs", "MOST")),
        ),
        (
            "docs/system-calls.md",
            format!("at most {} bytes of it count", of_calls("last_words.rs", "LONGEST_WORDS")),
        ),
        ("docs/system-calls.md", format!("{} pieces at most", commas(of_calls("record_locks.rs", "MOST")))),
        (
            "docs/system-calls.md",
            format!("belong to user and group {}", of_calls("calls/identity.rs", "USER")),
        ),
        (
            "docs/system-calls.md",
            format!(
                "a handler needs {} KiB of the stack that it interrupts at an instruction, {} KiB behind a system call",
                (constant("LIVE_BELOW") + handler + info_and_context).div_ceil(1024),
                (red_zone + 64 + 2 * 16 + handler).div_ceil(1024)
            ),
        ),
        (
            "docs/system-calls.md",
            format!(
                "{interruptions} handlers of a domain at once on a thread ({} of all), {} signals that wait, besides one of each timer, and {} timers in a domain",
                4 * interruptions,
                of_calls("signal_state.rs", "MOST_QUEUED"),
                of_calls("timers.rs", "MOST")
            ),
        ),
        ("docs/grants.md", format!("rounded up to {} bytes", of_runtime("grant/allocator.rs", "GRANULE"))),
        ("docs/grants.md", format!("does within {} ms", of_calls("waits.rs", "LOOK"))),
        ("docs/sharing.md", format!("at most {} words of 8 bytes", of_share("shape.rs", "WORDS"))),
        ("docs/sharing.md", format!("together, a result at most {}", of_share("shape.rs", "RESULTS"))),
        ("docs/sharing.md", format!("| clients at once | {} |", of_offers("clients"))),
        ("docs/sharing.md", format!("| clients of one user | {} |", of_offers("clients_of_user"))),
        ("docs/sharing.md", format!("at once | {} |", of_offers("threads"))),
        ("docs/sharing.md", format!("may have bound | {} |", of_offers("functions"))),
        (
            "docs/sharing.md",
            format!("{} KiB, at most {} MiB", of_offers("bytes"), mib(of_share("line.rs", "MOST"))),
        ),
        (
            "docs/sharing.md",
            format!("can have at most {} threads", of_offers("clients_of_user") * of_offers("threads")),
        ),
        ("docs/sharing.md", format!("has room for {} threads", constant("SLOTS"))),
        ("docs/sharing.md", format!("have at most {} KiB", kib(of_share("wire.rs", "MESSAGE")))),
        ("crates/lockgate/src/lib.rs", format!("R1–R{}", last_rule('R'))),
        ("ARCHITECTURE.md", format!("V0 to V{} for the verifier, R1 to R{}", last_rule('V'), last_rule('R'))),
        ("docs/threat-model.md", format!("R1 to R{} and V0 to V{}", last_rule('R'), last_rule('V'))),
        ("CONTRIBUTING.md", format!("V0 to V{} (verifier), R1 to R{}", last_rule('V'), last_rule('R'))),
        ("docs/threat-model.md", format!("opened once without waiting, at most {largest_file} GiB")),
        ("docs/building-modules.md", format!("are ordinary files of at most {largest_file} GiB")),
        (
            "docs/program-calls.md",
            format!(
                "A call that has waited for {} ms begins before",
                of_runtime("call/exclusive_sys.rs", "OVERDUE_AFTER")
            ),
        ),
        (
            "docs/program-calls.md",
            format!("a program has room for {} threads, its own among them", guest_threads + 1),
        ),
        ("docs/code-model.md", format!("gate table (r--), {gates} slots of 8 bytes")),
        ("docs/code-model.md", format!("a domain with one thread can have {guest_threads}")),
        (
            "docs/code-model.md",
            format!(
                "(at least {} KiB, at most {:.1} MiB",
                kib(constant("MIN_SIZE")),
                (constant("SLOT") - 2 * constant("GUARD")) as f64 / f64::from(1 << 20)
            ),
        ),
        (
            "docs/life-of-a-call.md",
            format!(
                "more than {} instructions and table entries",
                constant_of("crates/lockgate-verify/src/function.rs", "MAX")
            ),
        ),
        (
            "docs/building-modules.md",
            format!(
                "more than {} MiB of padding",
                mib(constant_of("crates/lockgate-toolchain/src/rewritten.rs", "MAX_UNREAD"))
            ),
        ),
        ("docs/building-modules.md", format!("`lockgate run`, with {guest_threads} threads")),
        (
            "docs/dlopen.md",
            format!("{} bytes of code and a header", 2 * of_runtime("call/code_sys.rs", "SIZE")),
        ),
        ("docs/dlopen.md", format!("when more than {waiting} closed libraries are waiting")),
        (
            "docs/stubs.md",
            format!(
                "digits, `-` and `_`, at most {} characters",
                constant_of("crates/lockgate-stubs/src/name.rs", "LONGEST")
            ),
        ),
        ("docs/stubs.md", format!("the program has released {} more", of_client("LGS_RESTS"))),
        (
            "docs/stubs.md",
            format!(
                "{} of a type at a time",
                constant_of("crates/lockgate-stubs/runtime/rust/support_sys.rs", "SLOTS")
            ),
        ),
        (
            "docs/stubs.md",
            format!(
                "{} of a type at a time",
                number_in("crates/lockgate-stubs/runtime/cpp/lockgate_stubs.hpp", "std::size_t COUNT = ")
            ),
        ),
        (
            "docs/glossary.md",
            format!("The {} GiB of address space that a domain's code can address", gib(constant("SIZE"))),
        ),
        ("docs/glossary.md", format!("The {} GiB of address space of one domain", gib(constant("STRIDE")))),
        (
            "docs/design.md",
            format!(
                "a *stride*, {} GiB of address space: the {} GiB window",
                gib(constant("STRIDE")),
                gib(constant("SIZE"))
            ),
        ),
        (
            "CAVEATS.md",
            format!(
                "reserves address space of its own ({} GiB",
                (1 + of_runtime("space/stride_sys.rs", "RESERVED_AT_ONCE")) * gib(constant("STRIDE"))
            ),
        ),
        ("CAVEATS.md", format!("when there are {} MiB of them", mib(of_client("LGS_OBJECTS")))),
        ("CAVEATS.md", format!("There are {} million places", of_client("LGS_HANDLES") / 1_000_000)),
        ("CAVEATS.md", format!("{} such jumps, each deeper", in_words(of_client("LGS_DEPTH")))),
        (
            "CAVEATS.md",
            format!(
                "and {} other threads have used the library",
                in_words(of_client("LGS_MIRRORS")).to_lowercase()
            ),
        ),
        (
            "CAVEATS.md",
            format!(
                "more than {} seconds of reading",
                in_words(constant_of("crates/lockgate-symbols/src/inlines.rs", "READING")).to_lowercase()
            ),
        ),
        ("CAVEATS.md", format!("default of\n{} mappings is too few", commas(mappings))),
        ("CAVEATS.md", format!("A domain with one thread has {guest_threads} contexts")),
        (
            HEADER,
            format!(
                "It has {} KiB beyond the kernel's frames of {} signals",
                kib(of_runtime("call/alternate_sys.rs", "HANDLER_NEED")),
                of_runtime("call/alternate_sys.rs", "SIGNALS")
            ),
        ),
        (
            HEADER,
            format!(
                "A thread needs {} KiB of its stack for its first call of a domain, and {} KiB to make one",
                kib(asked_at_callers("FOR_A_CALL")),
                kib(asked_at_callers("TO_MAKE_ONE"))
            ),
        ),
        (HEADER, format!("the domain has {grants} grants already")),
        (HEADER, format!("more than {largest} GiB, as for files")),
        (HEADER, format!("/* default {memory_limit} MiB. Counts image, stacks, heap, mappings */")),
        (HEADER, format!("/* default {stack_size} MiB. Of each thread; whole pages */")),
        (HEADER, format!("All regions of a process share {shared} GiB")),
        (HEADER, format!("A domain can have {} at a time", constant("CALLBACKS"))),
        (HEADER, format!("/* default {guest}. 1-{guest} */", guest = guest_threads + 1)),
        (HEADER, format!("/* default {descriptors}. 1-{most_descriptors} */")),
        (HEADER, format!("more than {} threads", of_runtime("workers/mod.rs", "MOST"))),
        (
            HEADER,
            format!(
                "for functions without a signature; at most {}",
                of_runtime("dl/options.rs", "MAX_STACK_BYTES")
            ),
        ),
        (
            HEADER,
            format!("0: {}000 */", number_in("crates/lockgate/src/dl/options.rs", "            timeout: ")),
        ),
        (HEADER, format!("block up to {reclaim} ms")),
        ("docs/errors.md", format!("the domain has {grants} grants already")),
        (
            "docs/errors.md",
            format!(
                "give a coroutine {} KiB of stack",
                kib(of_runtime("call/thread_sys.rs", "START_STACK")
                    + of_runtime("call/thread_sys.rs", "LEAST_STACK"))
            ),
        ),
        ("docs/stubs.md", format!("all of them (at most {})", of_client("LGS_SHARERS"))),
        ("docs/stubs.md", format!("for good, and there are only {}", constant("CALLBACKS"))),
        (HEADER, format!("a guard of {} KiB", kib(constant("GUARD")))),
        (
            "docs/limits.md",
            format!("| `detached_limit` | {} minute |", of_runtime("domain/limits.rs", "DETACHED") / 60),
        ),
        (
            "docs/program-calls.md",
            format!("wait for a turn; {} s if it is not there", of_specs("            turn_timeout: ")),
        ),
        (
            "docs/building-modules.md",
            format!(
                "hold more than {} times the object's size",
                constant_of("crates/lockgate-toolchain/src/signatures/dwarf.rs", "MAX_RATIO")
            ),
        ),
        ("docs/dlopen.md", format!("All these files have at most {largest_file} GiB together")),
        ("docs/dlopen.md", format!("A file has at most {largest_file} GiB")),
        (
            "docs/system-calls.md",
            format!("a pipe, a socket or a file; {} MiB a call", mib(of_calls("calls/transfer.rs", "PIECE"))),
        ),
        (
            "docs/system-calls.md",
            format!(
                "one write is one message, of {} MiB at most",
                mib(of_calls("calls/pieces.rs", "MESSAGE"))
            ),
        ),
        (
            "docs/python.md",
            format!(
                "an object of that class, of at most {} bytes",
                of_runtime("signature/abi.rs", "MOST_IN_REGISTERS")
            ),
        ),
        (
            "docs/sysroot.md",
            format!(
                "blocks of up to {} KiB",
                kib(number_in("crates/lockgate-toolchain/sysroot/libc/malloc.c", "    LARGEST = "))
            ),
        ),
        (
            "CAVEATS.md",
            format!(
                "a coroutine's stack: give it {} KiB",
                kib(of_runtime("call/thread_sys.rs", "START_STACK")
                    + of_runtime("call/thread_sys.rs", "LEAST_STACK"))
            ),
        ),
        (
            "CAVEATS.md",
            format!(
                "Two copies take at most {} bytes of static TLS",
                commas(number_in("crates/lockgate-c/tests/install.rs", "blocks.iter().sum::<u64>() <= "))
            ),
        ),
        (
            "docs/code-model.md",
            format!(
                "at + OFF ({} GiB - {} MiB)",
                gib(off.next_power_of_two()),
                mib(off.next_power_of_two() - off)
            ),
        ),
        (
            "docs/rules.md",
            format!("| 2{} − 2{} |", power(off.next_power_of_two()), power(off.next_power_of_two() - off)),
        ),
        (
            "docs/limits.md",
            format!(
                "the domain's time limit at most, or for {} seconds if it has none",
                number_in(
                    "crates/lockgate/src/domain/entering.rs",
                    "const LEAVING: Duration = Duration::from_secs("
                )
            ),
        ),
        (
            "docs/programs.md",
            format!(
                "A name has 1 to {} letters",
                constant_of("crates/lockgate-cli/src/cmd/up/file.rs", "LONGEST_NAME")
            ),
        ),
        (
            "docs/programs.md",
            format!(
                "Lockgate answers at most {} requests at once",
                constant_of("crates/lockgate-programs/src/server.rs", "AT_ONCE")
            ),
        ),
        (
            "docs/grants.md",
            format!(
                "These gifts do not count against the receiver's {} grants, and one domain passes on {} regions",
                of_runtime("grant/mod.rs", "MAX_GRANTS"),
                of_runtime("grant/mod.rs", "MAX_PASSED_ON")
            ),
        ),
        (
            "docs/debugging.md",
            format!(
                "takes more than {} seconds, the copy gets no debug information",
                number_in("crates/lockgate/gdb/lockgate.py", "\nMOST_SECONDS = ")
            ),
        ),
        ("README.md", format!("and Rust {} or later", rust())),
        ("CONTRIBUTING.md", format!("You need make and Rust {} or later", rust())),
        ("docs/postgres.md", format!("that `pg_config` names: {oldest} to {newest} (")),
        ("docs/start/postgresql.md", format!("(PostgreSQL {oldest} to {newest}, with")),
        ("docs/stability.md", format!("PostgreSQL: {oldest} to {newest}.")),
        ("postgres/src/version.h", format!("versions of PostgreSQL, {oldest} to {newest}.")),
    ];
    // Where a line of a page, or of a comment, ends says nothing.
    let flat = |text: &str| text.split_whitespace().filter(|word| *word != "*").collect::<Vec<_>>().join(" ");
    let missing = cases.iter().filter(|(path, text)| !flat(&read(path)).contains(&flat(text)));
    let missing: Vec<_> = missing.map(|(path, text)| format!("{path} does not say {text:?}")).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
