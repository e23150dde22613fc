//! The types of functions in an object's debug information (DWARF standard, version 5, chapter 5).
//!
//! Everything here is an `Option`: what is malformed, missing, or not plain C as the System V ABI passes it (variable
//! arguments, `long double`, `__int128`, unions, bit-fields, packed or aligned structures, vectors) is `None`.

use super::procedure::{Kind, Member, Procedure};
use gimli::{
    AttributeValue, DebuggingInformationEntry, DwAt, DwLang, EndianSlice, EntriesTreeNode, LittleEndian,
    Reader as _, RelocateReader, Section as _, SectionId, Unit, UnitOffset, constants as dw,
};
use lockgate_signature::Type;
use object::read::elf::ElfFile64;
use object::{CompressionFormat, Object as _, ObjectSection as _, RelocationMap};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Types within types, and scopes within scopes, at most.
const MAX_DEPTH: u32 = 32;

/// Largest structure by value that a host can bind, bytes.
const MAX_STRUCT: u64 = 64 << 10;

/// Most bytes that all units of an object may have read again and again: each reads the abbreviations and lines that it refers to, and many may
/// refer to the same.
const MAX_READING: usize = 256 << 20;

/// Most types that are looked at for all functions of an object: a structure of 64 KiB may have as many fields, by way of structures in
/// structures, and each function may take it.
const MAX_TYPES: u32 = 512 << 10;

/// Most bytes that an object's compressed sections may hold, for each byte of the object: compilers' hold less than ten, others' could hold
/// gigabytes.
const MAX_RATIO: u64 = 16;

/// The languages whose functions C can call by their debug information alone.
const C: &[DwLang] = &[dw::DW_LANG_C89, dw::DW_LANG_C, dw::DW_LANG_C99, dw::DW_LANG_C11, dw::DW_LANG_C17];

/// C++, whose debug information says of each class whether it is passed as C passes structures.
const CXX: &[DwLang] = &[
    dw::DW_LANG_C_plus_plus,
    dw::DW_LANG_C_plus_plus_03,
    dw::DW_LANG_C_plus_plus_11,
    dw::DW_LANG_C_plus_plus_14,
    dw::DW_LANG_C_plus_plus_17,
    dw::DW_LANG_C_plus_plus_20,
];

/// What makes a type differ from the plain one that the notes can express.
const UNUSUAL: &[DwAt] = &[
    dw::DW_AT_alignment,
    dw::DW_AT_bit_size,
    dw::DW_AT_data_bit_offset,
    dw::DW_AT_calling_convention,
    dw::DW_AT_endianity,
    dw::DW_AT_declaration,
    dw::DW_AT_GNU_vector,
];

type Reader<'a> = RelocateReader<EndianSlice<'a, LittleEndian>, Relocations<'a>>;
type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;

/// What an object says about the functions called `names`, once for each time that it says something.
pub(super) fn procedures(
    object: &ElfFile64<'_, object::LittleEndian>,
    names: &BTreeSet<String>,
) -> Option<Vec<(String, Option<Procedure>)>> {
    let mut room = MAX_RATIO * object.data().len() as u64;
    let sections = gimli::DwarfSections::load(|id| Section::of(object, id, &mut room).ok_or(())).ok()?;
    let dwarf = sections.borrow(|section| {
        RelocateReader::new(EndianSlice::new(&section.bytes, LittleEndian), Relocations(&section.relocations))
    });
    let mut found = Vec::new();
    let mut headers = dwarf.units();
    let mut units = 0_usize;
    while headers.next().ok()?.is_some() {
        units += 1;
    }
    let read_by_each = dwarf.debug_abbrev.reader().len() + dwarf.debug_line.reader().len();
    if units.saturating_mul(read_by_each) > MAX_READING {
        return None;
    }
    let left = Cell::new(MAX_TYPES);
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        let unit = dwarf.unit(header).ok()?;
        let mut tree = unit.entries_tree(None).ok()?;
        let root = tree.root().ok()?;
        let Some(AttributeValue::Language(language)) = root.entry().attr_value(dw::DW_AT_language) else {
            continue;
        };
        let is_cxx = CXX.contains(&language);
        if !is_cxx && !C.contains(&language) {
            continue;
        }
        let context = Context { dwarf: &dwarf, unit: &unit, is_cxx, left: &left };
        // In C++ a function without types looks like one that takes and returns nothing.
        if !is_cxx || context.has_types()? {
            context.functions(root, names, 0, &mut found)?;
        }
    }
    Some(found)
}

