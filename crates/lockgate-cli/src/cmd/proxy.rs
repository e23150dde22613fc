//! `lockgate inspect --proxy`: the instructions that a call runs.
use super::listing::{formatter, hex};
use super::output::{self, Paint};
use iced_x86::{
    Decoder, DecoderOptions, Formatter as _, Instruction, Mnemonic, OpKind, Register, SymbolResolver,
    SymbolResult,
};
use lockgate::signature::Signature;
use lockgate::{Module, Policy, ProxyBase, ProxyCode};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// A proxy, as JSON shows it.
#[derive(Serialize)]
pub struct Proxy {
    signature: String,
    caller: String,
    callee: String,
    policy: String,
    bytes: usize,
    instructions: Vec<Line>,
}

/// One instruction.
#[derive(Serialize)]
struct Line {
    /// From the proxy's first byte.
    address: u64,
    bytes: String,
    /// What it is for.
    part: &'static str,
    /// It runs after the procedure's return, or is the target of a jump from there.
    after_return: bool,
    /// A jump leads here.
    label: bool,
    /// AT&T syntax, with the fields of the thread's block, of the binding and of records by name.
    text: String,
}

/// The presets by their names on the command line, and in files of `lockgate up`.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Preset {
    Integrity,
    MutualDistrust,
    ServerTrusted,
    MutualTrust,
}

impl Preset {
    pub fn policy(self) -> Policy {
        match self {
            Preset::Integrity => Policy::INTEGRITY,
            Preset::MutualDistrust => Policy::MUTUAL_DISTRUST,
            Preset::ServerTrusted => Policy::SERVER_TRUSTED,
            Preset::MutualTrust => Policy::MUTUAL_TRUST,
        }
    }
}

/// The proxy for calls of `prototype` in the module at `callee`, by the host or by the module at `caller`.
pub fn proxy(callee: &Path, prototype: &str, caller: Option<&Path>, preset: Preset) -> anyhow::Result<Proxy> {
    let callee = Module::open(callee)?;
    let caller = caller.map(Module::open).transpose()?;
    let signature = signature(&callee, prototype)?;
    let policy = preset.policy();
    let code = ProxyCode::new(&callee, caller.as_deref(), &signature, policy)?;
    let host = || "the host".to_owned();
    Ok(Proxy {
        signature: signature.to_string(),
        caller: caller.as_ref().map_or_else(host, |module| module.name().to_owned()),
        callee: callee.name().to_owned(),
        policy: policy.to_string(),
        bytes: code.listing().bytes.len(),
        instructions: lines(&code),
    })
}

/// The signature of an export, given by its prototype or its name.
fn signature(module: &Module, given: &str) -> anyhow::Result<Signature> {
    let signature: Signature = output::prototype_of(module, given)?.parse()?;
    match module.exports().any(|(export, _)| export == signature.name) {
        true => Ok(signature),
        false => Err(output::no_function(module, &signature.name)),
    }
}

fn lines(code: &ProxyCode) -> Vec<Line> {
    let listing = code.listing();
    let instructions: Vec<_> =
        Decoder::with_ip(64, listing.bytes, 0, DecoderOptions::NONE).into_iter().collect();
    let jumps = instructions.iter().filter(|i| i.op0_kind() == OpKind::NearBranch64);
    let targets: BTreeSet<u64> = jumps.map(Instruction::near_branch64).collect();
    let mut formatter = formatter(Fields(code.clone()));
    let line = |instruction: &Instruction| {
        let at = instruction.ip() as usize;
        let mut text = String::new();
        formatter.format(instruction, &mut text);
        Line {
            address: instruction.ip(),
            bytes: hex(&listing.bytes[at..at + instruction.len()]),
            part: listing.part(at),
            after_return: at >= listing.leave,
            label: targets.contains(&instruction.ip()),
            text,
        }
    };
    instructions.iter().map(line).collect()
}

/// Names for the formatter.
struct Fields(ProxyCode);

impl SymbolResolver for Fields {
    fn symbol(
        &mut self,
        instruction: &Instruction,
        _: u32,
        operand: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        let is_access = operand.is_some_and(|operand| instruction.op_kind(operand) == OpKind::Memory)
            && instruction.memory_index() == Register::None
            && instruction.mnemonic() != Mnemonic::Lea;
        let base = match instruction.memory_base() {
            _ if !is_access => return None,
            Register::None if instruction.segment_prefix() == Register::FS => ProxyBase::Thread,
            Register::R11 => ProxyBase::Binding,
            Register::R10 => ProxyBase::Record,
            _ => return None,
        };
        let part = self.0.listing().part(instruction.ip() as usize);
        let (name, further) = self.0.field(part, base, address as i64)?;
        // Where a thread's block lies differs from program to program.
        let further = if base == ProxyBase::Thread { 0 } else { further };
        Some(SymbolResult::with_str(address.wrapping_sub(further as u64), name))
    }
}

/// Shows a proxy: a heading for each part, a line for each instruction.
pub fn show(text: &mut dyn fmt::Write, paint: Paint, proxy: &Proxy) -> fmt::Result {
    let Proxy { signature, caller, callee, policy, bytes, instructions } = proxy;
    let title = format!("{signature}, from {caller} to {callee}: {policy}");
    writeln!(text, "{}", paint.strong(title))?;
    writeln!(text, "{} instructions, {bytes} bytes", instructions.len())?;
    let mut before: Option<&Line> = None;
    for line in instructions {
        if line.after_return && before.is_some_and(|before| !before.after_return) {
            writeln!(text, "\n{}", paint.strong("the procedure returns"))?;
        }
        if before.is_none_or(|before| before.part != line.part) {
            writeln!(text, "{}", paint.strong(line.part))?;
        }
        let mark = if line.label { ">" } else { " " };
        writeln!(text, "{mark}{:4x}  {}", line.address, line.text)?;
        before = Some(line);
    }
    Ok(())
}
