//! `lockgate call`.

mod remote;

use super::{domain, output};
use anyhow::{Context as _, bail, ensure};
use lockgate::signature::{Signature, Type};
use lockgate::{CallError, Domain, Module, Pointer, Value};
use lockgate_abi::symbol;
use lockgate_outside::printable_text;
use std::ffi::CString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Arguments of `lockgate call`.
#[derive(clap::Args)]
#[command(override_usage = "lockgate call [OPTIONS] <MODULE> <PROTOTYPE> [ARGUMENTS]...", after_help = format!("\
Arguments follow the signature: integers in decimal or 0x hexadecimal, floating-point numbers, and for `char *` a \
text, which is copied into the domain (NULL is the null pointer). Any other pointer takes a number, NULL or a text, a `bool` 0, 1, false or true. \
The result is printed; a `char *` as its text, with ? for control characters, no line for void. Put Lockgate's options before \
the module's name; everything after the prototype goes to the function.

Exit status: 0 the function returned; the module's own if it called exit; 2 the function could not be called; {}.

Examples:
  lockgate call libm.lg 'double cbrt(double)' 27
  lockgate call libm.lg cbrt 27                  # if the module has noted the signature
  lockgate call zlib.lg 'unsigned long crc32(unsigned long, const char *, unsigned)' 0 'some text' 9
  lockgate call --time-limit 100ms evil.lg 'void loop(void)'
  lockgate call --at shop store.take 'long take(long)' 30                    # of a program that runs in `lockgate up --share shop`
  lockgate call --at shop codec.crc 'uint32_t crc(const char text[n], size_t n)' 'some text' 9",
    domain::EXIT_STATUS_OF_FAULTS))]
pub struct Args {
    #[command(flatten)]
    domain: domain::Limits,
    /// Grant the standard streams
    #[arg(long)]
    streams: bool,
    /// Call a function that a `lockgate up --share NAME` of this user shares, in place of one of a module: PROGRAM.EXPORT stands for the module's name.
    /// Of the other options it takes --time-limit only: the function's domain has been made by `lockgate up`
    #[arg(long, value_name = "NAME", conflicts_with_all = OF_OWN_DOMAINS)]
    at: Option<PathBuf>,
    /// The module, then a C prototype of the function, or its name if the module has noted its signature, then its arguments
    #[arg(required = true, num_args = 2.., trailing_var_arg = true, value_names = ["MODULE", "PROTOTYPE"])]
    command: Vec<String>,
}

/// Options about a domain that the command makes itself, by field: they would do nothing for a function of another process.
const OF_OWN_DOMAINS: [&str; 14] = [
    "directories",
    "listen",
    "connect",
    "environment",
    "current",
    "umask",
    "cpu_limit",
    "memory_limit",
    "stack_size",
    "threads",
    "descriptors",
    "mappings",
    "form",
    "streams",
];

/// Longest text that a `char *` result is printed as, bytes.
const LONGEST_TEXT: usize = 1 << 20;

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let [module, prototype, arguments @ ..] = &*args.command else {
        bail!("give a module and the prototype of one of its functions");
    };
    if let Some(name) = &args.at {
        return remote::call(name, args.domain.time_limit(), module, prototype, arguments);
    }
    let module = Module::open(module)?;
    let mut grants = args.domain.grants()?;
    if args.streams {
        grants = grants.standard_streams()?;
    }
    let prototype = output::prototype_of(&module, prototype)?;
    let options = args.domain.options(grants)?;
    let outcome = Domain::new(&module, options).map_err(anyhow::Error::from).and_then(|domain| {
        let function = domain.bind_dynamic(prototype)?;
        let values = values(function.signature(), prototype, arguments, |kind, reading, text| {
            value(kind, reading, text, |text| copied(&domain, text))
        })?;
        let result = function.call(&values);
        domain::report_refused(module.name(), &domain.refused_syscalls());
        domain::report_denied(module.name(), &domain.denied());
        let value = result?;
        let text = show(Some(&domain), &value, &function.signature().result, Readings::of(prototype).result)?;
        end(&domain)?;
        Ok(text)
    });
    match outcome {
        Ok(text) => output::print(&text).map(|()| ExitCode::SUCCESS),
        Err(error) => match error.downcast_ref::<CallError>().and_then(CallError::fault) {
            Some(fault) => {
                args.domain.report(fault);
                Ok(domain::status_of(fault))
            }
            None => Err(error),
        },
    }
}

/// Ends the module in order, as a program that returns does: what it has printed may still be in buffers of its C library.
fn end(domain: &Domain) -> anyhow::Result<()> {
    if domain.module().exports().any(|(export, _)| export == symbol::FINI) {
        domain.bind_dynamic(&format!("void {}(void)", symbol::FINI))?.call(&[])?;
    }
    Ok(())
}

/// What a prototype says of a value that signatures do not keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Plain,
    /// A pointer to text.
    Text,
    /// A `bool`.
    Truth,
}

impl Reading {
    fn of(declaration: &str) -> Reading {
        let has = |wanted: &[&str]| {
            let mut words = declaration.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| wanted.contains(&word))
        };
        match declaration.matches(['*', '[']).count() {
            _ if declaration.contains('(') => Reading::Plain,
            0 if has(&["bool", "_Bool"]) => Reading::Truth,
            1 if has(&["char"]) => Reading::Text,
            _ => Reading::Plain,
        }
    }
}

struct Readings {
    result: Reading,
    parameters: Vec<Reading>,
}