/// One section, with what the linker would put into it.
struct Section<'a> {
    bytes: Cow<'a, [u8]>,
    relocations: RelocationMap,
}

impl<'a> Section<'a> {
    /// An empty one if the object has none of this name; `None` if it is compressed and holds more than there is `room` for.
    fn of(
        object: &ElfFile64<'a, object::LittleEndian>,
        id: SectionId,
        room: &mut u64,
    ) -> Option<Section<'a>> {
        let mut relocations = RelocationMap::default();
        let Some(section) = object.section_by_name(id.name()) else {
            return Some(Section { bytes: Cow::Borrowed(&[]), relocations });
        };
        for (offset, relocation) in section.relocations() {
            // Addresses of thread-local variables cannot be relocated; nothing here reads them.
            let _ = relocations.add(object, offset, relocation);
        }
        let data = section.compressed_data().ok()?;
        if data.format != CompressionFormat::None {
            *room = room.checked_sub(data.uncompressed_size)?;
        }
        Some(Section { bytes: data.decompress().ok()?, relocations })
    }
}

#[derive(Clone, Copy, Debug)]
struct Relocations<'a>(&'a RelocationMap);

impl gimli::read::Relocate for Relocations<'_> {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        Ok(self.0.relocate(offset as u64, value))
    }

    fn relocate_offset(&self, offset: usize, value: usize) -> gimli::Result<usize> {
        Ok(self.0.relocate(offset as u64, value as u64) as usize)
    }
}

/// One unit of compilation.
struct Context<'u, 'a> {
    dwarf: &'u gimli::Dwarf<Reader<'a>>,
    unit: &'u Unit<Reader<'a>>,
    is_cxx: bool,
    /// How many types may still be looked at.
    left: &'u Cell<u32>,
}

