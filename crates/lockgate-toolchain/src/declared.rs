//! Exports and gates that objects declare: lines in a section of their own, which the crate lockgate-guest makes.

use crate::input::{Input, is_name};
use crate::{Error, Prototype};
use object::{Object as _, ObjectSection as _};

/// The section: lines `export PROTOTYPE` and `gate PROTOTYPE`, each with a zero behind it. The linker script leaves it out.
const SECTION: &str = ".lockgate.declared";

/// Most lines of a link, and bytes of one.
const MAX_LINES: usize = 4096;
const MAX_LINE: usize = 4096;

/// Adds what the inputs declare. A prototype that was given, or a bare name, is made complete; another prototype is an error.
pub(crate) fn add<'a>(
    inputs: impl Iterator<Item = &'a Input>,
    exports: &mut Vec<Prototype>,
    imports: &mut Vec<Prototype>,
) -> Result<(), Error> {
    let mut count = 0;
    for input in inputs {
        for object in input.objects() {
            let wrong = |what: &str| Error::input(&*input.name, format!("its section {SECTION} {what}"));
            for section in object.sections().filter(|section| section.name_bytes() == Ok(SECTION.as_bytes()))
            {
                let text = section.data().map_err(|_| wrong("cannot be read"))?;
                for line in text.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
                    count += 1;
                    let is_text =
                        line.len() <= MAX_LINE && line.iter().all(|byte| (b' '..=b'~').contains(byte));
                    let line = std::str::from_utf8(line).ok().filter(|_| is_text && count <= MAX_LINES);
                    let line = line.ok_or_else(|| wrong("has more than prototypes"))?;
                    let (list, prototype) = match line.split_once(' ') {
                        Some(("export", prototype)) => (&mut *exports, prototype),
                        Some(("gate", prototype)) => (&mut *imports, prototype),
                        _ => return Err(wrong("has lines that are neither of an export nor of a gate")),
                    };
                    let prototype = Prototype::parse(prototype)?;
                    if !is_name(prototype.name().as_bytes()) {
                        return Err(wrong("has a name that is none"));
                    }
                    complete(list, prototype)?;
                }
            }
        }
    }
    Ok(())
}

fn complete(list: &mut Vec<Prototype>, prototype: Prototype) -> Result<(), Error> {
    match list.iter_mut().find(|other| other.name() == prototype.name()) {
        None => list.push(prototype),
        Some(other) if *other == prototype => (),
        Some(other) if other.text() == other.name() => *other = prototype,
        Some(other) => {
            let (given, declared) = (other.text(), prototype.text());
            return Err(Error::Usage(format!(
                "two prototypes for one name: `{given}` and, declared in the source, `{declared}`"
            )));
        }
    }
    Ok(())
}
