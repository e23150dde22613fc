//! `lockgate inspect`.

use super::listing::{self, Line, Listing};
use super::output::{self, Paint};
use super::proxy::{self, Preset, Proxy};
use anyhow::{Context as _, anyhow};
use lockgate_abi::{ABI_VERSION, note};
use lockgate_verify::{Module, Rejection, Report, SegmentKind, State};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate inspect`.
#[derive(clap::Args)]
#[command(after_help = "\
Without a selection: everything but code.

The margin of the disassembly names what lets an instruction be there (docs/rules.md): label; M1 confined by \
gs and 32-bit registers, M2 inside the image, M3 the data stack; M4 a gate call; V3 a change of the stack \
pointer; U1 checked indirect branch, U2 stack pointer kept in its slot, U3 string operation, U4 switch.

A proxy is what a call runs around the procedure. Each part of it stands under the name of what asks for it \
(docs/policies.md); a > marks where jumps lead.

Exit status: 0 shown; 2 unreadable, not a module, or no such function.

Examples:
  lockgate inspect cube.lg
  lockgate inspect cube.lg --disassemble=cube_root
  lockgate inspect cube.lg --proxy cube_root --policy mutual-trust
  lockgate inspect cube.lg --place 0x1a4
  lockgate inspect cube.lg --json --exports | jq -r '.exports[].signature'")]
pub struct Args {
    /// The module
    module: PathBuf,
    /// Show what the host can call
    #[arg(long)]
    exports: bool,
    /// Show what the module calls in the host, through which gates
    #[arg(long)]
    imports: bool,
    /// Show what the verifier found that the code can read or modify
    #[arg(long)]
    report: bool,
    /// Show segments, ABI version, build flags and the inputs' hashes
    #[arg(long)]
    notes: bool,
    /// Show one function's code, or all code
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true,
        value_parser = clap::builder::NonEmptyStringValueParser::new())]
    disassemble: Option<Option<String>>,
    /// Show the proxy of a function, named or by its C prototype, as the host would call it
    #[arg(long, value_name = "PROTOTYPE")]
    proxy: Option<String>,
    /// The policy that caller and callee ask for
    #[arg(long, requires = "proxy", value_enum, default_value = "mutual-distrust")]
    policy: Preset,
    /// The proxy for calls from this module's domain, not from the host
    #[arg(long, requires = "proxy", value_name = "MODULE")]
    from: Option<PathBuf>,
    /// Show where a function finds its return address at an instruction, by its address in the image
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    place: Option<u64>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// An address as the disassembly shows it: hexadecimal, with or without 0x.
fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16)
        .map_err(|_| "an address is a hexadecimal number, such as 0x1a4".to_owned())
}

/// What was selected, as JSON shows it.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    exports: Option<Vec<Export>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imports: Option<Vec<Import>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Notes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disassembly: Option<Listing<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<Proxy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
}

/// What the verifier knows of rsp at an instruction.
#[derive(Serialize)]
struct Place {
    address: u64,
    /// `None`: not known.
    return_address: Option<ReturnAddress>,
}

/// Where the return address of the function lies: `offset` above rsp, or above the address that the word `through` above rsp holds.
#[derive(Serialize)]
struct ReturnAddress {
    through: Option<u32>,
    offset: u32,
}

#[derive(Serialize)]
struct Export {
    name: String,
    signature: Option<String>,
    address: u64,
}

#[derive(Serialize)]
struct Import {
    /// Of the gate table; a module that joins a domain has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<u16>,
    /// Where such a module has it from: `module` or `host`.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    name: String,
    signature: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Verified(Report),
    Rejected(Box<Rejection>),
}

#[derive(Serialize)]
struct Notes {
    abi: u32,
    strict_bounds: bool,
    base: bool,
    image_size: u64,
    segments: Vec<Segment>,
    sources: Vec<Source>,
    /// Modules whose domain it joins and whose symbols it uses, the base first.
    joins: Vec<Source>,
}

#[derive(Serialize)]
struct Segment {
    kind: &'static str,
    address: u64,
    size: u64,
}

#[derive(Serialize)]
struct Source {
    blake3: String,
    file: String,
}

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let file = output::read(&args.module)?;
    let module = output::parse(&args.module, &file)?;
    let shown = select(&args, &file, &module)?;
    if args.json {
        output::print_json(&shown)?;
    } else {
        output::print_with(|text| show(text, &module, &shown))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn select<'a>(args: &Args, file: &[u8], module: &'a Module) -> anyhow::Result<Shown<'a>> {
    let code = args.disassemble.is_some() || args.proxy.is_some() || args.place.is_some();
    let all = !(args.exports || args.imports || args.report || args.notes || code);
    let proxy = args
        .proxy
        .as_ref()
        .map(|prototype| proxy::proxy(&args.module, prototype, args.from.as_deref(), args.policy));
    let disassembly = match &args.disassemble {
        None => None,
        Some(name) => {
            let range = listing::range(module, name.as_deref()).with_context(|| {
                let (path, name) = (output::shown(&args.module), name.as_deref().unwrap_or_default());
                format!("{path} has no function {name:?}; `lockgate inspect {path} --exports` lists some")
            })?;
            Some(Listing::new(module, range))
        }
    };
    Ok(Shown {
        exports: (all || args.exports).then(|| exports(module)),
        imports: (all || args.imports).then(|| imports(module)),
        report: (all || args.report).then(|| match lockgate_verify::verify(module) {
            Ok(report) => Verdict::Verified(report),
            Err(rejection) => Verdict::Rejected(rejection),
        }),
        notes: (all || args.notes).then(|| notes(module)),
        disassembly,
        proxy: proxy.transpose()?,
        place: args.place.map(|address| place(args, file, module, address)).transpose()?,
    })
}

fn place(args: &Args, file: &[u8], module: &Module, address: u64) -> anyhow::Result<Place> {
    let path = output::shown(&args.module);
    let report = lockgate_verify::verify(module).map_err(|rejection| anyhow!("{path}: {rejection}"))?;
    let known = lockgate_verify::place(file, module, &report.frames, address)
        .with_context(|| format!("{path} has no code at {address:#x} of its image"))?;
    let return_address = known.state.map(|state| match state {
        State::S { o } => ReturnAddress { through: None, offset: o },
        State::C { b, d } => ReturnAddress { through: Some(d), offset: b },
    });
    Ok(Place { address, return_address })
}

fn exports(module: &Module) -> Vec<Export> {
    let export = |export: &lockgate_verify::Export| Export {
        name: export.name.clone(),
        signature: export.signature.clone(),
        address: export.address,
    };
    module.exports.iter().map(export).collect()
}

fn imports(module: &Module) -> Vec<Import> {
    let import = |import: &lockgate_verify::Import| Import {
        slot: Some(import.slot),
        from: None,
        name: import.name.clone(),
        signature: import.signature.clone(),
    };
    let word = |symbol: &lockgate_verify::Symbolic| Import {
        slot: None,
        from: Some(if symbol.of_host { note::FROM_HOST } else { note::FROM_MODULE }),
        name: symbol.name.clone(),
        signature: symbol.signature.clone(),
    };
    let words = module.join.iter().flat_map(|join| &join.symbols);
    module.imports.iter().map(import).chain(words.map(word)).collect()
}

fn notes(module: &Module) -> Notes {
    let segment = |segment: &lockgate_verify::Segment| Segment {
        kind: match segment.kind {
            SegmentKind::Code => "code",
            SegmentKind::Constants => "constants",
            SegmentKind::Data => "data",
        },
        address: segment.address,
        size: segment.size,
    };
    let source = |(blake3, file): &(String, String)| Source { blake3: blake3.clone(), file: file.clone() };
    Notes {
        // The parser refuses every other version.
        abi: ABI_VERSION,
        strict_bounds: module.strict_bounds,
        base: module.base,
        image_size: module.image_size,
        segments: module.segments.iter().map(segment).collect(),
        sources: module.sources.iter().map(source).collect(),
        joins: module.join.iter().flat_map(|join| &join.modules).map(source).collect(),
    }
}

/// Bytes of names of exports that are shown as their authors wrote them: each takes time, and others say how many there are. One that is
/// too long counts as what was written of it before that was found out.
const READABLE: usize = 16 << 20;
const GIVEN_UP: usize = 16 << 10;

fn show(text: &mut dyn fmt::Write, module: &Module, shown: &Shown<'_>) -> fmt::Result {
    let paint = Paint::stdout();
    if let Some(exports) = &shown.exports {
        // Each module has some of Lockgate's own, which users do not look for.
        let own = exports.iter().filter(|export| !export.name.starts_with("_lg_")).count();
        let more = match exports.len() - own {
            0 => String::new(),
            some => format!(", and {some} of Lockgate's"),
        };
        writeln!(text, "{}", paint.strong(format!("exports ({own}{more})")))?;
        let mut left = READABLE;
        for Export { name, signature, address } in exports {
            let written =
                if left > 0 { lockgate_outside::demangled(name, lockgate_outside::ROOM) } else { None };
            let is_given_up = written.is_none() && name.starts_with("_Z");
            left = left
                .saturating_sub(written.as_ref().map_or(if is_given_up { GIVEN_UP } else { 0 }, String::len));
            let readable = written.map_or(String::new(), |name| format!("  {name}"));
            writeln!(text, "  {:#010x}  {}{readable}", address, signature.as_ref().unwrap_or(name))?;
        }
    }
    if let Some(imports) = &shown.imports {
        writeln!(text, "{}", paint.strong(format!("imports ({})", imports.len())))?;
        for Import { slot, from, name, signature } in imports {
            let place =
                slot.map_or_else(|| from.unwrap_or_default().to_owned(), |slot| format!("gate {slot:3}"));
            writeln!(text, "  {place:8}    {}", signature.as_ref().unwrap_or(name))?;
        }
    }
    match &shown.report {
        Some(Verdict::Verified(report)) => show_report(text, paint, report)?,
        Some(Verdict::Rejected(rejection)) => {
            writeln!(text, "{}\n  {}", paint.strong("report"), paint.bad(format!("rejected: {rejection}")))?;
        }
        None => {}
    }
    if let Some(notes) = &shown.notes {
        show_notes(text, paint, notes)?;
    }
    if let Some(disassembly) = &shown.disassembly {
        show_lines(text, paint, module, disassembly.lines())?;
    }
    if let Some(place) = &shown.place {
        show_place(text, place)?;
    }
    shown.proxy.as_ref().map_or(Ok(()), |proxy| proxy::show(text, paint, proxy))
}

fn show_place(text: &mut dyn fmt::Write, Place { address, return_address }: &Place) -> fmt::Result {
    write!(text, "{address:#x}: the return address ")?;
    match return_address {
        Some(ReturnAddress { through: None, offset }) => writeln!(text, "is at rsp+{offset}"),
        Some(ReturnAddress { through: Some(word), offset }) => {
            writeln!(text, "is {offset} bytes above the address that the word at rsp+{word} holds")
        }
        None => writeln!(text, "is at a place that depends on the way to the instruction"),
    }
}

/// Shows instructions; runs of padding as one line.
fn show_lines(
    text: &mut dyn fmt::Write,
    paint: Paint,
    module: &Module,
    lines: impl Iterator<Item = Line>,
) -> fmt::Result {
    const PADDING: &str = "cc";
    let more = |text: &mut dyn fmt::Write, padding: usize| match padding {
        0 | 1 => Ok(()),
        _ => writeln!(text, "{}", paint.faint(format!("{:8}  … {} more bytes of padding", "", padding - 1))),
    };
    let mut padding = 0;
    for line in lines {
        padding = if line.bytes == PADDING {
            padding + 1
        } else {
            more(text, padding)?;
            0
        };
        if padding <= 1 {
            show_line(text, paint, module, &line)?;
        }
    }
    more(text, padding)
}

fn show_report(text: &mut dyn fmt::Write, paint: Paint, report: &Report) -> fmt::Result {
    writeln!(text, "{}", paint.strong("report"))?;
    writeln!(
        text,
        "  {}, {} instructions in {} bytes",
        paint.good("verified"),
        report.instructions,
        report.text_bytes
    )?;
    let uses = [
        ("x87 or MMX", report.x87),
        ("the x87 environment", report.x87_environment),
        ("MXCSR (writes)", report.mxcsr_write),
        ("MXCSR (reads)", report.mxcsr_read),
        ("ymm registers or VEX", report.ymm),
        ("EVEX: zmm registers", report.evex),
        ("mask registers", report.mask),
        ("cpuid, to ask what the processor has", report.cpuid),
    ];
    let used: Vec<_> = uses.iter().filter(|(_, used)| *used).map(|(name, _)| *name).collect();
    writeln!(text, "  uses {}", if used.is_empty() { "SSE at most".to_owned() } else { used.join(", ") })?;
    let asks = if report.cpuid { ", if it does not choose otherwise" } else { "" };
    match report.needs.join(" ") {
        needs if needs.is_empty() => writeln!(text, "  needs AVX at most")?,
        needs => writeln!(text, "  needs {needs}{asks}")?,
    }
    const CALLEE_SAVED: [(u16, &str); 6] =
        [(3, "rbx"), (5, "rbp"), (12, "r12"), (13, "r13"), (14, "r14"), (15, "r15")];
    let written = CALLEE_SAVED.iter().filter(|(bit, _)| report.callee_saved_written >> bit & 1 == 1);
    let written: Vec<_> = written.map(|(_, name)| *name).collect();
    writeln!(
        text,
        "  writes callee-saved {}",
        if written.is_empty() { "none".to_owned() } else { written.join(" ") }
    )?;
    let gates: Vec<_> = report.gates.iter().map(u16::to_string).collect();
    writeln!(text, "  calls gates {}", if gates.is_empty() { "none".to_owned() } else { gates.join(" ") })
}

fn show_notes(text: &mut dyn fmt::Write, paint: Paint, notes: &Notes) -> fmt::Result {
    writeln!(text, "{}", paint.strong("notes"))?;
    writeln!(
        text,
        "  ABI version {}, image of {} bytes{}{}",
        notes.abi,
        notes.image_size,
        if notes.strict_bounds { ", strict bounds" } else { "" },
        if notes.base { ", a base: others may join its domains" } else { "" }
    )?;
    for Source { blake3, file } in &notes.joins {
        writeln!(text, "  {}  joins {file}", paint.faint(blake3))?;
    }
    for Segment { kind, address, size } in &notes.segments {
        writeln!(text, "  {address:#010x}  {size:9} bytes  {kind}")?;
    }
    for Source { blake3, file } in &notes.sources {
        writeln!(text, "  {}  {file}", paint.faint(blake3))?;
    }
    Ok(())
}

fn show_line(text: &mut dyn fmt::Write, paint: Paint, module: &Module, line: &Line) -> fmt::Result {
    // They are sorted by address.
    let symbol = module.symbols.partition_point(|symbol| symbol.address < line.address);
    if let Some(symbol) = module.symbols.get(symbol).filter(|symbol| symbol.address == line.address) {
        writeln!(text, "\n{}", paint.strong(format!("{:x} <{}>:", line.address, symbol.name)))?;
    }
    let comment = line.gate.as_ref().map_or(String::new(), |gate| format!("  # {gate}"));
    // The longest instruction has 15 bytes, but few have more than 10.
    writeln!(
        text,
        "{:8x}  {:20}  {:5}  {}{}",
        line.address,
        line.bytes,
        line.unit,
        line.text,
        paint.faint(comment)
    )
}
