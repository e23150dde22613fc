//! From libclang's cursors to the model.
#![allow(non_upper_case_globals, reason = "the constants of libclang")]
use super::comment;
use super::error::ReadError;
use super::layout::{Member, lost};
use super::libclang_sys::{Cursor, Type, Unit};
use super::model::{
    CType, Extent, Function, Header, Parameter, Place, Prototype, Record, Shape, Value, without_folder,
};
use super::promises::Promises;
use crate::annotation::{NoteError, Notes, check_options};
use clang_sys::*;
use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What attributes of ours begin with.
const PREFIX: &str = "lockgate:";

/// Types that a header may have, each in each place that it stands in: those of functions that take functions grow with every level. The
/// largest headers that there are have some hundred thousand.
const MOST_TYPES: usize = 1_000_000;

/// Integers in which a pointer has room, and which are made for that.
pub const POINTERS: [&str; 2] = ["uintptr_t", "intptr_t"];

/// Which functions are wanted.
pub enum Selection {
    /// Those declared in these files, absolute paths.
    Files(Vec<PathBuf>),
    /// These.
    Names(BTreeSet<String>),
}

/// Structures in one another, counted in each place, of a structure that is looked through.
const MOST_NESTED: u64 = 100_000;

/// Reads the declarations of certain functions, and of whatever these need.
pub struct Reader {
    selection: Selection,
    header: Header,
    /// Keys of records by the names of their typedefs.
    typedefs: BTreeMap<String, String>,
    /// Files as they are written, for comments.
    texts: BTreeMap<String, String>,
    /// Which file a name means: libclang calls one that several links lead to by any of them.
    files: RefCell<BTreeMap<String, PathBuf>>,
    /// Names of types in the whole unit.
    names: BTreeSet<String>,
    /// Functions and types that are declared elsewhere than in files of annotations.
    outside: BTreeSet<String>,
    /// Types that were read, each in each place that it stands in.
    types: usize,
    /// By the name of a structure or union: how many are in it, each in each place that it stands in, and itself.
    nested: HashMap<String, u64>,
    /// Annotations that were read: where their text lies.
    taken: BTreeSet<(String, usize)>,
    /// Functions, and types of functions, that are declared by the name of a type, and that name: in their order.
    by_type: Vec<(String, String, Place)>,
    /// Structures without names: the compiler's words for each, by ours.
    unnamed: HashMap<String, String>,
    /// What was wrong with a structure, which is read in passing.
    wrong: Option<ReadError>,
}

/// What a file-level annotation is about.
enum About {
    Field(String, String),
    Type(String),
    Errors(String),
    Library(String),
}

impl Reader {
    /// A reader of the functions of `selection`.
    pub fn new(selection: Selection) -> Reader {
        Reader {
            selection,
            header: Header::default(),
            typedefs: BTreeMap::new(),
            texts: BTreeMap::new(),
            files: RefCell::default(),
            names: BTreeSet::new(),
            outside: BTreeSet::new(),
            types: 0,
            nested: HashMap::new(),
            taken: BTreeSet::new(),
            by_type: Vec::new(),
            unnamed: HashMap::new(),
            wrong: None,
        }
    }

    fn later(&mut self, error: ReadError) -> Notes {
        self.wrong.get_or_insert(error);
        Notes::default()
    }

    /// Reads the whole unit.
    pub fn read(mut self, unit: &Unit) -> Result<Header, ReadError> {
        let cursors = unit.root().children();
        let mut abouts = Vec::new();
        for cursor in &cursors {
            let kind = cursor.kind();
            if kind == CXCursor_TypedefDecl {
                self.names.insert(cursor.name());
            }
            if matches!(kind, CXCursor_FunctionDecl | CXCursor_TypedefDecl) && !self.is_annotations(*cursor) {
                self.outside.insert(cursor.name());
            }
            if kind == CXCursor_EnumDecl {
                self.header.enumerators.extend(enumerators(*cursor));
            }
        }
        for cursor in &cursors {
            let cursor = *cursor;
            match cursor.kind() {
                CXCursor_FunctionDecl if cursor.name().starts_with("lockgate_about_") => abouts.push(cursor),
                CXCursor_FunctionDecl if self.is_api(cursor) && !cursor.is_static() => {
                    self.function(cursor)?;
                }
                CXCursor_TypedefDecl => self.typedef(cursor)?,
                CXCursor_VarDecl if cursor.name().starts_with("lockgate_about_") => {
                    abouts.push(cursor);
                }
                CXCursor_EnumDecl if self.is_api(cursor) => {
                    let values = enumerators(cursor).into_iter();
                    self.header.constants.extend(values.map(|(name, value)| (name, Value::Integer(value))));
                }
                _ => {}
            }
        }
        for cursor in abouts {
            self.about(cursor)?;
        }
        self.as_their_types_say()?;
        if let Some(error) = self.wrong.take() {
            return Err(error);
        }
        for cursor in &cursors {
            self.nothing_is_lost(*cursor)?;
        }
        if let Selection::Files(files) = &self.selection {
            self.header.annotation_lines = files.iter().map(|file| annotation_lines(file)).sum();
        }
        Ok(self.header)
    }

