//! The rewriter: hostile objects and archives. What it accepts is an object again, and its code is accepted by the verifier.

use crate::Target;
use crate::link::link;
use lockgate_rewrite::{Error, Options, Rewritten, rewrite_archive, rewrite_object};
use lockgate_verify::verify;
use object::read::archive::ArchiveFile;

const TOKENS: &[&[u8]] = &[
    b".text\0",
    b".rodata\0",
    b".rela.text\0",
    b".eh_frame\0",
    b".debug_info\0",
    b".debug_line\0",
    b".debug_rnglists\0",
    b".debug_loclists\0",
    b".gcc_except_table\0",
    b".note.GNU-stack\0",
    b"\x65\x48\x8b\x04\x25",
    b"\x64\x48\x8b\x04\x25\0\0\0\0",
    b"\xff\x24\xc5",
    b"\x3e\xff\xe0",
    b"\xf3\xa4",
    b"\xff\xd0",
    b"\xff\x25",
    b"\xc9\xc3",
    b"\xf3\x0f\x1e\xfa",
    b"\x48\x81\xec",
    b"\x48\x83\xe4\xf0",
];

/// An object as it is.
pub const OBJECT: Target = Target {
    name: "rewriter",
    run: |input| object(input, rewrite_object),
    longest: 16 << 10,
    memory: 32 << 20,
    near: 2000,
    tokens: TOKENS,
};

/// An archive as it is.
pub const ARCHIVE: Target = Target {
    name: "archive",
    run: |input| {
        archive(input, |bytes| rewrite_archive("fuzz.a", bytes, &Options::default(), &mut |_, _| ()))
    },
    longest: 16 << 10,
    memory: 32 << 20,
    near: 2000,
    tokens: &[
        b"!<arch>\n",
        b"!<thin>\n",
        b"`\n",
        b"//              ",
        b"/               ",
        b"/0",
        b"#1/20",
        b"a.o/",
    ],
};

/// What rewrites an object.
pub type RewriteObject = fn(&str, &[u8], &Options) -> Result<Rewritten, Error>;
/// What rewrites an archive.
pub type RewriteArchive = fn(&[u8]) -> Result<Rewritten, Error>;

/// Rewrites the object in both modes. Returns 2.
///
/// # Panics
/// What came out is not what the verifier accepts.
pub fn object(input: &[u8], rewrite: RewriteObject) -> u64 {
    for strict_bounds in [false, true] {
        let options = Options { strict_bounds, ..Options::default() };
        match rewrite("fuzz.o", input, &options) {
            Ok(rewritten) => acceptable(&rewritten.bytes, Some(input)),
            Err(error) => explained(&error),
        }
    }
    2
}

/// A refusal says what and where, and what to do.
fn explained(error: &Error) {
    assert!(!error.reason.what.is_empty() && !error.reason.remedy.is_empty(), "{error:?}");
}

/// The verifier accepts the object's code, except where a relocation that the input wrote leads astray: no linker would check that.
pub(crate) fn acceptable(object: &[u8], input: Option<&[u8]>) {
    /// Longest instruction, bytes.
    const LONGEST: u64 = 15;
    if object::File::parse(object).is_err() && input.is_none_or(|input| object::File::parse(input).is_err()) {
        // Tables that the rewriter does not use were no better before.
        return;
    }
    let Some(linked) = link(object) else { return };
    let Err(rejection) = verify(&linked.module) else { return };
    // Instructions that only compute stay as they are: which of them are legal, and how they are written, is the verifier's own affair.
    const OF_ONE_INSTRUCTION: [&str; 4] =
        ["this encoding", "its prefixes", "bits that this form", "the vector registers"];
    if rejection.rule == "V1" && OF_ONE_INSTRUCTION.iter().any(|reason| rejection.reason.starts_with(reason))
    {
        return;
    }
    let around = rejection.address.saturating_sub(LONGEST)..rejection.address + LONGEST;
    let wished = linked.fields.iter().any(|field| around.contains(field));
    assert!(wished, "the rewriter's own code was refused: {rejection}");
}

/// Rewrites the archive. Returns the number of members that came out.
///
/// # Panics
/// What came out is no archive, or the verifier rejects a member.
pub fn archive(input: &[u8], rewrite: RewriteArchive) -> u64 {
    let rewritten = match rewrite(input) {
        Ok(rewritten) => rewritten,
        Err(error) => {
            explained(&error);
            return 1;
        }
    };
    let bytes = &rewritten.bytes[..];
    let archive = ArchiveFile::parse(bytes).unwrap_or_else(|error| panic!("no archive any more: {error}"));
    let mut members = 0;
    for member in archive.members() {
        let member = member.unwrap_or_else(|error| panic!("a member: {error}"));
        acceptable(member.data(bytes).unwrap_or_else(|error| panic!("a member's contents: {error}")), None);
        members += 1;
    }
    assert_eq!(members, rewritten.stats.objects, "a member was lost");
    for symbol in archive.symbols().unwrap_or_else(|error| panic!("the index: {error}")).into_iter().flatten()
    {
        let symbol = symbol.unwrap_or_else(|error| panic!("an entry of the index: {error}"));
        archive
            .member(symbol.offset())
            .unwrap_or_else(|error| panic!("the index leads to no member: {error}"));
    }
    members.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    #[test]
    fn a_rewriter_that_leaves_an_object_as_it_is_is_noticed() {
        notices(&OBJECT, |input| {
            object(input, |name, bytes, options| {
                rewrite_object(name, bytes, options)
                    .map(|rewritten| Rewritten { bytes: bytes.to_vec(), ..rewritten })
            })
        });
    }

    #[test]
    fn an_archive_that_loses_a_member_is_noticed() {
        notices(&ARCHIVE, |input| {
            archive(input, |bytes| {
                let mut rewritten = rewrite_archive("fuzz.a", bytes, &Options::default(), &mut |_, _| ())?;
                rewritten.stats.objects += u64::from(rewritten.stats.instructions > 0);
                Ok(rewritten)
            })
        });
    }
}
