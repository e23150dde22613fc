//! A module that attacks its host in every way that we could think of, and what becomes of each attempt.

use crate::cpu_state_sys::{CpuState, keeps_registers};
use crate::modules::Builder;
use anyhow::{Context as _, bail, ensure};
use lockgate::{CallError, Domain, DomainOptions, Fault, Module};
use lockgate_bench::screen::{Cell, Paint, Screen};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const FLAGS: &[&str] = &["-O1", "-g", "-w", "-fno-optimize-sibling-calls"];
/// Of calls that never end.
const TIME_LIMIT: Duration = Duration::from_millis(100);
/// Of all others: on a busy machine it may take a while until all memory is taken, or a stack has overflowed.
const LONG_TIME_LIMIT: Duration = Duration::from_secs(10);
const MEMORY_LIMIT: u64 = 32 << 20;
const SECRET: u64 = 0x5ec2_e75e_c2e7_5ec2;

/// What an attack is given to aim at.
#[derive(Clone, Copy, PartialEq)]
enum Target {
    /// Nothing.
    None,
    /// The address of the host's secret.
    Secret,
    /// An address near the secret whose lower half is that of memory that the module has.
    Lucky,
    /// The address of a function of the host.
    Code,
}

/// How an attack has to end. In any case the host must be unharmed.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// By a fault in its own code: the report names function, file and line.
    Stopped,
    /// By a fault in the C library, which has no debug information: the report names the function.
    StoppedInLibrary,
    /// By a system call's error number.
    Refused,
    /// By a return: what it did, it did to itself.
    Harmless,
}

struct Attack {
    what: &'static str,
    function: &'static str,
    target: Target,
    end: End,
}

const fn attack(what: &'static str, function: &'static str, target: Target, end: End) -> Attack {
    Attack { what, function, target, end }
}

/// Attacks on the ordinary build. Its addresses are truncated, so that a wild one leads to some place in the module's own
/// window: mostly unmapped (a fault), else its own memory.
const ATTACKS: &[Attack] = &[
    attack("call the host's code", "jump_to_host", Target::Code, End::Stopped),
    attack("call into the middle of a function", "corrupted_pointer", Target::None, End::Stopped),
    attack("run code from the heap", "run_data", Target::None, End::Stopped),
    attack("overwrite the return address", "smash_stack", Target::Code, End::Harmless),
    attack("longjmp with a forged buffer", "forged_longjmp", Target::Code, End::StoppedInLibrary),
    attack("overwrite its own code", "write_own_code", Target::None, End::Stopped),
    attack("overwrite the gate table", "write_gate_table", Target::None, End::Stopped),
    attack("write through a null pointer", "null_write", Target::None, End::Stopped),
    attack("recurse for ever", "infinite_recursion", Target::None, End::Stopped),
    attack("recurse with large frames", "big_frames", Target::None, End::Stopped),
    attack("loop for ever", "infinite_loop", Target::None, End::Stopped),
    attack("take all memory", "memory_bomb", Target::None, End::Harmless),
    attack("divide by zero", "divide_by_zero", Target::None, End::Stopped),
    attack("illegal instruction", "illegal_instruction", Target::None, End::Stopped),
    attack("junk in preserved registers", "trash_registers", Target::None, End::Harmless),
    attack("x87 full, exceptions unmasked", "trash_x87", Target::None, End::Harmless),
    attack("SSE rounding and masks changed", "trash_mxcsr", Target::None, End::Harmless),
    attack("open /etc/shadow", "open_shadow", Target::None, End::Refused),
    attack("execve /bin/sh", "run_shell", Target::None, End::Refused),
    attack("ptrace by a raw system call", "raw_syscall", Target::None, End::Refused),
    attack("map executable memory", "executable_memory", Target::None, End::Refused),
    attack("exit", "leave_process", Target::None, End::StoppedInLibrary),
    attack("abort", "abort_process", Target::None, End::StoppedInLibrary),
];

/// Attacks on memory, shown in both builds: what the ordinary one confines, `--strict-bounds` reports at the very instruction.
const WILD: &[(&str, &str, Target)] = &[
    ("write to the host", "wild_write", Target::Secret),
    ("write to the host, at a lucky address", "wild_write", Target::Lucky),
    ("read from the host", "wild_read", Target::Secret),
    ("memcpy from the host", "copy_out", Target::Secret),
    ("have the kernel write to the host", "bogus_pointer", Target::Secret),
];

