//! What a header declares, free of libclang.
use crate::annotation::Notes;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::Deref;

/// Where something is declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as the compiler names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// All declarations of a header that stubs may need.
#[derive(Debug, Default)]
pub struct Header {
    /// Functions in the order of their first declarations.
    pub functions: Functions,
    /// Structures and unions by [`Record::key`].
    pub records: BTreeMap<String, Record>,
    /// Annotated typedefs of functions: parameters with their notes, by the typedef's name.
    pub callbacks: BTreeMap<String, Prototype>,
    /// Notes on types, by name.
    pub types: BTreeMap<String, Notes>,
    /// Error values by result type.
    pub errors: BTreeMap<String, String>,
    /// The library's name and options, if the file says them.
    pub library: Option<(String, Vec<String>)>,
    /// Enumerations by [`CType::enumeration`].
    pub enumerations: BTreeMap<String, Vec<(String, i128)>>,
    /// All enumerators outside of structures.
    pub enumerators: BTreeMap<String, i128>,
    /// Macros that are constants, and enumerators, in order.
    pub constants: Vec<(String, Value)>,
    /// Lines of the source files that contain annotations.
    pub annotation_lines: usize,
    /// Macros in annotations' expressions that are integer constants.
    pub known: BTreeSet<String>,
    /// Names in annotations' expressions as they are written.
    pub spelled: BTreeSet<String>,
    /// The numbers that they stand for behind the header, enumerators (`false`) and macros.
    pub numbers: BTreeMap<String, (i128, bool)>,
    /// Types without typedefs: of functions by their names, of fields by those of structures, `struct tag.field`. What C has no word for is left out.
    pub bare: BTreeMap<String, String>,
    /// Functions that go by another name in objects.
    pub renamed: BTreeSet<String>,
    /// What the header itself reads of structures: macros and inline functions that the program has of it.
    pub looks: Vec<Look>,
}

/// Functions, each of another name.
#[derive(Debug, Default)]
pub struct Functions {
    all: Vec<Function>,
    places: HashMap<String, usize>,
}

impl Functions {
    /// The one of this name.
    pub fn named(&self, name: &str) -> Option<&Function> {
        self.places.get(name).map(|place| &self.all[*place])
    }

    /// The same, to be changed.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut Function> {
        self.places.get(name).map(|place| &mut self.all[*place])
    }

    /// Adds one, unless there is one of its name.
    pub fn push(&mut self, function: Function) {
        if let Entry::Vacant(place) = self.places.entry(function.name.clone()) {
            place.insert(self.all.len());
            self.all.push(function);
        }
    }
}

impl Deref for Functions {
    type Target = [Function];

    fn deref(&self) -> &[Function] {
        &self.all
    }
}

impl<'f> IntoIterator for &'f Functions {
    type Item = &'f Function;
    type IntoIter = std::slice::Iter<'f, Function>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

/// Something of the header's, compiled into programs, that reads a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The structure's key, where that is known: of a macro only the field's name is.
    pub record: Option<String>,
    /// The field.
    pub field: String,
    /// Who: "macro `m`", "inline function `f`".
    pub by: String,
    /// Where that is.
    pub place: Place,
}

impl Header {
    /// The number of each enumerator that the file has.
    pub fn each_enumerator(&self) -> impl Iterator<Item = (&str, i128)> {
        let of_types = self.enumerations.values().flatten().map(|(name, number)| (name, number));
        self.enumerators.iter().chain(of_types).map(|(name, number)| (name.as_str(), *number))
    }

    /// Notes of a declaration, with those on its types.
    pub fn notes(&self, parameter: &Parameter) -> Notes {
        let of_type = |kind: &CType| {
            let names = kind.names.iter();
            names.filter_map(|name| self.types.get(name)).cloned().collect::<Vec<_>>()
        };
        let own = parameter.notes.clone();
        let mut notes = of_type(&parameter.kind).iter().fold(own, |notes, about| notes.or(about));
        // A structure that is opaque is so behind each pointer to it.
        for about in parameter.kind.pointee().map(of_type).unwrap_or_default() {
            notes.opaque |= about.opaque;
            notes.zeros |= about.zeros;
            notes.jumps |= about.jumps;
        }
        notes
    }