    fn is_api(&self, cursor: Cursor<'_>) -> bool {
        match &self.selection {
            Selection::Files(files) => {
                let file = self.file(cursor);
                files.contains(&file)
            }
            Selection::Names(names) => names.contains(&cursor.name()),
        }
    }

    /// Where it stands.
    fn file(&self, cursor: Cursor<'_>) -> PathBuf {
        let (name, _) = cursor.location();
        let mut files = self.files.borrow_mut();
        files
            .entry(name)
            .or_insert_with_key(|name| Path::new(name).canonicalize().unwrap_or_else(|_| name.into()))
            .clone()
    }

    /// True in files of annotations, which speak of what a header declares.
    fn is_annotations(&self, cursor: Cursor<'_>) -> bool {
        match &self.selection {
            Selection::Files(files) => {
                let file = self.file(cursor);
                files.iter().skip(1).any(|known| *known == file)
            }
            Selection::Names(_) => false,
        }
    }

    /// What a file of annotations declares is declared by a header, too.
    fn is_known(&self, cursor: Cursor<'_>, what: &str) -> Result<(), ReadError> {
        let name = cursor.name();
        if !self.is_annotations(cursor) || self.outside.contains(&name) {
            return Ok(());
        }
        let like = like(&name, self.outside.iter().map(String::as_str));
        Err(ReadError::Stray {
            place: place(cursor),
            what: format!("{name}: the header declares no such {what}{like}"),
        })
    }

    /// Every annotation in the files of the API says something of a declaration that was read.
    fn nothing_is_lost(&self, cursor: Cursor<'_>) -> Result<(), ReadError> {
        if matches!(self.selection, Selection::Names(_))
            || !self.is_api(cursor)
            || cursor.name().starts_with("lockgate_about_")
        {
            return Ok(());
        }
        for child in cursor.children() {
            // (Fields of structures that no function needs are annotated all the same; LG_DOMAIN marks what follows it.)
            let text = child.name();
            let ours = child.kind() == CXCursor_AnnotateAttr && cursor.kind() != CXCursor_FieldDecl;
            if let Some(text) = text.strip_prefix(PREFIX).filter(|text| ours && !text.starts_with("home:"))
                && !self.taken.contains(&child.offset())
            {
                let macro_name = text.split(':').next().unwrap_or_default().to_uppercase();
                return Err(ReadError::Stray {
                    place: place(child),
                    what: format!(
                        "LG_{macro_name} on {}: nothing is read here; annotations stand behind parameters, fields, and parameter lists of functions",
                        match cursor.name() {
                            name if name.is_empty() => "a declaration without a name".to_owned(),
                            name => format!("`{name}`"),
                        }
                    ),
                });
            }
            self.nothing_is_lost(child)?;
        }
        Ok(())
    }

    /// What annotations at `cursor`, which declares `name`, say.
    fn notes(&mut self, cursor: Cursor<'_>, name: &str) -> Result<Notes, ReadError> {
        let attributes = cursor.children().into_iter().filter(|child| child.kind() == CXCursor_AnnotateAttr);
        self.taken.extend(attributes.map(|attribute| attribute.offset()));
        let mut notes = notes(cursor, name)?;
        self.header.spelled.append(&mut notes.spelled);
        Ok(notes)
    }

    fn function(&mut self, cursor: Cursor<'_>) -> Result<(), ReadError> {
        self.is_known(cursor, "function")?;
        let name = cursor.name();
        // The name of a function means that function, not what an `asm` label of some header makes of the name.
        if matches!(self.selection, Selection::Names(_)) && cursor.symbol() != name {
            let what = format!("{name} is called {} in objects: give it one name", cursor.symbol());
            return Err(ReadError::Stray { place: place(cursor), what });
        }
        if cursor.symbol() != name {
            self.header.renamed.insert(name.clone());
        }
        let kind = cursor.kind_of_value();
        let parameters = self.parameters(cursor, kind)?;
        self.bare(name.clone(), kind);
        if let Some(of) = named_function(cursor, kind) {
            self.by_type.push((name.clone(), of, place(cursor)));
        }
        let notes = self.notes(cursor, &name)?;
        if let Some(known) = self.header.functions.named_mut(&name) {
            agree(&known.prototype.parameters, &parameters)
                .and_then(|()| notes.agrees(&known.notes).map_err(|error| (name.clone(), error)))
                .map_err(|(of, error)| note_error(cursor, &of, error))?;
            known.notes = notes.or(&known.notes);
            Promises::of(cursor).add_to(&mut known.prototype);
            in_the_same_places(&known.prototype.parameters, &parameters)
                .map_err(|what| ReadError::Stray { place: place(cursor), what: format!("{name}: {what}") })?;
            merge(&mut known.prototype.parameters, parameters);
            return Ok(());
        }
        let mut prototype = Prototype {
            result: self.kind(kind.result()),
            parameters,
            variadic: kind.is_variadic(),
            noreturn: false,
            foreign: kind.is_foreign(),
            never_null: false,
            aligned: false,
            silent: false,
            format: false,
            made: false,
        };
        Promises::of(cursor).add_to(&mut prototype);
        let place = place(cursor);
        let text = self.texts.entry(place.file.clone()).or_insert_with(|| read_lossy(Path::new(&place.file)));
        let comment = comment::beside(text, cursor.extent());
        self.header.functions.push(Function { name, prototype, notes, place, comment });
        Ok(())
    }