/// Instructions that no module may contain.
const FORBIDDEN: &[(&str, &str)] = &[
    ("change the window base", "wrgsbase %rax"),
    ("reverse string operations", "std"),
    ("system call, the old way", "int $0x80"),
    ("change protection keys", "wrpkru"),
];

/// What the module must not touch. The canary is read as bytes after each attack.
struct Host {
    secret: Box<[u64; 64]>,
    state: CpuState,
}

/// Set if a module ever manages to call it.
static REACHED: AtomicBool = AtomicBool::new(false);

extern "C" fn out_of_reach() -> i64 {
    REACHED.store(true, Ordering::SeqCst);
    0
}

impl Host {
    fn new() -> Self {
        Self { secret: Box::new([SECRET; 64]), state: CpuState::now() }
    }

    /// `own` is memory of the module.
    fn aim(&self, target: Target, own: u64) -> u64 {
        let secret = self.secret.as_ptr() as u64;
        match target {
            Target::None => 0,
            Target::Secret => secret,
            Target::Lucky => secret & !0xffff_ffff | own & 0xffff_ffff,
            Target::Code => out_of_reach as extern "C" fn() -> i64 as usize as u64,
        }
    }

    /// An error names what an attack has damaged.
    fn check(&self) -> anyhow::Result<()> {
        ensure!(
            std::hint::black_box(&self.secret).iter().all(|word| *word == SECRET),
            "the host's memory was changed"
        );
        ensure!(!REACHED.load(Ordering::SeqCst), "the host's code was called");
        let now = CpuState::now();
        ensure!(now == self.state, "the processor's state was changed: {now:?}, not {:?}", self.state);
        Ok(())
    }
}

/// Attempts that stand for the others where there is little room.
const SHOWN: &[&str] = &[
    "call the host's code",
    "overwrite the return address",
    "write through a null pointer",
    "loop for ever",
    "take all memory",
    "open /etc/shadow",
    "write to the host, at a lucky address",
    "change protection keys",
    "patch in a system call",
];

/// A table of `rows`, or a line each of those among them that stand for the others: what, outcome and reason, as far as there is room.
fn print(screen: &Screen, rows: &[Vec<Cell>], full: bool) {
    const WIDTHS: (usize, usize, usize) = (38, 11, 60);
    if full {
        return screen.table(rows);
    }
    for row in rows {
        let Some(what) = row.iter().position(|cell| SHOWN.contains(&cell.text.as_str())) else { continue };
        let (outcome, reason) = (&row[what + 1], row.last().map_or("", |cell| cell.text.as_str()));
        let cut = reason.char_indices().nth(WIDTHS.2).map(|(at, _)| format!("{}…", &reason[..at]));
        let reason = cut.unwrap_or_else(|| reason.to_owned());
        let (what, outcome) = (&row[what].text, &outcome.text);
        screen.line(Paint::Plain, &format!("  {what:0$}{outcome:1$}{reason}", WIDTHS.0, WIDTHS.1));
    }
}

/// Builds the hostile module and lets it try; an error if any attempt gets through. All attempts are printed if `full`, else some.
pub fn show(screen: &Screen, builder: &Builder, folder: &Path, full: bool) -> anyhow::Result<()> {
    let host = Host::new();
    let flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    let object = builder.compile(&folder.join("hostile.c"), &flags, "hostile")?;
    let wild_functions =
        WILD.iter().filter(|(_, _, target)| *target == Target::Secret).map(|(_, function, _)| *function);
    let exports: Vec<&str> = ATTACKS.iter().map(|attack| attack.function).chain(wild_functions).collect();
    let (plain_path, _) = builder.link(&object, &exports, false)?;
    let (strict_bounds_path, _) = builder.link(&object, &exports, true)?;
    let (plain, strict_bounds) = (Module::open(&plain_path)?, Module::open(&strict_bounds_path)?);

    let mut rows = Vec::new();
    for attack in ATTACKS {
        rows.push(attempt(&plain, attack, &host).with_context(|| attack.what.to_owned())?);
    }
    print(screen, &rows, full);

    if full {
        screen.line(
            Paint::Plain,
            "\n  The same wild pointers twice: the ordinary build cuts every address down to the module's own window, so that\n  \
             the host is out of reach; --strict-bounds compares first and stops at the very instruction.\n",
        );
    }
    let mut rows = Vec::new();
    for (module, build) in [(&plain, "ordinary"), (&strict_bounds, "strict bounds")] {
        for (what, function, target) in WILD {
            let mut row =
                wild(module, what, function, *target, &host).with_context(|| format!("{what}, {build}"))?;
            row.insert(0, Cell::new(Paint::Faint, build));
            rows.push(row);
        }
    }
    print(screen, if full { &rows } else { &rows[..WILD.len()] }, full);

    if full {
        screen.line(Paint::Plain, "\n  Code that never gets as far as running:\n");
    }
    let mut rows = Vec::new();
    for (what, instruction) in FORBIDDEN {
        rows.push(forbidden(builder, what, instruction)?);
    }
    rows.extend(tampered(&plain_path)?);
    print(screen, &rows, full);

    host.check()?;
    let count = ATTACKS.len() + 2 * WILD.len();
    let verdict = format!(
        "  {count} attacks, and the host's memory, code, registers and processor state are as they were."
    );
    screen.line(Paint::Good, &verdict);
    Ok(())
}