    /// All names in expressions of annotations.
    pub fn names_asked(&self) -> BTreeSet<String> {
        let functions = self.functions.iter().map(|f| (&f.prototype, Some(&f.notes)));
        let prototypes = functions.chain(self.callbacks.values().map(|prototype| (prototype, None)));
        let mut names = BTreeSet::new();
        for (prototype, notes) in prototypes {
            notes.into_iter().for_each(|notes| notes.add_names(&mut names));
            prototype.add_names(&mut names);
        }
        for notes in self.types.values() {
            notes.add_names(&mut names);
        }
        for field in self.records.values().flat_map(|record| record.fields.iter().flatten()) {
            field.add_names(&mut names);
        }
        names
    }
}

/// The name of a type without the folder of the file in which it has none: outputs do not tell where they were made.
pub fn without_folder(spelling: &str) -> String {
    let (Some(open), Some(at)) = (spelling.find('('), spelling.find(" at ")) else {
        return spelling.to_owned();
    };
    match spelling[at..].rfind('/') {
        Some(slash) if open < at => format!("{} at {}", &spelling[..at], &spelling[at + slash + 1..]),
        _ => spelling.to_owned(),
    }
}

impl Prototype {
    /// Calls `see` with each type in it, however deep.
    pub fn each_type(&self, see: &mut dyn FnMut(&CType)) {
        self.result.each_type(see);
        self.parameters.iter().for_each(|parameter| parameter.kind.each_type(see));
    }

    fn add_names(&self, names: &mut BTreeSet<String>) {
        self.parameters.iter().for_each(|parameter| parameter.add_names(names));
    }
}

impl Parameter {
    /// A parameter or field of this type, of which nothing is said but `notes`.
    pub fn new(name: impl Into<String>, kind: CType, notes: Notes) -> Parameter {
        Parameter { name: name.into(), kind, notes, extent: None }
    }

    /// Its type where a variable has it: arrays are pointers.
    pub fn variable(&self) -> String {
        match (&self.kind.shape, self.extent) {
            (Shape::Pointer(element), Some(_)) => format!("{} *", element.spelling),
            _ => self.kind.spelling.clone(),
        }
    }

    fn add_names(&self, names: &mut BTreeSet<String>) {
        self.notes.add_names(names);
        if let Shape::Function(prototype) = &self.kind.shape {
            prototype.add_names(names);
        }
    }
}

/// One function of the API.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Result and parameters.
    pub prototype: Prototype,
    /// What is said of the function and its result.
    pub notes: Notes,
    /// First declaration.
    pub place: Place,
    /// The comment beside it, without stars.
    pub comment: Option<String>,
}

/// What a constant of the header is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// A string literal.
    Text(std::ffi::CString),
}

/// Result and parameters of a function or of a pointer to one.
#[derive(Debug, Clone, PartialEq)]
pub struct Prototype {
    /// What it returns.
    pub result: CType,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// It has `...`.
    pub variadic: bool,
    /// It does not return.
    pub noreturn: bool,
    /// It is called in another way than the platform's functions (`ms_abi`).
    pub foreign: bool,
    /// The compiler of the program goes by it that the result is not null (`returns_nonnull`).
    pub never_null: bool,
    /// The compiler of the program goes by it that the result is aligned in a way that its type does not say (`assume_aligned`,
    /// `alloc_align`).
    pub aligned: bool,
    /// The compiler of the program goes by it that the function runs nothing of the program's (`pure`, `const`, `leaf`).
    pub silent: bool,
    /// The compiler of the program goes by it that the result is a format for the same arguments as a parameter (`format_arg`).
    pub format: bool,
    /// The declaration says how the function is made, or who calls it (`naked`, `constructor`): that would be true of the stub.
    pub made: bool,
}

/// One parameter or field.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name; `arg0`, `arg1`, … where the header gives none.
    pub name: String,
    /// Its type; arrays have decayed to pointers in parameters.
    pub kind: CType,
    /// What is said of it.
    pub notes: Notes,
    /// Of a parameter that is declared as an array: how many elements, as far as the header says (`int x[4]`).
    pub extent: Option<Extent>,
}

/// How long an array is that a parameter is declared as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// So many elements.
    Of(u64),
    /// As many as an expression says, or as nothing says (`int x[n]`, `int x[]`).
    Open,
}