    /// What is declared by the name of a function's type takes what is said there, of the parameters and of the function itself.
    fn as_their_types_say(&mut self) -> Result<(), ReadError> {
        for (name, of, place) in std::mem::take(&mut self.by_type) {
            let wrong = |(declaration, error)| ReadError::Note {
                place: place.clone(),
                declaration,
                error: Box::new(error),
            };
            let kind = self.header.callbacks.get(&of).cloned();
            let parameters = match self.header.functions.named_mut(&name) {
                Some(function) => {
                    let said = self.header.types.get(&of).cloned().unwrap_or_default();
                    function.notes.agrees(&said).map_err(|error| wrong((name.clone(), error)))?;
                    function.notes = std::mem::take(&mut function.notes).or(&said);
                    &mut function.prototype.parameters
                }
                None => match (self.header.callbacks.entry(name), &kind) {
                    (Entry::Occupied(known), _) => &mut known.into_mut().parameters,
                    (Entry::Vacant(unknown), Some(kind)) => {
                        unknown.insert(kind.clone());
                        continue;
                    }
                    (Entry::Vacant(_), None) => continue,
                },
            };
            let Some(kind) = kind else { continue };
            agree(&kind.parameters, parameters).map_err(wrong)?;
            let own = std::mem::replace(parameters, kind.parameters);
            merge(parameters, own);
        }
        Ok(())
    }

    /// Keeps the type of what `what` names as C writes it where there are no typedefs, the first time.
    fn bare(&mut self, what: String, kind: Type<'_>) {
        // (Of a header with too many types, each of which is in the next one twice, nothing is written out.)
        if self.wrong.is_none()
            && !self.header.bare.contains_key(&what)
            && let Some(bare) = kind.bare()
        {
            self.header.bare.insert(what, bare);
        }
    }

    /// Adds what is said of a type by name.
    fn type_notes(&mut self, name: &str, said: Notes) -> Result<(), NoteError> {
        let known = self.header.types.entry(name.to_owned()).or_default();
        said.agrees(known)?;
        *known = said.or(known);
        Ok(())
    }

    /// Notes on the parameters of a function's type, names of records.
    fn typedef(&mut self, cursor: Cursor<'_>) -> Result<(), ReadError> {
        let name = cursor.name();
        let notes = self.notes(cursor, &name)?;
        if notes != Notes::default() {
            self.is_known(cursor, "type")?;
            self.type_notes(&name, notes).map_err(|error| note_error(cursor, &name, error))?;
        }
        let kind = cursor.typedef_type().canonical();
        if kind.kind() == CXType_Record
            && let Shape::Record(key) = self.kind(kind).shape
        {
            self.typedefs.insert(name, key);
            return Ok(());
        }
        let function = if kind.kind() == CXType_Pointer { kind.pointee() } else { kind };
        if function.kind() != CXType_FunctionProto {
            return Ok(());
        }
        // (Another name of a type that has one: what its parameters are called is said there.)
        if let Some(of) = named_function(cursor, cursor.typedef_type()) {
            self.by_type.push((name, of, place(cursor)));
            return Ok(());
        }
        let parameters = self.parameters(cursor, function)?;
        if parameters.iter().any(|parameter| parameter.notes != Notes::default()) {
            self.is_known(cursor, "type")?;
        }
        if let Some(known) = self.header.callbacks.get_mut(&name) {
            in_the_same_places(&known.parameters, &parameters)
                .map_err(|what| ReadError::Stray { place: place(cursor), what: format!("{name}: {what}") })?;
            agree(&known.parameters, &parameters).map_err(|(of, error)| note_error(cursor, &of, error))?;
            merge(&mut known.parameters, parameters);
            return Ok(());
        }
        let written = cursor.typedef_type();
        let written = if kind.kind() == CXType_Pointer { written.pointee() } else { written };
        let prototype = self.prototype(function, written, parameters);
        self.header.callbacks.insert(name, prototype);
        Ok(())
    }

    /// A function's type with these parameters; its result is written so.
    fn prototype(&mut self, function: Type<'_>, written: Type<'_>, parameters: Vec<Parameter>) -> Prototype {
        Prototype {
            result: self.named(function.result(), written.result()),
            parameters,
            variadic: function.is_variadic(),
            noreturn: function.is_noreturn(),
            foreign: function.is_foreign(),
            never_null: false,
            aligned: false,
            silent: false,
            format: false,
            made: false,
        }
    }