fn new_domain(module: &Arc<Module>, time_limit: Duration) -> anyhow::Result<Domain> {
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    let name = format!("hostile-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let options = DomainOptions::new().name(name).memory_limit(MEMORY_LIMIT).time_limit(time_limit);
    Ok(Domain::new(module, options)?)
}

/// One attack in a domain of its own: a row of the table, or an error if it harmed the host or ended otherwise than it has to.
fn attempt(module: &Arc<Module>, attack: &Attack, host: &Host) -> anyhow::Result<Vec<Cell>> {
    let time_limit = if attack.function == "infinite_loop" { TIME_LIMIT } else { LONG_TIME_LIMIT };
    let domain = new_domain(module, time_limit)?;
    let function = domain.bind::<extern "C" fn(u64) -> i64>(attack.function)?;
    let result = function.call(host.aim(attack.target, 0));
    host.check()?;
    if attack.function == "trash_registers" {
        ensure!(keeps_registers(&function), "preserved registers were changed");
    }
    let (end, place, reason) = match result {
        Ok(value) if (-4095..0).contains(&value) => {
            (End::Refused, String::new(), std::io::Error::from_raw_os_error(-value as i32).to_string())
        }
        Ok(value) => (End::Harmless, String::new(), harmless(attack.function, value)),
        Err(CallError::Fault(fault)) => {
            let (end, place) = place(&fault)?;
            (end, place, fault.reason().to_owned())
        }
        Err(error) => bail!("the call could not be made: {error}"),
    };
    ensure!(end == attack.end, "it ended otherwise than it has to: {place} {reason}");
    let outcome = match end {
        End::Stopped | End::StoppedInLibrary => "stopped",
        End::Refused => "refused",
        End::Harmless => "harmless",
    };
    Ok(row(attack.what, outcome, &domain, place, reason))
}

fn row(what: &str, outcome: &str, domain: &Domain, place: String, reason: String) -> Vec<Cell> {
    vec![
        Cell::new(Paint::Plain, what),
        Cell::new(Paint::Good, outcome),
        Cell::new(Paint::Faint, domain.name()),
        Cell::new(Paint::Plain, place),
        Cell::new(Paint::Faint, reason),
    ]
}

/// Whose code a fault was in, and where; an error if the report does not say it.
fn place(fault: &Fault) -> anyhow::Result<(End, String)> {
    let place = fault.location().context("the report names no place")?;
    let function = place.function.context("the report names no function")?;
    Ok(match (place.file, place.line) {
        (Some(file), Some(line)) => {
            let file = Path::new(&file).file_name().unwrap_or_default().to_string_lossy().into_owned();
            (End::Stopped, format!("{function} {file}:{line}"))
        }
        _ => (End::StoppedInLibrary, format!("{function} (C library)")),
    })
}

/// Why a return is no success of the attacker.
fn harmless(function: &str, value: i64) -> String {
    match function {
        "memory_bomb" => {
            format!("{value} MiB, then malloc had no more: the limit is {} MiB", MEMORY_LIMIT >> 20)
        }
        "smash_stack" => {
            "it returned as if nothing had happened: return addresses are not on its stack".to_owned()
        }
        "trash_registers" => "the proxy gave the host its own registers back".to_owned(),
        _ => "the host's own state is back after the call".to_owned(),
    }
}

/// One wild access, at the host's secret.
fn wild(
    module: &Arc<Module>,
    what: &str,
    function: &str,
    target: Target,
    host: &Host,
) -> anyhow::Result<Vec<Cell>> {
    const SIZE: usize = 64;
    let domain = new_domain(module, LONG_TIME_LIMIT)?;
    let buffer = domain.alloc::<u8>(SIZE + 1)?;
    let call = domain.bind::<extern "C" fn(u64, u64, u64) -> i64>(function)?;
    let result = call.call(host.aim(target, buffer.address()), buffer.address(), SIZE as u64);
    host.check()?;
    let stolen = domain.read_slice(buffer, SIZE)?.trust("compared only");
    ensure!(!stolen.windows(8).any(|word| word == SECRET.to_ne_bytes()), "the host's secret was read");
    let (outcome, place, reason) = match result {
        Ok(value) if value as u64 == SECRET => bail!("the host's secret was read"),
        Ok(value) if (-4095..0).contains(&value) => {
            ("refused", String::new(), std::io::Error::from_raw_os_error(-value as i32).to_string())
        }
        Ok(_) => ("confined", String::new(), "it reached its own memory, not the host's".to_owned()),
        Err(CallError::Fault(fault)) => {
            let (end, place) = place(&fault)?;
            ensure!(
                end == End::Stopped || function == "copy_out",
                "the report names no source line: {place}"
            );
            ("stopped", place, fault.reason().to_owned())
        }
        Err(error) => bail!("the call could not be made: {error}"),
    };
    Ok(row(what, outcome, &domain, place, reason))
}

/// A module with one forbidden instruction must not link.
fn forbidden(builder: &Builder, what: &str, instruction: &str) -> anyhow::Result<Vec<Cell>> {
    let source = builder.folder().join("forbidden.c");
    std::fs::write(&source, format!("void forbidden(void) {{ __asm__ volatile(\"{instruction}\"); }}\n"))?;
    let object = builder.compile(&source, &["-O1".to_owned()], "forbidden")?;
    let Err(error) = builder.link(&object, &["forbidden"], false) else {
        bail!("a module with `{instruction}` was linked");
    };
    let reason = format!("{error:#}")
        .lines()
        .next()
        .unwrap_or_default()
        .replace(&format!("{}/", builder.folder().display()), "");
    Ok(vec![
        Cell::new(Paint::Plain, what),
        Cell::new(Paint::Good, "not linked"),
        Cell::new(Paint::Faint, reason),
    ])
}

/// Changes of two bytes in a finished module, each of which the loader must refuse.
fn tampered(path: &Path) -> anyhow::Result<Vec<Vec<Cell>>> {
    const CONFINED: &[u8] = &[0x65, 0x67];
    let file = std::fs::read(path)?;
    let parsed = lockgate_verify::Module::parse(&file)?;
    let code = &parsed.segments.first().context("a module has code")?.bytes;
    let export =
        parsed.exports.iter().find(|export| export.name == "wild_write").context("wild_write is exported")?;
    // The code segment in the file, then the first confined access of wild_write.
    let start = file
        .windows(code.len().min(4096))
        .position(|bytes| bytes == &code[..bytes.len()])
        .context("code in the file")?;
    let store = start + export.address as usize;
    let store =
        store + file[store..].windows(2).position(|bytes| bytes == CONFINED).context("a confined store")?;
    let mut rows = Vec::new();
    for (what, bytes) in
        [("take the confinement off a store", [0x90, 0x90]), ("patch in a system call", [0x0f, 0x05])]
    {
        let mut file = file.clone();
        file[store..store + 2].copy_from_slice(&bytes);
        let Err(error) = Module::from_bytes(&file) else { bail!("a tampered module was loaded: {what}") };
        let reason = error.to_string();
        rows.push(vec![
            Cell::new(Paint::Plain, what),
            Cell::new(Paint::Good, "not loaded"),
            Cell::new(Paint::Faint, reason),
        ]);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every attack fails, and ends as the demo says.
    #[test]
    fn no_attack_gets_through() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        show(&Screen::of_stdout(), &Builder::new().unwrap(), folder, true).unwrap();
    }
}
