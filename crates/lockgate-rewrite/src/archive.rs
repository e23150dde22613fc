//! Static archives: member by member, written back with a symbol index and without times or owners, so that
//! equal inputs give equal bytes.

use object::read::archive::ArchiveFile;

use crate::elf::{self, Object, sym};
use crate::error::{Error, Reason};
use crate::{Options, Rewritten, Stats, transform};

const MAGIC: &[u8] = b"!<arch>\n";
/// Size of a member's header, bytes.
const HEADER: usize = 60;

/// Whether `bytes` start like an archive, thin ones included.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(b"!<thin>\n")
}

/// A member of the archive to write.
struct Member {
    name: String,
    bytes: Vec<u8>,
    /// Global symbols that it defines.
    symbols: Vec<Vec<u8>>,
}

/// See [`crate::rewrite_archive`].
pub(crate) fn rewrite(
    name: &str,
    bytes: &[u8],
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Rewritten, Error> {
    let members = read(name, bytes)?;
    let total = members.len();
    let mut stats = Stats::default();
    let mut rewritten = Vec::with_capacity(total);
    for (done, (member, data)) in members.into_iter().enumerate() {
        progress(done, total);
        if is_excluded(options, name, &member, data)? {
            stats.excluded += 1;
            continue;
        }
        let one = transform::rewrite(&format!("{name}({member})"), data, options)?;
        stats.add(&one.stats);
        rewritten.push(Member { name: member, symbols: global_symbols(name, &one.bytes)?, bytes: one.bytes });
    }
    progress(total, total);
    Ok(Rewritten { bytes: write(&rewritten), stats })
}

fn is_excluded(options: &Options, name: &str, member: &str, data: &[u8]) -> Result<bool, Error> {
    for entry in &options.exclude {
        let is_this = match entry.split_once(':') {
            None => entry == member,
            Some((own, symbol)) => {
                own == member
                    && global_symbols(name, data)?.iter().any(|defined| defined == symbol.as_bytes())
            }
        };
        if is_this {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Names and contents of an archive's objects; members that are no objects (Rust's metadata, licences) are left out.
fn read<'a>(name: &str, bytes: &'a [u8]) -> Result<Vec<(String, &'a [u8])>, Error> {
    let malformed = |error| Error::whole(name, Reason::malformed(format!("not a readable archive: {error}")));
    let archive = ArchiveFile::parse(bytes).map_err(malformed)?;
    if archive.is_thin() {
        let reason = Reason::new(
            "the archive is thin: it names its members but does not hold them",
            "make it with ar rc, without T",
        );
        return Err(Error::whole(name, reason));
    }
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(malformed)?;
        let data = member.data(bytes).map_err(malformed)?;
        let is_object = elf::is_elf(data) || data.starts_with(b"BC\xc0\xde");
        if is_object {
            let name = lockgate_outside::printable_bytes(member.name());
            members.push((name, data));
        }
    }
    Ok(members)
}

fn global_symbols(name: &str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let object = Object::read(name, bytes)?;
    let is_defined = |symbol: &elf::Symbol| symbol.binding != sym::LOCAL && !symbol.is_undefined();
    Ok(object.symbols.into_iter().filter(is_defined).map(|symbol| symbol.name).collect())
}

/// Writes a GNU archive: symbol index, long names, members.
fn write(members: &[Member]) -> Vec<u8> {
    let mut long_names = Vec::new();
    let mut names = Vec::with_capacity(members.len());
    for member in members {
        // Names stand for themselves in ASCII only: others have several bytes where the header counts characters.
        let is_short =
            member.name.is_ascii() && !member.name.contains('/') && (1..16).contains(&member.name.len());
        if is_short {
            names.push(format!("{}/", member.name));
        } else {
            names.push(format!("/{}", long_names.len()));
            long_names.extend_from_slice(member.name.as_bytes());
            long_names.extend_from_slice(b"/\n");
        }
    }
    let symbols = members.iter().flat_map(|member| &member.symbols);
    let (count, text) = symbols.fold((0u32, 0), |(count, text), symbol| (count + 1, text + symbol.len() + 1));
    let index_size = 4 + 4 * count as usize + text;
    let mut at = MAGIC.len() + HEADER + index_size.next_multiple_of(2);
    if !long_names.is_empty() {
        at += HEADER + long_names.len().next_multiple_of(2);
    }
    let mut index = count.to_be_bytes().to_vec();
    let mut strings = Vec::with_capacity(text);
    for member in members {
        for symbol in &member.symbols {
            index.extend_from_slice(&(at as u32).to_be_bytes());
            strings.extend_from_slice(symbol);
            strings.push(0);
        }
        at += HEADER + member.bytes.len().next_multiple_of(2);
    }
    index.append(&mut strings);

    let mut out = MAGIC.to_vec();
    append(&mut out, "/", &index);
    if !long_names.is_empty() {
        append(&mut out, "//", &long_names);
    }
    for (member, name) in members.iter().zip(&names) {
        append(&mut out, name, &member.bytes);
    }
    out
}

fn append(out: &mut Vec<u8>, name: &str, contents: &[u8]) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, contents.len());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(contents);
    if contents.len() % 2 == 1 {
        out.push(b'\n');
    }
}