impl<'a> Context<'_, 'a> {
    /// Whether types are told at all, which `-g1` leaves out.
    fn has_types(&self) -> Option<bool> {
        let mut tree = self.unit.entries_tree(None).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            if child.entry().tag() == dw::DW_TAG_base_type {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Adds what a scope says of the functions called `names`, and the namespaces in it.
    fn functions(
        &self,
        scope: EntriesTreeNode<'_, '_, Reader<'a>>,
        names: &BTreeSet<String>,
        depth: u32,
        found: &mut Vec<(String, Option<Procedure>)>,
    ) -> Option<()> {
        let mut children = scope.children();
        while let Some(child) = children.next().ok()? {
            if child.entry().tag() == dw::DW_TAG_namespace && depth < MAX_DEPTH {
                self.functions(child, names, depth + 1, found)?;
                continue;
            }
            let Some(name) = self.defined_function(child.entry()) else { continue };
            if names.contains(&name) {
                found.push((name, self.procedure(child)));
            }
        }
        Some(())
    }

    /// The symbol of a global function that is defined here.
    fn defined_function(&self, entry: &Entry<'a>) -> Option<String> {
        if entry.tag() != dw::DW_TAG_subprogram || flag(entry, dw::DW_AT_declaration) {
            return None;
        }
        let declared = self.declaration(entry);
        let entry = declared.as_ref().unwrap_or(entry);
        if !flag(entry, dw::DW_AT_external) {
            return None;
        }
        self.text(entry, dw::DW_AT_linkage_name).or_else(|| self.text(entry, dw::DW_AT_name))
    }

    /// The entry that has what a definition does not repeat, as that of a function in a namespace or class.
    fn declaration(&self, entry: &Entry<'a>) -> Option<Entry<'a>> {
        self.unit.entry(self.reference(entry, dw::DW_AT_specification)?).ok()
    }

    fn procedure(&self, function: EntriesTreeNode<'_, '_, Reader<'a>>) -> Option<Procedure> {
        let entry = function.entry();
        // Without a prototype callers promote arguments, which no prototype says; and the entries of `-g1`, which
        // leave all types out, look like that too.
        let has_prototype = self.is_cxx || flag(entry, dw::DW_AT_prototyped);
        if !has_prototype || entry.attr(dw::DW_AT_calling_convention).is_some() {
            return None;
        }
        let declared = self.declaration(entry);
        let result = self.type_of(declared.as_ref().unwrap_or(entry), 0)?;
        let mut parameters = Vec::new();
        let mut children = function.children();
        while let Some(child) = children.next().ok()? {
            match child.entry().tag() {
                dw::DW_TAG_formal_parameter => {
                    let kind = self.type_of(child.entry(), 0)?;
                    parameters.push(Some(kind).filter(|kind| !matches!(kind, Kind::Void))?);
                }
                dw::DW_TAG_unspecified_parameters => return None,
                _ => (),
            }
        }
        Some(Procedure { result, parameters })
    }

    /// The type that an entry refers to; none means `void`.
    fn type_of(&self, entry: &Entry<'a>, depth: u32) -> Option<Kind> {
        match entry.attr(dw::DW_AT_type) {
            None => Some(Kind::Void),
            Some(_) => self.kind(self.target(entry)?, depth),
        }
    }

    /// Where the entry lies that DW_AT_type refers to, if in this unit.
    fn target(&self, entry: &Entry<'a>) -> Option<UnitOffset> {
        self.reference(entry, dw::DW_AT_type)
    }

    fn reference(&self, entry: &Entry<'a>, attribute: DwAt) -> Option<UnitOffset> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some(offset),
            AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&self.unit.header),
            _ => None,
        }
    }

    /// A type by value.
    fn kind(&self, at: UnitOffset, depth: u32) -> Option<Kind> {
        self.left.set(self.left.get().checked_sub(1)?);
        let entry = self.unit.entry(at).ok()?;
        let size = entry.attr(dw::DW_AT_byte_size).and_then(|attribute| attribute.udata_value());
        if depth == MAX_DEPTH || self.is_unusual(&entry) {
            return None;
        }
        match entry.tag() {
            dw::DW_TAG_base_type => {
                let names: Vec<String> = self.text(&entry, dw::DW_AT_name).into_iter().collect();
                Some(Kind::number(number(&entry, size?)?, &names))
            }
            dw::DW_TAG_typedef => Some(match self.type_of(&entry, depth + 1)? {
                Kind::Scalar(kind, name) => {
                    let alias = self.text(&entry, dw::DW_AT_name);
                    Kind::number(kind, &alias.into_iter().chain([name]).collect::<Vec<_>>())
                }
                other => other,
            }),
            dw::DW_TAG_const_type | dw::DW_TAG_volatile_type | dw::DW_TAG_restrict_type => {
                self.type_of(&entry, depth + 1)
            }
            // An atomic structure may be larger than the structure.
            dw::DW_TAG_atomic_type => {
                self.type_of(&entry, depth + 1).filter(|kind| !matches!(kind, Kind::Struct(_)))
            }
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                Some(Kind::pointer(self.pointee(&entry, depth + 1)))
            }
            dw::DW_TAG_enumeration_type if size == Some(4) => {
                let tag = self.identifier(&entry).map(|tag| format!("enum {tag}"));
                Some(Kind::Enumeration(tag.unwrap_or_else(|| "int".to_owned())))
            }
            // Larger or packed: as the integer beneath.
            dw::DW_TAG_enumeration_type => self.kind(self.target(&entry)?, depth + 1),
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type => self.structure(at, size?, depth + 1),
            _ => None,
        }
    }

    /// The name of what a pointer points to, if it has one.
    fn pointee(&self, pointer: &Entry<'a>, depth: u32) -> Option<String> {
        let entry = self.unit.entry(self.target(pointer)?).ok()?;
        if depth == MAX_DEPTH {
            return None;
        }
        let tagged = |keyword: &str| Some(format!("{keyword} {}", self.identifier(&entry)?));
        match entry.tag() {
            dw::DW_TAG_base_type => self.text(&entry, dw::DW_AT_name),
            dw::DW_TAG_typedef => self.identifier(&entry),
            dw::DW_TAG_structure_type => tagged("struct"),
            dw::DW_TAG_union_type => tagged("union"),
            dw::DW_TAG_enumeration_type => tagged("enum"),
            dw::DW_TAG_const_type if entry.attr(dw::DW_AT_type).is_none() => Some("const void".to_owned()),
            // Where the pointer itself is const, C writes it elsewhere, and callers need not know.
            dw::DW_TAG_const_type => {
                let pointee = self.pointee(&entry, depth + 1)?;
                Some(if pointee.ends_with('*') { pointee } else { format!("const {pointee}") })
            }
            dw::DW_TAG_volatile_type | dw::DW_TAG_restrict_type | dw::DW_TAG_atomic_type => {
                self.pointee(&entry, depth + 1)
            }
            dw::DW_TAG_pointer_type => {
                let to = self.pointee(&entry, depth + 1).unwrap_or_else(|| "void".to_owned());
                Some(if to.ends_with('*') { format!("{to}*") } else { format!("{to} *") })
            }
            _ => None,
        }
    }

    /// A structure by value, if its fields lie where the ABI puts plain fields of their types.
    fn structure(&self, at: UnitOffset, size: u64, depth: u32) -> Option<Kind> {
        if !(1..=MAX_STRUCT).contains(&size) {
            return None;
        }
        let mut tree = self.unit.entries_tree(Some(at)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut members = Vec::new();
        let mut end = 0;
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if entry.tag() != dw::DW_TAG_member || self.is_unusual(entry) {
                return None;
            }
            let (kind, count) = self.field(self.target(entry)?, depth)?;
            let place = entry.attr(dw::DW_AT_data_member_location)?.udata_value()?;
            let plain = kind.kind();
            if place != usize::next_multiple_of(end, plain.alignment()) as u64 {
                return None;
            }
            end = plain.size().checked_mul(count)?.checked_add(place as usize)?;
            if end as u64 > size {
                return None;
            }
            let name = self.identifier(entry).unwrap_or_else(|| format!("f{}", members.len()));
            members.push(Member { name, kind, count });
        }
        let kind = Kind::Struct(members);
        (kind.kind().size() as u64 == size).then_some(kind)
    }

    /// The type of a field, or of an array's elements and how many there are.
    fn field(&self, at: UnitOffset, depth: u32) -> Option<(Kind, usize)> {
        let entry = self.unit.entry(at).ok()?;
        if depth == MAX_DEPTH || self.is_unusual(&entry) {
            return None;
        }
        match entry.tag() {
            dw::DW_TAG_array_type => {
                let (kind, inner) = self.field(self.target(&entry)?, depth + 1)?;
                Some((kind, inner.checked_mul(self.array_length(at)?)?))
            }
            _ if self.is_array(&entry, depth) => self.field(self.target(&entry)?, depth + 1),
            // (The name of a number's type is worth keeping.)
            _ => Some((self.kind(at, depth)?, 1)),
        }
    }

    /// Whether a type is another name of an array's.
    fn is_array(&self, entry: &Entry<'a>, depth: u32) -> bool {
        let names = [dw::DW_TAG_typedef, dw::DW_TAG_const_type, dw::DW_TAG_volatile_type];
        let target = || self.unit.entry(self.target(entry)?).ok();
        entry.tag() == dw::DW_TAG_array_type
            || depth < MAX_DEPTH
                && names.contains(&entry.tag())
                && target().is_some_and(|target| self.is_array(&target, depth + 1))
    }

    /// Elements of an array, all dimensions together. An array of unknown length has none.
    fn array_length(&self, at: UnitOffset) -> Option<usize> {
        let mut tree = self.unit.entries_tree(Some(at)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut length = 1_usize;
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            let value = |attribute| entry.attr(attribute).and_then(|attribute| attribute.udata_value());
            let count = match value(dw::DW_AT_count) {
                Some(count) => count,
                None => value(dw::DW_AT_upper_bound)?.checked_add(1)?,
            };
            length = length.checked_mul(usize::try_from(count).ok()?)?;
        }
        (length > 0).then_some(length)
    }

    /// Whether a type or field differs from the plain one. C++ says of plain classes that they are passed by value; of others, or without
    /// that word, nothing is known.
    fn is_unusual(&self, entry: &Entry<'a>) -> bool {
        let is_class = matches!(entry.tag(), dw::DW_TAG_structure_type | dw::DW_TAG_class_type);
        let convention = || entry.attr_value(dw::DW_AT_calling_convention);
        let is_plain_class =
            || matches!(convention(), Some(AttributeValue::CallingConvention(dw::DW_CC_pass_by_value)));
        (self.is_cxx && is_class && !is_plain_class())
            || UNUSUAL.iter().any(|&attribute| {
                let says_plain = self.is_cxx && is_class && attribute == dw::DW_AT_calling_convention;
                entry.attr(attribute).is_some() && !says_plain
            })
    }

    fn text(&self, entry: &Entry<'a>, attribute: DwAt) -> Option<String> {
        let text = self.dwarf.attr_string(self.unit, entry.attr_value(attribute)?).ok()?;
        Some(gimli::Reader::to_string(&text).ok()?.into_owned())
    }

    /// The entry's name, if it is one in C.
    fn identifier(&self, entry: &Entry<'a>) -> Option<String> {
        let is_name = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        self.text(entry, dw::DW_AT_name).filter(is_name)
    }
}