    /// Parameters of the function type `kind` with the names and notes that `cursor` has for them.
    fn parameters(&mut self, cursor: Cursor<'_>, kind: Type<'_>) -> Result<Vec<Parameter>, ReadError> {
        let declared = cursor.children().into_iter().filter(|child| child.kind() == CXCursor_ParmDecl);
        let declared: Vec<Cursor<'_>> = declared.collect();
        let mut parameters = Vec::new();
        let elsewhere = is_of_another(cursor);
        for (number, kind) in kind.parameters().into_iter().enumerate() {
            let cursor = declared.get(number);
            let name = cursor.map(|c| c.name()).filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| format!("arg{number}"));
            let notes = cursor.map_or(Ok(Notes::default()), |c| self.notes(*c, &name))?;
            let mut kind = self.kind(cursor.map_or(kind, |c| c.kind_of_value()));
            // As C does it: an array as a parameter is a pointer. (How many elements cross, LG_SIZE says.)
            let mut extent = None;
            if let Shape::Array(element, count) = kind.shape {
                kind.shape = Shape::Pointer(element);
                kind.size = 8;
                extent = Some(Extent::Of(count));
            }
            let written = cursor.map(|c| c.kind_of_value().kind());
            if matches!(written, Some(CXType_IncompleteArray | CXType_VariableArray)) {
                extent = Some(Extent::Open);
            }
            // (Its size may speak of other parameters, which are not in sight where the type is repeated.)
            if written == Some(CXType_VariableArray)
                && let Shape::Pointer(element) = &kind.shape
            {
                kind.spelling = format!("{} *", element.spelling);
                kind.size = 8;
            }
            if let Some(cursor) = cursor {
                self.inner(*cursor, &mut kind)?;
            }
            if elsewhere {
                let what = format!(
                    "`{}` of a type that is declared by `typeof`, where no annotation is read,",
                    kind.spelling
                );
                kind.shape = Shape::Unsupported(what);
            }
            parameters.push(Parameter { name, kind, notes, extent });
        }
        Ok(parameters)
    }

    /// What is said of the parameters of a pointer to a function where that is declared.
    fn inner(&mut self, cursor: Cursor<'_>, kind: &mut CType) -> Result<(), ReadError> {
        if let Shape::Function(prototype) = &mut kind.shape
            && let Some(inner) = function_type(cursor.kind_of_value().canonical())
        {
            let named = self.parameters(cursor, inner)?;
            // Where they are declared at the pointer itself, their types are as they are written, as a typedef's are: annotations and
            // alignments belong to names of types.
            let declared = cursor.children().into_iter().filter(|child| child.kind() == CXCursor_ParmDecl);
            if declared.count() == named.len() || is_of_another(cursor) {
                for (known, named) in prototype.parameters.iter_mut().zip(&named) {
                    known.kind = named.kind.clone();
                }
            }
            merge(&mut prototype.parameters, named);
        }
        Ok(())
    }

    /// A type, with its records, in the model.
    fn kind(&mut self, kind: Type<'_>) -> CType {
        self.types += 1;
        if self.types > MOST_TYPES {
            self.later(ReadError::TooMuch);
            let shape = Shape::Unsupported("one type too many".into());
            let spelling = String::new();
            return CType { spelling, names: Vec::new(), constant: false, size: 0, shape, enumeration: None };
        }
        let mut names = Vec::new();
        let bare = without_names(kind, &mut names);
        // A pointer to a named type of functions goes by that name, too.
        if bare.kind() == CXType_Pointer && function_type(bare.canonical()).is_some() {
            without_names(bare.pointee(), &mut names);
        }
        let canonical = bare.canonical();
        let shape = self.shape(if bare.kind() == CXType_Unexposed { canonical } else { bare });
        let enumeration = (canonical.kind() == CXType_Enum).then(|| self.enumeration(canonical));
        CType {
            spelling: kind.spelling(),
            constant: kind.is_const() || canonical.is_const(),
            size: if shape == Shape::Void { 0 } else { kind.size().unwrap_or(0) },
            names,
            shape,
            enumeration,
        }
    }

    /// A type without the names of typedefs, but for those of integers that may hold pointers.
    fn named(&mut self, bare: Type<'_>, written: Type<'_>) -> CType {
        let mut kind = self.kind(bare);
        let mut names = Vec::new();
        without_names(written, &mut names);
        kind.names.extend(names.into_iter().filter(|name| POINTERS.contains(&name.as_str())));
        kind
    }

    /// The key of an enumeration, with its values in the header.
    fn enumeration(&mut self, kind: Type<'_>) -> String {
        let key = kind.spelling().trim_start_matches("const ").to_owned();
        if let Some(definition) = kind.declaration().definition() {
            self.header.enumerations.entry(key.clone()).or_insert_with(|| enumerators(definition));
        }
        key
    }

    /// An enumeration is an integer, of the size and the sign that its enumerators (or its author) give it. One of four bytes that has a sign
    /// or not, and no value that tells, counts as one that has: so it is written, and compared with -1.
    fn enumerated(&mut self, kind: Type<'_>) -> Shape {
        let Some(definition) = kind.declaration().definition() else {
            return Shape::Unsupported(format!("`{}`, which is incomplete,", kind.spelling()));
        };
        let of = definition.enum_type().canonical();
        if of.kind() == CXType_Bool {
            return Shape::Unsupported(format!("`{}`, which is a bool,", kind.spelling()));
        }
        let large =
            |(_, value): &(String, i128)| i32::try_from(*value).is_err() && u32::try_from(*value).is_ok();
        let signed = match (is_unsigned(of), kind.size()) {
            (false, _) => true,
            (true, Some(4)) => !enumerators(definition).iter().any(large),
            (true, _) => false,
        };
        Shape::Integer { signed, character: false, plain: false }
    }

    fn shape(&mut self, kind: Type<'_>) -> Shape {
        let integer = |signed, character| Shape::Integer { signed, character, plain: false };
        match kind.kind() {
            CXType_Void => Shape::Void,
            CXType_Char_S => Shape::Integer { signed: true, character: true, plain: true },
            CXType_Char_U => Shape::Integer { signed: false, character: true, plain: true },
            CXType_SChar => integer(true, true),
            CXType_UChar => integer(false, true),
            CXType_Bool | CXType_UShort | CXType_UInt | CXType_ULong | CXType_ULongLong => {
                integer(false, false)
            }
            CXType_Short | CXType_Int | CXType_Long | CXType_LongLong => integer(true, false),
            CXType_Enum => self.enumerated(kind),
            CXType_Float | CXType_Double => Shape::Float,
            CXType_Record => self.record(kind),
            CXType_Pointer => match function_type(kind.canonical()) {
                Some(function) => {
                    // As they are written: some names of types say more than what they stand for.
                    let written = kind.pointee();
                    let all = function.parameters().into_iter().zip(written.parameters()).enumerate();
                    let parameter = |(number, (kind, written))| {
                        let kind = self.named(kind, written);
                        Parameter::new(format!("arg{number}"), kind, Notes::default())
                    };
                    let parameters = all.map(parameter).collect();
                    Shape::Function(Box::new(self.prototype(function, written, parameters)))
                }
                None => Shape::Pointer(Box::new(self.kind(kind.pointee()))),
            },
            CXType_ConstantArray => {
                Shape::Array(Box::new(self.kind(kind.element())), kind.count().unwrap_or(0))
            }
            CXType_IncompleteArray | CXType_VariableArray => {
                Shape::Pointer(Box::new(self.kind(kind.element())))
            }
            CXType_FunctionProto | CXType_FunctionNoProto => {
                Shape::Unsupported("a function, not a pointer to one".into())
            }
            CXType_LongDouble => Shape::Unsupported("long double".into()),
            CXType_Int128 | CXType_UInt128 => Shape::Unsupported("__int128".into()),
            _ => Shape::Unsupported(format!("`{}`", kind.spelling())),
        }
    }

    /// A structure's key: what has no name goes by its place, without the folder, unless another one lies at the same place of another file.
    fn key(&mut self, full: String) -> String {
        let short = without_folder(&full);
        let known = self.unnamed.entry(short.clone()).or_insert_with(|| full.clone());
        if *known == full { short } else { full }
    }

    fn record(&mut self, kind: Type<'_>) -> Shape {
        let declaration = kind.declaration();
        let union = declaration.kind() == CXCursor_UnionDecl;
        // Without a tag the canonical type's name is the typedef's, or says where it is.
        let key = kind
            .canonical()
            .spelling()
            .trim_start_matches("const ")
            .trim_start_matches("volatile ")
            .to_owned();
        let key = self.key(key);
        if self.header.records.contains_key(&key) {
            return Shape::Record(key);
        }
        let mut record = Record {
            key: key.clone(),
            spelling: key.clone(),
            union,
            size: kind.size().unwrap_or(0),
            alignment: kind.alignment().unwrap_or(0),
            fields: None,
            offsets: Vec::new(),
            arms: BTreeSet::new(),
            bit_fields: false,
            lost: None,
        };
        // Known before its fields are read: they may point back to it.
        self.header.records.insert(key.clone(), record.clone());
        if let Some(definition) = declaration.definition() {
            record.fields = Some(Vec::new());
            self.fields(definition, 0, false, &mut record);
            self.header.records.insert(key.clone(), record);
        }
        Shape::Record(key)
    }

    /// How many structures and unions there are in `whole`, which is one, each in each place that it stands in, and itself.
    fn nested(&mut self, whole: Type<'_>) -> u64 {
        let name = whole.canonical().spelling();
        if let Some(&known) = self.nested.get(&name) {
            return known;
        }
        let records = whole.fields().into_iter().map(|field| field.kind_of_value().canonical());
        let records: Vec<_> = records.filter(|kind| kind.kind() == CXType_Record).collect();
        let nested = records.into_iter().fold(1, |sum: u64, kind| sum.saturating_add(self.nested(kind)));
        self.nested.insert(name, nested);
        nested
    }

    /// Reads the fields of `definition`, which begins at the bit `base` of `record`, into that. With `over` they lie in a union in it.
    /// The bits that they account for.
    fn fields(&mut self, definition: Cursor<'_>, base: u64, over: bool, record: &mut Record) -> u64 {
        let whole = definition.kind_of_value();
        let union = definition.kind() == CXCursor_UnionDecl;
        let mut members = Vec::new();
        // libclang goes through all of them for each question about an offset.
        if self.nested(whole) > MOST_NESTED {
            record.lost = Some(format!("it has more than {MOST_NESTED} structures in it, one in another"));
            return 0;
        }
        for field in whole.fields() {
            let (name, own) = (field.name(), field.kind_of_value());
            let bits = if field.is_bit_field() { field.bits() } else { own.size().map(|bytes| 8 * bytes) };
            // (What has no length has no size, either.)
            let bits = bits.or((own.canonical().kind() == CXType_IncompleteArray).then_some(0));
            let unit = 8 * own.size().unwrap_or(0);
            let (Some(at), Some(bits)) = (field.field_offset(), bits) else {
                record.lost = Some(format!("the compiler does not say where {name} lies in it"));
                continue;
            };
            let declaration = own.canonical().declaration();
            if own.canonical().kind() == CXType_Record && declaration.is_anonymous_record() {
                // A union whose only member is a structure has nothing over anything, but it is not worth a word.
                let over = over || !record.union && declaration.kind() == CXCursor_UnionDecl;
                // (Only what was read in it accounts for it.)
                let bits = self.fields(declaration, base + at, over, record);
                members.push(Member { at, bits, bit_field: None });
                continue;
            }
            members.push(Member { at, bits, bit_field: field.is_bit_field().then_some(unit) });
            let notes = self.notes(field, &name).unwrap_or_else(|error| self.later(error));
            let mut kind = self.kind(own);
            if let Err(error) = self.inner(field, &mut kind) {
                self.later(error);
            }
            // (No pointer: what it names begins there, and how much that is only its author knows.)
            if own.canonical().kind() == CXType_IncompleteArray || kind.is_empty_array() {
                kind.shape = Shape::Unsupported("an array without a length".into());
                kind.size = 0;
            }
            if kind.size > 0 && !field.is_bit_field() && !name.is_empty() {
                self.bare(format!("{}.{name}", record.key), own);
            }
            if field.is_bit_field() {
                kind.size = 0; // bits
                record.bit_fields = true;
            }
            if over {
                record.arms.insert(name.clone());
            }
            record.offsets.push((base + at) / 8);
            record.fields.get_or_insert_default().push(Parameter::new(name, kind, notes));
        }
        let (size, alignment) = (8 * whole.size().unwrap_or(0), 8 * whole.alignment().unwrap_or(0));
        let lost = lost(&members, union, size, alignment);
        let read = if lost.is_none() { size } else { 0 };
        record.lost = record.lost.take().or(lost);
        read
    }

    /// `LG_FIELD`, `LG_TYPE`, `LG_ERRORS`, `LG_DOMAIN`.
    fn about(&mut self, cursor: Cursor<'_>) -> Result<(), ReadError> {
        let mut about = None;
        let mut said = Notes::default();
        let mut options = Vec::new();
        for text in attributes(cursor) {
            match text.split_once(':') {
                Some(("field", path)) => {
                    let (record, field) = path.rsplit_once('.').unwrap_or((path, ""));
                    about = Some(About::Field(record.trim().to_owned(), field.trim().to_owned()));
                }
                Some(("type", name)) => about = Some(About::Type(name.trim().to_owned())),
                Some(("errors", name)) => about = Some(About::Errors(name.trim().to_owned())),
                Some(("number", _)) => (),
                Some(("library", name)) => about = Some(About::Library(name.trim().to_owned())),
                Some(("options", list)) => {
                    options =
                        list.split(',').map(|o| o.trim().to_owned()).filter(|o| !o.is_empty()).collect();
                }
                _ => said.add(&text).map_err(|error| note_error(cursor, "the annotation", error))?,
            }
        }
        self.header.spelled.append(&mut said.spelled);
        let stray = |what: String| ReadError::Stray { place: place(cursor), what };
        match about {
            Some(About::Field(record, field)) => {
                let called = cursor.kind() == CXCursor_FunctionDecl;
                let of_callback =
                    if called { Some(self.parameters(cursor, cursor.kind_of_value())?) } else { None };
                let name = if called { "LG_FIELD_CALLBACK" } else { "LG_FIELD" };
                let wrong = |why: &str| stray(format!("{name}({record}, {field}): {why}"));
                let unknown = || wrong("there is no such field");
                let fields = &mut self.find_record(&record).ok_or_else(unknown)?.fields;
                let found = fields.iter_mut().flatten().find(|f| f.name == field).ok_or_else(unknown)?;
                match (of_callback, &mut found.kind.shape) {
                    (None, _) => {
                        said.agrees(&found.notes)
                            .map_err(|error| note_error(cursor, "the annotation", error))?;
                        found.notes = said.or(&found.notes);
                    }
                    (Some(said), Shape::Function(prototype)) => {
                        let own = &mut prototype.parameters;
                        let alike = |(one, other): (&Parameter, &Parameter)| {
                            std::mem::discriminant(&one.kind.shape)
                                == std::mem::discriminant(&other.kind.shape)
                        };
                        if said.len() != own.len() || !own.iter().zip(&said).all(alike) {
                            return Err(wrong("the function takes other parameters"));
                        }
                        agree(own, &said).map_err(|(of, error)| note_error(cursor, &of, error))?;
                        merge(own, said);
                    }
                    (Some(_), _) => return Err(wrong("the field is no pointer to a function")),
                }
            }
            Some(About::Type(name)) => {
                if matches!(self.selection, Selection::Files(_)) && !self.names.contains(&name) {
                    let like = like(&name, self.names.iter().map(String::as_str));
                    return Err(stray(format!(
                        "LG_TYPE({name}): there is no type of this name (structures go by that of a typedef){like}"
                    )));
                }
                self.is_used(&name, &said).map_err(stray)?;
                self.type_notes(&name, said).map_err(|error| note_error(cursor, &name, error))?;
            }
            Some(About::Errors(kind)) => {
                let returns = |function: &Function| {
                    let result = &function.prototype.result;
                    std::iter::once(&result.spelling).chain(&result.names).any(|name| *name == kind)
                };
                let whole = matches!(self.selection, Selection::Files(_));
                if whole && !self.header.functions.iter().any(returns) {
                    return Err(stray(format!("LG_ERRORS({kind}): no function has a result of this type")));
                }
                let error = said.error.unwrap_or_default();
                if let Some(other) = self.header.errors.get(&kind).filter(|other| **other != error) {
                    return Err(stray(format!("LG_ERRORS({kind}) is given twice: {other}, and {error}")));
                }
                self.header.errors.insert(kind, error);
            }
            Some(About::Library(name)) => {
                check_options(&options).map_err(|what| stray(format!("LG_DOMAIN({name}): {what}")))?;
                let said = (name, options);
                let whole = matches!(self.selection, Selection::Files(_));
                let other = self.header.library.as_ref().filter(|known| whole && **known != said);
                if let Some((known, _)) = other {
                    return Err(stray(format!(
                        "LG_DOMAIN({}) is said twice, and LG_DOMAIN({known})",
                        said.0
                    )));
                }
                self.header.library = Some(said);
            }
            None => {}
        }
        Ok(())
    }

    /// `LG_TYPE` speaks of what functions take, give and find in structures: of a structure behind a pointer, that it is opaque.
    fn is_used(&self, name: &str, said: &Notes) -> Result<(), String> {
        if matches!(self.selection, Selection::Names(_)) {
            return Ok(());
        }
        let (mut own, mut behind) = (false, false);
        let mut see = |kind: &CType| {
            own |= kind.names.iter().any(|other| other == name);
            behind |= kind.pointee().is_some_and(|to| to.names.iter().any(|other| other == name));
        };
        let functions = self.header.functions.iter().map(|function| &function.prototype);
        functions.chain(self.header.callbacks.values()).for_each(|prototype| prototype.each_type(&mut see));
        let fields = self.header.records.values().flat_map(|record| record.fields.iter().flatten());
        fields.for_each(|field| field.kind.each_type(&mut see));
        let whole = Notes { opaque: false, zeros: false, jumps: false, ..said.clone() } != Notes::default();
        match (own, behind) {
            (true, _) => Ok(()),
            (false, true) if !whole => Ok(()),
            (false, true) => Err(format!(
                "LG_TYPE({name}): only pointers to it are used, and of those it says LG_OPAQUE only; annotate each parameter, or a typedef of the pointer"
            )),
            (false, false) => Err(format!("LG_TYPE({name}): no function of this header uses this type")),
        }
    }

    /// The record of this name: `struct tag`, `tag`, or a typedef's name.
    fn find_record(&mut self, name: &str) -> Option<&mut Record> {
        let tagged = [name.to_owned(), format!("struct {name}"), format!("union {name}")];
        let tagged = tagged.into_iter().find(|key| self.header.records.contains_key(key));
        let key = tagged.or_else(|| self.typedefs.get(name).cloned())?;
        self.header.records.get_mut(&key)
    }
}

