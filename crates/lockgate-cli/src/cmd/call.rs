//! `lockgate call`.

use super::{domain, output};
use anyhow::{Context as _, bail};
use lockgate::signature::{Signature, Type};
use lockgate::{CallError, Domain, Module, Pointer, Value};
use std::ffi::CString;
use std::process::ExitCode;

/// Arguments of `lockgate call`.
#[derive(clap::Args)]
#[command(override_usage = "lockgate call [OPTIONS] <MODULE> <PROTOTYPE> [ARGUMENTS]...", after_help = format!("\
Arguments follow the signature: integers in decimal or 0x hexadecimal, floating-point numbers, and for `char *` a \
text, which is copied into the domain (NULL is the null pointer). Any other pointer takes a number, NULL or a text. \
The result is printed; a `char *` as its text, with ? for what a terminal would obey, no line for void. Options stand before the \
module: what is behind the prototype belongs to the function.

Exit status: 0 the function returned; the module's own if it called exit; 2 the function could not be called; {}.

Examples:
  lockgate call libm.lg 'double cbrt(double)' 27
  lockgate call libm.lg cbrt 27                  # if the module has noted the signature
  lockgate call zlib.lg 'unsigned long crc32(unsigned long, const char *, unsigned)' 0 'some text' 9
  lockgate call --time-limit 100ms evil.lg 'void loop(void)'",
    domain::EXIT_STATUS_OF_FAULTS))]
pub struct Args {
    #[command(flatten)]
    domain: domain::Limits,
    /// Grant the standard streams
    #[arg(long)]
    streams: bool,
    /// The module, then a C prototype of the function, or its name if the module has noted its signature, then its arguments
    #[arg(required = true, num_args = 2.., trailing_var_arg = true, value_names = ["MODULE", "PROTOTYPE"])]
    command: Vec<String>,
}

/// Longest text that a `char *` result is printed as, bytes.
const LONGEST_TEXT: usize = 1 << 20;

/// Runs the command.
pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let [module, prototype, arguments @ ..] = &*args.command else {
        bail!("give a module and the prototype of one of its functions");
    };
    let module = Module::open(module)?;
    let mut grants = args.domain.grants()?;
    if args.streams {
        grants = grants.standard_streams()?;
    }
    let prototype = whole(&module, prototype)?;
    let options = args.domain.options(grants)?;
    let outcome = Domain::new(&module, options).map_err(anyhow::Error::from).and_then(|domain| {
        let function = domain.bind_dynamic(prototype)?;
        let texts = Texts::of(prototype);
        let values = values(&domain, function.signature(), &texts, arguments)?;
        let result = function.call(&values);
        domain::report_refused(module.name(), &domain.refused_syscalls());
        let value = result?;
        show(&domain, &value, &function.signature().result, texts.result)
    });
    match outcome {
        Ok(text) => output::print(&text).map(|()| ExitCode::SUCCESS),
        Err(error) => match error.downcast_ref::<CallError>().and_then(CallError::fault) {
            Some(fault) => {
                args.domain.report(fault)?;
                Ok(domain::status_of(fault))
            }
            None => Err(error),
        },
    }
}

/// The whole prototype, if `given` is only a name.
fn whole<'a>(module: &'a Module, given: &'a str) -> anyhow::Result<&'a str> {
    let name = given.trim();
    match module.exports().find(|(export, _)| *export == name) {
        Some((_, Some(noted))) => Ok(noted),
        Some((_, None)) => {
            bail!("{} has not noted the signature of {name}: give its C prototype", module.name())
        }
        None if !given.contains('(') => {
            bail!(
                "{} exports no function {name:?}; `lockgate inspect --exports` lists what it does",
                module.name()
            )
        }
        None => Ok(given),
    }
}

/// Which of a prototype's pointers point to text: signatures do not keep that.
struct Texts {
    result: bool,
    parameters: Vec<bool>,
}

impl Texts {
    fn of(prototype: &str) -> Texts {
        let (head, rest) = prototype.split_once('(').unwrap_or((prototype, ""));
        let mut depth = 0;
        let parameters = rest.split(|c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        });
        let result = head.trim_end().trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        Texts { result: is_text(result), parameters: parameters.map(is_text).collect() }
    }
}

/// Whether a declaration is of a pointer to characters.
fn is_text(declaration: &str) -> bool {
    let mut words = declaration.split(|c: char| !c.is_alphanumeric() && c != '_');
    let indirections = declaration.matches(['*', '[']).count();
    words.any(|word| word == "char") && indirections == 1 && !declaration.contains('(')
}

fn values(
    domain: &Domain,
    signature: &Signature,
    texts: &Texts,
    arguments: &[String],
) -> anyhow::Result<Vec<Value>> {
    let (given, wanted) = (arguments.len(), signature.parameters.len());
    if given != wanted {
        bail!("{signature} takes {wanted} argument{}, {given} given", if wanted == 1 { "" } else { "s" });
    }
    let value = |(number, (kind, text)): (usize, (&Type, &String))| {
        let is_text = texts.parameters.get(number).copied().unwrap_or(false);
        value(domain, kind, is_text, text).with_context(|| {
            format!("argument {} of {signature}: {text:?} is not of type {kind}", number + 1)
        })
    };
    signature.parameters.iter().zip(arguments).enumerate().map(value).collect()
}

/// An argument of the command line as a value of type `kind`.
fn value(domain: &Domain, kind: &Type, is_text: bool, text: &str) -> anyhow::Result<Value> {
    Ok(match kind {
        Type::Integer { signed: true, .. } => Value::Signed(match text.strip_prefix('-') {
            Some(magnitude) => 0i64.checked_sub_unsigned(unsigned(magnitude)?).context("too small")?,
            None => unsigned(text)?.try_into()?,
        }),
        Type::Integer { signed: false, .. } => Value::Unsigned(unsigned(text)?),
        Type::Float => Value::Float(text.parse()?),
        Type::Double => Value::Double(text.parse()?),
        Type::Pointer => Value::Pointer(match unsigned(text) {
            _ if text == "NULL" => 0,
            Ok(address) if !is_text => address,
            _ => domain.alloc_string(&CString::new(text)?)?.address(),
        }),
        Type::Struct(_) => {
            bail!("structures by value cannot be written on the command line; call from Rust or C")
        }
        Type::Void => bail!("there are no values of type void"),
    })
}

fn unsigned(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

/// The line that shows a result.
fn show(domain: &Domain, value: &Value, kind: &Type, is_text: bool) -> anyhow::Result<String> {
    Ok(match value {
        Value::Void => String::new(),
        Value::Signed(number) => format!("{number}\n"),
        Value::Unsigned(number) => format!("{number}\n"),
        Value::Float(number) => format!("{number}\n"),
        Value::Double(number) => format!("{number}\n"),
        Value::Pointer(address) if address & 0xffff_ffff == 0 => "NULL\n".to_owned(),
        Value::Pointer(address) if is_text => {
            let text = domain.read_string(Pointer::from_address(*address), LONGEST_TEXT)?;
            let text = text.trust("it is printed, without what a terminal would obey");
            format!("{}\n", output::lines(&text.to_string_lossy()))
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