fn flag(entry: &Entry<'_>, attribute: DwAt) -> bool {
    matches!(entry.attr_value(attribute), Some(AttributeValue::Flag(true)))
}

/// The number that a base type of `size` bytes is.
fn number(entry: &Entry<'_>, size: u64) -> Option<Type> {
    let AttributeValue::Encoding(encoding) = entry.attr_value(dw::DW_AT_encoding)? else { return None };
    let integer = |signed| {
        let bytes = u8::try_from(size).ok().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))?;
        Some(Type::Integer { bytes, signed })
    };
    match encoding {
        dw::DW_ATE_signed | dw::DW_ATE_signed_char => integer(true),
        dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char => integer(false),
        dw::DW_ATE_boolean if size == 1 => Some(Type::Bool),
        dw::DW_ATE_float if size == 4 => Some(Type::Float),
        dw::DW_ATE_float if size == 8 => Some(Type::Double),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const SOURCE: &str = "
        enum e { A, B }; struct in { short s[2]; char *p; }; typedef struct in in_t; union u { int i; float f; };
        struct out { in_t a[2]; double d; enum e e; int b : 3; };
        struct out f(struct out o, const in_t *p, union u u) { o.b = p->s[0] + u.i; return o; }
        in_t g(in_t x, long y, float z) { x.s[1] = y + z; return x; }
        int h(const char *s, ...) { return *s; }\n";

    /// Whatever a byte of the debug information is changed to, reading it ends, and without a panic.
    #[test]
    fn damage_is_survived() {
        let folder = tempfile::tempdir().unwrap();
        let (source, path) = (folder.path().join("f.c"), folder.path().join("f.o"));
        std::fs::write(&source, SOURCE).unwrap();
        let mut gcc = Command::new("gcc");
        assert!(gcc.args(["-g", "-O1", "-c"]).arg(&source).arg("-o").arg(&path).status().unwrap().success());
        let bytes = std::fs::read(&path).unwrap();
        let object = ElfFile64::<object::LittleEndian>::parse(&*bytes).unwrap();
        let names: BTreeSet<String> = ["f", "g", "h"].map(str::to_owned).into();
        let known = |bytes: &[u8]| -> Vec<String> {
            let Ok(object) = ElfFile64::<object::LittleEndian>::parse(bytes) else { return Vec::new() };
            let found = procedures(&object, &names).unwrap_or_default().into_iter();
            found.filter_map(|(name, procedure)| procedure?.prototype(&name)).collect()
        };
        assert_eq!(known(&bytes).len(), 1, "only g can be expressed");
        for section in [".debug_info", ".debug_abbrev"] {
            let (at, size) = object.section_by_name(section).unwrap().file_range().unwrap();
            for place in at as usize..(at + size) as usize {
                for value in [0, 1, 0x0d, 0x13, 0x7f, 0xff, bytes[place] ^ 1, bytes[place] ^ 0x80] {
                    let mut damaged = bytes.clone();
                    damaged[place] = value;
                    known(&damaged);
                }
            }
        }
    }
}