/// An integer without a sign.
fn is_unsigned(kind: Type<'_>) -> bool {
    matches!(
        kind.kind(),
        CXType_Bool | CXType_UChar | CXType_UShort | CXType_UInt | CXType_ULong | CXType_ULongLong
    ) || kind.kind() == CXType_Char_U
}

/// The enumerators of `definition`, which may have attributes among them, with their values.
fn enumerators(definition: Cursor<'_>) -> Vec<(String, i128)> {
    let unsigned = is_unsigned(definition.enum_type().canonical());
    let all = definition.children().into_iter().filter(|child| child.kind() == CXCursor_EnumConstantDecl);
    all.map(|child| (child.name(), child.enum_value(unsigned))).collect()
}

/// The type that names of typedefs stand for; the names are added to `names`.
fn without_names<'u>(mut kind: Type<'u>, names: &mut Vec<String>) -> Type<'u> {
    loop {
        kind = match kind.kind() {
            CXType_Typedef => {
                let declaration = kind.declaration();
                names.push(declaration.name());
                declaration.typedef_type()
            }
            CXType_Elaborated => kind.named(),
            _ => return kind,
        };
    }
}

/// `cursor`, of type `kind`, declares a function, or a pointer to one, by the name of its type.
fn named_function(cursor: Cursor<'_>, kind: Type<'_>) -> Option<String> {
    if cursor.children().into_iter().any(|child| child.kind() == CXCursor_ParmDecl) {
        return None;
    }
    let mut names = Vec::new();
    let bare = without_names(kind, &mut names);
    if bare.kind() == CXType_Pointer {
        without_names(bare.pointee(), &mut names);
    }
    names.into_iter().next()
}