impl Readings {
    fn of(prototype: &str) -> Readings {
        let (head, rest) = prototype.split_once('(').unwrap_or((prototype, ""));
        let rest = rest.trim_end().trim_end_matches(';').trim_end();
        let rest = rest.strip_suffix(')').unwrap_or(rest);
        let mut depth = 0;
        let parameters = rest.split(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        let result = head.trim_end().trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        Readings { result: Reading::of(result), parameters: parameters.map(Reading::of).collect() }
    }
}

/// What `read` makes of each argument.
fn values<V>(
    signature: &Signature,
    prototype: &str,
    arguments: &[String],
    read: impl Fn(&Type, Reading, &str) -> anyhow::Result<V>,
) -> anyhow::Result<Vec<V>> {
    let (given, wanted) = (arguments.len(), signature.parameters.len());
    // As the user has written it: a signature calls each pointer `void *`.
    let readings = Readings::of(prototype).parameters;
    let prototype = prototype.trim().trim_end_matches(';');
    if given != wanted {
        bail!("{prototype} takes {wanted} argument{}, {given} given", if wanted == 1 { "" } else { "s" });
    }
    let value = |(number, (kind, text)): (usize, (&Type, &String))| {
        let reading = readings.get(number).copied().unwrap_or(Reading::Plain);
        read(kind, reading, text).with_context(|| {
            let kind = if reading == Reading::Truth { "bool".to_owned() } else { kind.to_string() };
            format!("argument {} of {prototype}: {text:?} is not of type {kind}", number + 1)
        })
    };
    signature.parameters.iter().zip(arguments).enumerate().map(value).collect()
}

/// An argument of the command line as a value of type `kind`; `copied` gives the address of a copy of a text.
fn value(
    kind: &Type,
    reading: Reading,
    text: &str,
    copied: impl Fn(&str) -> anyhow::Result<u64>,
) -> anyhow::Result<Value> {
    Ok(match kind {
        Type::Bool => Value::Unsigned(match text {
            "0" | "false" => 0,
            "1" | "true" => 1,
            _ => bail!("give 0, 1, false or true"),
        }),
        Type::Integer { signed: true, .. } => Value::Signed(match text.strip_prefix('-') {
            Some(magnitude) => 0i64.checked_sub_unsigned(unsigned(magnitude)?).context("too small")?,
            None => unsigned(text)?.try_into()?,
        }),
        Type::Integer { signed: false, .. } => Value::Unsigned(unsigned(text)?),
        Type::Float => {
            let number: f32 = text.parse()?;
            ensure!(number.is_finite() || !is_number(text), "too large");
            Value::Float(number)
        }
        Type::Double => {
            let number: f64 = text.parse()?;
            ensure!(number.is_finite() || !is_number(text), "too large");
            Value::Double(number)
        }
        Type::Pointer => Value::Pointer(match (text, reading) {
            ("NULL", _) => 0,
            (text, Reading::Text) => copied(text)?,
            (text, _) => match (unsigned(text), text.strip_prefix('-').map(unsigned)) {
                (Ok(address), _) => address,
                // As C converts it: -1 is what mmap fails with.
                (_, Some(Ok(magnitude))) => magnitude.wrapping_neg(),
                _ => copied(text)?,
            },
        }),
        Type::Struct(_) => {
            bail!("structures by value cannot be written on the command line; call from Rust or C")
        }
        Type::Void => bail!("there are no values of type void"),
    })
}

/// Whether it has digits, unlike `inf`.
fn is_number(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

/// The address of a copy of `text` in the domain.
fn copied(domain: &Domain, text: &str) -> anyhow::Result<u64> {
    Ok(domain.alloc_string(&CString::new(text)?)?.address())
}

fn unsigned(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

/// The line that shows a result; a pointer's text is the domain's.
fn show(domain: Option<&Domain>, value: &Value, kind: &Type, reading: Reading) -> anyhow::Result<String> {
    Ok(match value {
        Value::Void => String::new(),
        Value::Signed(number) => format!("{number}\n"),
        // Whatever byte the module says.
        Value::Unsigned(number) if reading == Reading::Truth => format!("{}\n", u8::from(*number != 0)),
        Value::Unsigned(number) => format!("{number}\n"),
        Value::Float(number) => format!("{number}\n"),
        Value::Double(number) => format!("{number}\n"),
        Value::Pointer(address) if address & 0xffff_ffff == 0 => "NULL\n".to_owned(),
        Value::Pointer(address) if reading == Reading::Text && domain.is_some() => {
            let domain = domain.expect("seen just now");
            let text = domain.read_string(Pointer::from_address(*address), LONGEST_TEXT)?;
            let text = text.trust("it is printed, without what a terminal would obey");
            format!("{}\n", printable_text(&text.to_string_lossy()))
        }
        Value::Pointer(address) => format!("{address:#x}\n"),
        Value::Struct(bytes) => {
            let fields: Vec<_> = kind.scalars().iter().map(|(at, kind)| field(&bytes[*at..], kind)).collect();
            format!("{{ {} }}\n", fields.join(", "))
        }
    })
}

/// A scalar at the start of a structure's bytes.
fn field(bytes: &[u8], kind: &Type) -> String {
    let mut word = [0; 8];
    word[..kind.size()].copy_from_slice(&bytes[..kind.size()]);
    let unused = 64 - 8 * kind.size() as u32;
    let word = u64::from_le_bytes(word);
    match kind {
        Type::Integer { signed: true, .. } => ((word << unused) as i64 >> unused).to_string(),
        Type::Float => f32::from_bits(word as u32).to_string(),
        Type::Double => f64::from_bits(word).to_string(),
        Type::Pointer => format!("{word:#x}"),
        _ => word.to_string(),
    }
}