/// A type as it is written, and what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct CType {
    /// As in the header, typedefs included.
    pub spelling: String,
    /// Names of the typedefs it goes through, outermost first.
    pub names: Vec<String>,
    /// It is `const`.
    pub constant: bool,
    /// Bytes; 0 for what has no size.
    pub size: u64,
    /// What it is.
    pub shape: Shape,
    /// The enumeration that it is: `enum tag`, or the typedef's name where there is no tag.
    pub enumeration: Option<String>,
}

/// What a type is, without its names.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// `void`.
    Void,
    /// Integers, enumerations and booleans.
    Integer {
        /// Two's complement.
        signed: bool,
        /// `char`, of either sign: what strings are made of.
        character: bool,
        /// `char` itself: what says `unsigned char` or `signed char` may mean bytes.
        plain: bool,
    },
    /// `float` and `double`.
    Float,
    /// A pointer to an object.
    Pointer(Box<CType>),
    /// A pointer to a function.
    Function(Box<Prototype>),
    /// A structure or union: its key in [`Header::records`].
    Record(String),
    /// A fixed number of elements.
    Array(Box<CType>, u64),
    /// What no stub can pass, in words.
    Unsupported(String),
}

impl CType {
    /// What it points to, if it is a pointer to an object.
    pub fn pointee(&self) -> Option<&CType> {
        match &self.shape {
            Shape::Pointer(to) => Some(to),
            _ => None,
        }
    }

    /// What it is an array of, of arrays perhaps, and how many each has, the outermost first; else itself.
    pub fn innermost(&self) -> (&CType, Vec<u64>) {
        let (mut kind, mut counts) = (self, Vec::new());
        while let Shape::Array(element, count) = &kind.shape {
            counts.push(*count);
            kind = element;
        }
        (kind, counts)
    }

    /// An array, of arrays perhaps, that has no element at all: as a field, GNU C's name for what lies behind the structure.
    pub fn is_empty_array(&self) -> bool {
        match &self.shape {
            Shape::Array(element, count) => *count == 0 || element.is_empty_array(),
            _ => false,
        }
    }

    /// `bool`, which is 0 or 1 only if who wrote it says so.
    pub fn is_bool(&self) -> bool {
        self.size == 1
            && self.enumeration.is_none()
            && matches!(self.shape, Shape::Integer { character: false, .. })
    }

    /// Calls `see` with this type and each that crosses with it; structures' fields are types of their own.
    pub fn each_type(&self, see: &mut dyn FnMut(&CType)) {
        see(self);
        match &self.shape {
            // (A structure behind a pointer crosses by it.)
            Shape::Pointer(to) if matches!(to.shape, Shape::Record(_)) => {}
            Shape::Pointer(to) | Shape::Array(to, _) => to.each_type(see),
            Shape::Function(prototype) => prototype.each_type(see),
            _ => {}
        }
    }

    /// True for integers.
    pub fn is_integer(&self) -> bool {
        matches!(self.shape, Shape::Integer { .. })
    }

    /// True for `char`.
    pub fn is_character(&self) -> bool {
        matches!(self.shape, Shape::Integer { character: true, .. })
    }

    /// True for a character of wide text.
    pub fn is_wide_character(&self) -> bool {
        let wide = |name: &String| matches!(&**name, "wchar_t" | "char16_t" | "char32_t");
        self.is_integer() && self.names.iter().any(wide)
    }

    /// True for `char` that says no sign.
    pub fn is_plain_character(&self) -> bool {
        matches!(self.shape, Shape::Integer { plain: true, .. })
    }
}

/// A structure or union.
#[derive(Debug, Clone)]
pub struct Record {
    /// `struct tag`, `union tag`, or the typedef's name where there is no tag.
    pub key: String,
    /// How C names it: the key, without `struct` for typedefs.
    pub spelling: String,
    /// True for a union.
    pub union: bool,
    /// Bytes.
    pub size: u64,
    /// Bytes.
    pub alignment: u64,
    /// Its fields, `None` if it is incomplete. Those of structures and unions in it that have no name are its own.
    pub fields: Option<Vec<Parameter>>,
    /// Where each of them begins, bytes.
    pub offsets: Vec<u64>,
    /// Which of them lie in a union without a name, over others.
    pub arms: BTreeSet<String>,
    /// It has bit-fields.
    pub bit_fields: bool,
    /// What its fields do not account for, if there is such a thing: there may be anything.
    pub lost: Option<String>,
}