/// What it declares has its parameters from somewhere, but from no declaration that can be seen.
fn is_of_another(cursor: Cursor<'_>) -> bool {
    let kind =
        if cursor.kind() == CXCursor_TypedefDecl { cursor.typedef_type() } else { cursor.kind_of_value() };
    let mut names = Vec::new();
    let mut kind = without_names(kind, &mut names);
    if kind.kind() == CXType_Pointer {
        kind = without_names(kind.pointee(), &mut names);
    }
    names.is_empty()
        && kind.kind() == CXType_Unexposed
        && !cursor.children().into_iter().any(|child| child.kind() == CXCursor_ParmDecl)
}

/// The function that a pointer's canonical type points to.
fn function_type(kind: Type<'_>) -> Option<Type<'_>> {
    let pointee = kind.pointee();
    matches!(pointee.kind(), CXType_FunctionProto | CXType_FunctionNoProto).then_some(pointee)
}

/// A later declaration that gives a parameter the name of another one means the other one.
fn in_the_same_places(known: &[Parameter], later: &[Parameter]) -> Result<(), String> {
    for (place, (own, later)) in known.iter().zip(later).enumerate() {
        if own.name != later.name && known.iter().any(|other| other.name == later.name) {
            return Err(format!(
                "parameter {} is called {} here, and that is another one in the header",
                place + 1,
                later.name
            ));
        }
    }
    Ok(())
}

/// The name that may have been meant.
fn like<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known.filter(|other| is_near(name, other)).min();
    near.map_or(String::new(), |other| format!("; {other} may be meant"))
}

/// One character was added, left out or changed, or two beside each other changed places.
fn is_near(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match a.len().abs_diff(b.len()) {
        0 => a.get(1..) == b.get(1..) || a.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..],
        1 => a.get(1..) == Some(b) || Some(a) == b.get(1..),
        _ => false,
    }
}

/// A later declaration says nothing else of a parameter: the error has its name. Where parameters have other names, sizes in these may be the
/// same sizes.
fn agree(known: &[Parameter], later: &[Parameter]) -> Result<(), (String, NoteError)> {
    let both = || known.iter().zip(later);
    if both().all(|(known, later)| known.name == later.name) {
        for (known, later) in both() {
            later.notes.agrees(&known.notes).map_err(|error| (later.name.clone(), error))?;
        }
    }
    both().try_for_each(|(known, later)| match (&known.kind.shape, &later.kind.shape) {
        (Shape::Function(mine), Shape::Function(theirs)) => agree(&mine.parameters, &theirs.parameters),
        _ => Ok(()),
    })
}

/// Later declarations add notes, and names where there were none.
pub fn merge(known: &mut [Parameter], later: Vec<Parameter>) {
    for (known, later) in known.iter_mut().zip(later) {
        known.notes = later.notes.or(&known.notes);
        known.extent = known.extent.or(later.extent);
        if !later.name.starts_with("arg") {
            known.name = later.name;
        }
        if let (Shape::Function(mine), Shape::Function(theirs)) = (&mut known.kind.shape, later.kind.shape) {
            merge(&mut mine.parameters, theirs.parameters);
        }
    }
}

fn place(cursor: Cursor<'_>) -> Place {
    let (file, line) = cursor.presumed();
    Place { file, line }
}

/// Texts of our attributes at `cursor`: of its own, and not those that clang lets it inherit from declarations before.
fn attributes(cursor: Cursor<'_>) -> Vec<String> {
    let (file, start) = cursor.begins();
    let own = |(place, offset): (String, usize)| place == file && offset >= start;
    let attribute = |child: &Cursor<'_>| child.kind() == CXCursor_AnnotateAttr && own(child.written());
    let texts = cursor.children().into_iter().filter(attribute).map(|child| child.name());
    texts.filter_map(|text| Some(text.strip_prefix(PREFIX)?.to_owned())).collect()
}

/// What annotations at `cursor`, which declares `name`, say.
///
/// # Errors
/// [`ReadError::Note`].
pub fn notes(cursor: Cursor<'_>, name: &str) -> Result<Notes, ReadError> {
    let mut notes = Notes::default();
    for text in attributes(cursor) {
        notes.add(&text).map_err(|error| note_error(cursor, name, error))?;
    }
    Ok(notes)
}

fn note_error(cursor: Cursor<'_>, name: &str, error: NoteError) -> ReadError {
    ReadError::Note { place: place(cursor), declaration: name.to_owned(), error: Box::new(error) }
}

/// Lines of `file` that say something to the generator: what an author had to write.
fn annotation_lines(file: &Path) -> usize {
    read_lossy(file).lines().filter(|line| line.contains("LG_")).count()
}

/// A file's text; empty if it cannot be read, which the compiler has done already.
fn read_lossy(file: &Path) -> String {
    String::from_utf8_lossy(&lockgate_outside::read(file).unwrap_or_default()).into_owned()
}
