//! A safe view of the part of libclang that headers need: units, cursors, types.
#![allow(non_upper_case_globals, reason = "the constants of libclang")]
use super::model::Value;
use clang_sys::*;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

/// Loads libclang for this thread. What is said if it cannot be found is clang-sys's.
pub fn load() -> Result<(), String> {
    if is_loaded() { Ok(()) } else { clang_sys::load() }
}

/// Where libclang is that [`load`] loads: what LIBCLANG_PATH may say, so that it is not searched for again.
///
/// # Errors
/// As [`load`].
pub fn path() -> Result<PathBuf, String> {
    load()?;
    let library = get_library().ok_or("it is not loaded")?;
    Ok(library.path().to_owned())
}

/// A parsed file.
pub struct Unit {
    index: CXIndex,
    unit: CXTranslationUnit,
}

/// What becomes of the bodies of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    /// Declarations are all that is wanted.
    Skipped,
    /// Everything is read.
    Read,
}

/// Where the text of a file comes from.
#[derive(Debug, Clone, Copy)]
pub enum Contents<'t> {
    /// This is it, whether there is such a file or not.
    Given(&'t str),
    /// The file's own. Cursors stand for its directives, too.
    Files,
}

/// One complaint of the parser.
pub struct Diagnostic {
    /// It could not go on as if nothing were wrong.
    pub error: bool,
    /// `file:line:column: severity: text`.
    pub text: String,
}

impl Unit {
    /// Parses `file`. [`load`] comes first. Bodies of functions are read only if asked for.
    pub fn parse(
        file: &Path,
        contents: Contents<'_>,
        arguments: &[String],
        bodies: Bodies,
    ) -> Result<Unit, String> {
        let text = |s: &str| CString::new(s).map_err(|_| format!("{s:?} contains a zero byte"));
        let name = text(&file.to_string_lossy())?;
        let arguments = arguments.iter().map(|a| text(a)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|a| a.as_ptr()).collect();
        let given = match contents {
            Contents::Given(text) => Some(text),
            Contents::Files => None,
        };
        let mut unsaved = CXUnsavedFile {
            Filename: name.as_ptr(),
            Contents: given.unwrap_or_default().as_ptr().cast(),
            Length: given.unwrap_or_default().len() as u64,
        };
        let mut unit = null_mut();
        // SAFETY: libclang is loaded; all pointers live for the calls, and it copies what it keeps.
        unsafe {
            let index = clang_createIndex(0, 0);
            let options = match bodies {
                Bodies::Skipped => CXTranslationUnit_SkipFunctionBodies,
                Bodies::Read => CXTranslationUnit_None,
            };
            let directives = CXTranslationUnit_DetailedPreprocessingRecord;
            let options = options | if given.is_none() { directives } else { CXTranslationUnit_None };
            let count = pointers.len() as i32;
            let code = clang_parseTranslationUnit2(
                index,
                name.as_ptr(),
                pointers.as_ptr(),
                count,
                &raw mut unsaved,
                given.is_some().into(),
                options,
                &raw mut unit,
            );
            if code != CXError_Success || unit.is_null() {
                clang_disposeIndex(index);
                return Err(format!("libclang could not parse {} (error {code})", file.display()));
            }
            Ok(Unit { index, unit })
        }
    }

    /// What the parser complains of.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        // SAFETY: the unit is alive; each diagnostic is disposed of once.
        unsafe {
            let one = |number| {
                let diagnostic = clang_getDiagnostic(self.unit, number);
                let error = clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error;
                let options = clang_defaultDiagnosticDisplayOptions();
                let text = string(clang_formatDiagnostic(diagnostic, options));
                clang_disposeDiagnostic(diagnostic);
                Diagnostic { error, text }
            };
            (0..clang_getNumDiagnostics(self.unit)).map(one).collect()
        }
    }

    /// The whole file.
    pub fn root(&self) -> Cursor<'_> {
        // SAFETY: the unit is alive.
        Cursor { cursor: unsafe { clang_getTranslationUnitCursor(self.unit) }, unit: PhantomData }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: made by `parse`; cursors and types borrow the unit.
        unsafe {
            clang_disposeTranslationUnit(self.unit);
            clang_disposeIndex(self.index);
        }
    }
}

/// A declaration or attribute.
#[derive(Clone, Copy)]
pub struct Cursor<'u> {
    cursor: CXCursor,
    unit: PhantomData<&'u Unit>,
}

impl<'u> Cursor<'u> {
    /// What it is: one of the `CXCursor_` constants.
    pub fn kind(self) -> CXCursorKind {
        // SAFETY: the cursor is of a live unit (so below).
        unsafe { clang_getCursorKind(self.cursor) }
    }

    /// Its name, or the text of an attribute.
    pub fn name(self) -> String {
        // SAFETY: as `kind`.
        unsafe { string(clang_getCursorSpelling(self.cursor)) }
    }

    /// Its name in objects, which an `asm` label or a pragma may change.
    pub fn symbol(self) -> String {
        // SAFETY: as `kind`.
        unsafe { string(clang_Cursor_getMangling(self.cursor)) }
    }

    /// Its type.
    pub fn kind_of_value(self) -> Type<'u> {
        // SAFETY: as `kind`.
        Type { kind: unsafe { clang_getCursorType(self.cursor) }, unit: PhantomData }
    }

    /// The type that a typedef names.
    pub fn typedef_type(self) -> Type<'u> {
        // SAFETY: as `kind`.
        Type { kind: unsafe { clang_getTypedefDeclUnderlyingType(self.cursor) }, unit: PhantomData }
    }

    /// The definition, if the unit has one.
    pub fn definition(self) -> Option<Cursor<'u>> {
        // SAFETY: as `kind`.
        let cursor = unsafe { clang_getCursorDefinition(self.cursor) };
        // SAFETY: as `kind`.
        let null = unsafe { clang_Cursor_isNull(cursor) } != 0;
        (!null).then_some(Cursor { cursor, unit: PhantomData })
    }

    /// True for `static` functions: they are no part of a library.
    pub fn is_static(self) -> bool {
        // SAFETY: as `kind`.
        unsafe { clang_Cursor_getStorageClass(self.cursor) == CX_SC_Static }
    }

    /// True for a bit-field.
    pub fn is_bit_field(self) -> bool {
        // SAFETY: as `kind`.
        unsafe { clang_Cursor_isBitField(self.cursor) != 0 }
    }

    /// A compiler concludes from the declaration that what the function gives is not null.
    pub fn is_never_null(self) -> bool {
        self.has_attribute("returns_nonnull")
    }

    /// A compiler concludes from the declaration that what the function gives is aligned as no type says.
    pub fn is_aligned(self) -> bool {
        self.has_attribute("assume_aligned") || self.has_attribute("alloc_align")
    }

    /// A compiler concludes from the declaration that the function does not return: GNU's attribute is part of its type, and the standards'
    /// are in the declaration as libclang prints it, those that macros make included.
    pub fn is_noreturn(self) -> bool {
        self.kind_of_value().is_noreturn() || self.has_attribute("noreturn") || says_noreturn(&self.printed())
    }

    /// The declaration as libclang prints it, what macros have made included.
    fn printed(self) -> String {
        // SAFETY: as `kind`; the policy is disposed of once, when nothing is printed by it any more.
        unsafe {
            let policy = clang_getCursorPrintingPolicy(self.cursor);
            let printed = string(clang_getCursorPrettyPrinted(self.cursor, policy));
            clang_PrintingPolicy_dispose(policy);
            printed
        }
    }

    /// A compiler concludes from the declaration that the function runs nothing of the program's: it calls back nothing.
    pub fn is_silent(self) -> bool {
        ["pure", "const", "leaf"].into_iter().any(|name| self.has_attribute(name))
    }

    /// A compiler concludes from the declaration that what the function gives is a format as good as the one that it is given.
    pub fn is_format(self) -> bool {
        self.has_attribute("format_arg")
    }

    /// An attribute of the declaration says how the function is made, or who calls it: it would be one of the client's own definition.
    pub fn is_made(self) -> bool {
        let made = [
            "naked",
            "constructor",
            "destructor",
            "interrupt",
            "no_caller_saved_registers",
            "no_callee_saved_registers",
        ];
        made.into_iter().any(|name| self.has_attribute(name))
    }

    /// Another definition may take the place of this one, as an attribute says.
    pub fn is_weak(self) -> bool {
        self.has_attribute("weak")
    }

    /// The declaration has an attribute for which libclang has no question.
    fn has_attribute(self, name: &str) -> bool {
        // The attribute's name stands where the attribute is written, unless a macro makes the name alone; libclang prints that.
        let kinds = [CXCursor_UnexposedAttr, CXCursor_PureAttr, CXCursor_ConstAttr];
        let attributes = self.children().into_iter().filter(|child| kinds.contains(&child.kind()));
        let attributes: Vec<_> = attributes.collect();
        attributes.iter().any(|attribute| attribute.word().trim_matches('_') == name)
            || !attributes.is_empty() && says_attribute(&self.printed(), name)
    }

    /// The word at which it is written, in a macro's definition if it comes from there.
    fn word(self) -> String {
        let mut file = null_mut();
        let mut offset: c_uint = 0;
        let mut size = 0;
        // SAFETY: as `kind`; the out-parameters live on this frame, and the text as long as the unit.
        let text = unsafe {
            let location = clang_getCursorLocation(self.cursor);
            clang_getSpellingLocation(location, &raw mut file, null_mut(), null_mut(), &raw mut offset);
            let of = clang_Cursor_getTranslationUnit(self.cursor);
            if file.is_null() {
                return String::new();
            }
            let text = clang_getFileContents(of, file, &raw mut size);
            if text.is_null() {
                return String::new();
            }
            std::slice::from_raw_parts(text.cast::<u8>(), size)
        };
        let of_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let word = text.get(offset as usize..).unwrap_or_default().iter().take_while(of_word);
        word.map(|byte| char::from(*byte)).collect()
    }

    /// Bits of a bit-field.
    pub fn bits(self) -> Option<u64> {
        // SAFETY: as `kind`.
        u64::try_from(unsafe { clang_getFieldDeclBitWidth(self.cursor) }).ok()
    }

    /// Where a field begins in the structure or union that it is declared in, in bits.
    pub fn field_offset(self) -> Option<u64> {
        // SAFETY: as `kind`.
        u64::try_from(unsafe { clang_Cursor_getOffsetOfField(self.cursor) }).ok()
    }

    /// True for a structure or union that has neither a tag nor a declarator: its members are those of what it is declared in.
    pub fn is_anonymous_record(self) -> bool {
        // SAFETY: as `kind`.
        unsafe { clang_Cursor_isAnonymousRecordDecl(self.cursor) != 0 }
    }

    /// The integer that an enumeration is.
    pub fn enum_type(self) -> Type<'u> {
        // SAFETY: as `kind`.
        Type { kind: unsafe { clang_getEnumDeclIntegerType(self.cursor) }, unit: PhantomData }
    }

    /// The value of an enumerator, of an enumeration with a sign or without.
    pub fn enum_value(self, unsigned: bool) -> i128 {
        // SAFETY: as `kind`.
        unsafe {
            match unsigned {
                true => clang_getEnumConstantDeclUnsignedValue(self.cursor).into(),
                false => clang_getEnumConstantDeclValue(self.cursor).into(),
            }
        }
    }

    /// What a variable's initialiser comes to, if that is known to the compiler.
    pub fn value(self) -> Option<Value> {
        // SAFETY: as `kind`; the result is disposed of once, and its text is copied before that.
        unsafe {
            let result = clang_Cursor_Evaluate(self.cursor);
            if result.is_null() {
                return None;
            }
            // (Of wider integers there are only as many bits as libclang gives.)
            let wide = self.kind_of_value().size().is_none_or(|size| size > 8);
            let value = match clang_EvalResult_getKind(result) {
                CXEval_Int if wide => None,
                CXEval_Int if clang_EvalResult_isUnsignedInt(result) != 0 => {
                    Some(Value::Integer(clang_EvalResult_getAsUnsigned(result).into()))
                }
                CXEval_Int => Some(Value::Integer(clang_EvalResult_getAsLongLong(result).into())),
                CXEval_Float => Some(Value::Float(clang_EvalResult_getAsDouble(result))),
                // (Of wide characters there is only as much as looks like text.)
                CXEval_StrLiteral if self.kind_of_value().canonical().pointee().size() == Some(1) => {
                    let text = clang_EvalResult_getAsStr(result);
                    (!text.is_null()).then(|| Value::Text(CStr::from_ptr(text).to_owned()))
                }
                _ => None,
            };
            clang_EvalResult_dispose(result);
            value
        }
    }

    /// The file, and the offset in it: where the text really lies, whatever line markers say.
    pub fn offset(self) -> (String, usize) {
        // SAFETY: as `kind`.
        unsafe { offset(clang_getCursorLocation(self.cursor)) }
    }

    /// The file and the offset where what it declares begins, as [`Cursor::written`] has them.
    pub fn begins(self) -> (String, usize) {
        // SAFETY: as `kind`.
        unsafe { expansion(clang_getRangeStart(clang_getCursorExtent(self.cursor))) }
    }

    /// The file and the offset where the text that it comes from is written: of what macros make, the outermost macro's name.
    /// Neither line markers nor macros change that.
    pub fn written(self) -> (String, usize) {
        // SAFETY: as `kind`.
        unsafe { expansion(clang_getCursorLocation(self.cursor)) }
    }

    /// The file that an `#include` leads to.
    pub fn included(self) -> Option<String> {
        // SAFETY: as `kind`; a file's name is made for us.
        unsafe {
            let file = clang_getIncludedFile(self.cursor);
            (!file.is_null()).then(|| string(clang_getFileName(file)))
        }
    }

    /// Offsets of its first character and behind its last one, in their file.
    pub fn extent(self) -> std::ops::Range<usize> {
        // SAFETY: as `kind`.
        unsafe {
            let extent = clang_getCursorExtent(self.cursor);
            offset(clang_getRangeStart(extent)).1..offset(clang_getRangeEnd(extent)).1
        }
    }

    /// What an expression refers to.
    pub fn referenced(self) -> Option<Cursor<'u>> {
        // SAFETY: as `kind`.
        let cursor = unsafe { clang_getCursorReferenced(self.cursor) };
        // SAFETY: as `kind`.
        let null = unsafe { clang_Cursor_isNull(cursor) } != 0;
        (!null).then_some(Cursor { cursor, unit: PhantomData })
    }

    /// What it is declared in.
    pub fn parent(self) -> Cursor<'u> {
        // SAFETY: as `kind`.
        Cursor { cursor: unsafe { clang_getCursorSemanticParent(self.cursor) }, unit: PhantomData }
    }

    /// True for what is declared outside functions and records.
    pub fn is_of_file(self) -> bool {
        // The library is asked, for the number of this kind is another one since libclang 15.
        // SAFETY: as `kind`.
        unsafe {
            clang_isTranslationUnit(clang_getCursorKind(clang_getCursorSemanticParent(self.cursor))) != 0
        }
    }

    /// True for functions declared `inline`.
    pub fn is_inline(self) -> bool {
        // SAFETY: as `kind`.
        unsafe { clang_Cursor_isFunctionInlined(self.cursor) != 0 }
    }

    /// True for declarations with `extern`.
    pub fn is_extern(self) -> bool {
        // SAFETY: as `kind`.
        unsafe { clang_Cursor_getStorageClass(self.cursor) == CX_SC_Extern }
    }

    /// File and line, as line markers say.
    pub fn presumed(self) -> (String, u32) {
        let mut file = CXString { data: std::ptr::null(), private_flags: 0 };
        let mut line: c_uint = 0;
        // SAFETY: as `kind`; the out-parameters live on this frame, and the name is set.
        unsafe {
            let location = clang_getCursorLocation(self.cursor);
            clang_getPresumedLocation(location, &raw mut file, &raw mut line, null_mut());
            (string(file), line)
        }
    }

    /// File and line.
    pub fn location(self) -> (String, u32) {
        let mut file = null_mut();
        let mut line: c_uint = 0;
        // SAFETY: as `kind`; the out-parameters live on this frame.
        unsafe {
            let location = clang_getCursorLocation(self.cursor);
            clang_getFileLocation(location, &raw mut file, &raw mut line, null_mut(), null_mut());
            let name = if file.is_null() { String::new() } else { string(clang_getFileName(file)) };
            (name, line)
        }
    }

    /// What it directly contains.
    pub fn children(self) -> Vec<Cursor<'u>> {
        self.contents(CXChildVisit_Continue)
    }

    /// All that it contains, at any depth.
    pub fn descendants(self) -> Vec<Cursor<'u>> {
        self.contents(CXChildVisit_Recurse)
    }

    fn contents(self, then: CXChildVisitResult) -> Vec<Cursor<'u>> {
        struct Visit {
            found: Vec<CXCursor>,
            then: CXChildVisitResult,
        }
        extern "C" fn visit(child: CXCursor, _: CXCursor, data: CXClientData) -> CXChildVisitResult {
            // SAFETY: `contents` passes a structure that outlives the visit.
            let visit = unsafe { &mut *data.cast::<Visit>() };
            visit.found.push(child);
            visit.then
        }
        let mut data = Visit { found: Vec::new(), then };
        // SAFETY: as `kind`; the visitor gets the structure it expects.
        unsafe { clang_visitChildren(self.cursor, visit, (&raw mut data).cast::<c_void>()) };
        data.found.into_iter().map(|cursor| Cursor { cursor, unit: PhantomData }).collect()
    }
}

/// A type of C.
#[derive(Clone, Copy)]
pub struct Type<'u> {
    kind: CXType,
    unit: PhantomData<&'u Unit>,
}

impl<'u> Type<'u> {
    fn wrap(kind: CXType) -> Type<'u> {
        Type { kind, unit: PhantomData }
    }

    /// What it is: one of the `CXType_` constants.
    pub fn kind(self) -> CXTypeKind {
        self.kind.kind
    }

    /// As it is written. A type without a name is `struct (unnamed at FILE:LINE:COLUMN)`, as libclang has it since version 22, for it is
    /// shown to people.
    pub fn spelling(self) -> String {
        // SAFETY: the type is of a live unit (so below).
        let spelling = unsafe { string(clang_getTypeSpelling(self.kind)) };
        let older = ["struct", "union", "enum"].map(|what| format!("(unnamed {what} at "));
        let spelling = older.iter().fold(spelling, |spelling, older| spelling.replace(older, "(unnamed at "));
        // (Where <stdnoreturn.h> is included, the other word is a macro that is none.)
        spelling.replace("__attribute__((noreturn))", "__attribute__((__noreturn__))")
    }

    /// Without typedefs.
    pub fn canonical(self) -> Type<'u> {
        // SAFETY: as `spelling`.
        Type::wrap(unsafe { clang_getCanonicalType(self.kind) })
    }

    /// What a pointer points to.
    pub fn pointee(self) -> Type<'u> {
        // SAFETY: as `spelling`.
        Type::wrap(unsafe { clang_getPointeeType(self.kind) })
    }

    /// What an elaborated type (`struct s`) names.
    pub fn named(self) -> Type<'u> {
        // SAFETY: as `spelling`.
        Type::wrap(unsafe { clang_Type_getNamedType(self.kind) })
    }

    /// Type of an array's elements.
    pub fn element(self) -> Type<'u> {
        // SAFETY: as `spelling`.
        Type::wrap(unsafe { clang_getArrayElementType(self.kind) })
    }

    /// Number of an array's elements.
    pub fn count(self) -> Option<u64> {
        // SAFETY: as `spelling`.
        u64::try_from(unsafe { clang_getArraySize(self.kind) }).ok()
    }

    /// What a function returns.
    pub fn result(self) -> Type<'u> {
        // SAFETY: as `spelling`.
        Type::wrap(unsafe { clang_getResultType(self.kind) })
    }

    /// What a function takes.
    pub fn parameters(self) -> Vec<Type<'u>> {
        // SAFETY: as `spelling`.
        let count = unsafe { clang_getNumArgTypes(self.kind) }.max(0) as u32;
        // SAFETY: below the count.
        (0..count).map(|n| Type::wrap(unsafe { clang_getArgType(self.kind, n) })).collect()
    }

    /// The type without typedefs, for C: but for what a declaration has no words for, types without a name and attributes among them, and
    /// but for what compilers declare for themselves. Whether a function returns is no part of it.
    pub fn bare(self) -> Option<String> {
        let spelling = self.canonical().spelling();
        let own = if self.canonical().kind() == CXType_FunctionProto { attributes(&spelling) } else { None };
        let own = own.filter(|own| *own == " __attribute__((__noreturn__))").unwrap_or_default();
        let spelling = spelling.strip_suffix(own).unwrap_or(&spelling);
        let other = ["(unnamed", "(anonymous", "__attribute__", "__va_list_tag", "_Atomic"];
        (!other.into_iter().any(|other| spelling.contains(other))).then(|| spelling.to_owned())
    }

    /// True for a function that does not return.
    pub fn is_noreturn(self) -> bool {
        // The attribute is part of a function's type; libclang has no other question for it.
        attributes(&self.canonical().spelling()).is_some_and(|text| text.contains("noreturn"))
    }

    /// True for a function that is not called as the platform's functions are.
    pub fn is_foreign(self) -> bool {
        // SAFETY: as `spelling`.
        let convention = unsafe { clang_getFunctionTypeCallingConv(self.kind) };
        !matches!(convention, CXCallingConv_Default | CXCallingConv_C)
    }

    /// True for a function with `...`.
    pub fn is_variadic(self) -> bool {
        // SAFETY: as `spelling`.
        unsafe { clang_isFunctionTypeVariadic(self.kind) != 0 }
    }

    /// True for `const`.
    pub fn is_const(self) -> bool {
        // SAFETY: as `spelling`.
        unsafe { clang_isConstQualifiedType(self.kind) != 0 }
    }

    /// True for `volatile`.
    pub fn is_volatile(self) -> bool {
        // SAFETY: as `spelling`.
        unsafe { clang_isVolatileQualifiedType(self.kind) != 0 }
    }

    /// Size in bytes, if it is complete.
    pub fn size(self) -> Option<u64> {
        // SAFETY: as `spelling`.
        u64::try_from(unsafe { clang_Type_getSizeOf(self.kind) }).ok()
    }

    /// Alignment in bytes, if it is complete.
    pub fn alignment(self) -> Option<u64> {
        // SAFETY: as `spelling`.
        u64::try_from(unsafe { clang_Type_getAlignOf(self.kind) }).ok()
    }

    /// All fields of a structure or union, in order: those without a name, too, which are no children of its declaration.
    pub fn fields(self) -> Vec<Cursor<'u>> {
        extern "C" fn visit(field: CXCursor, data: CXClientData) -> CXVisitorResult {
            // SAFETY: `fields` passes a vector that outlives the visit.
            unsafe { &mut *data.cast::<Vec<CXCursor>>() }.push(field);
            CXVisit_Continue
        }
        let mut found: Vec<CXCursor> = Vec::new();
        // SAFETY: as `spelling`; the visitor gets the vector it expects.
        unsafe { clang_Type_visitFields(self.kind, visit, (&raw mut found).cast::<c_void>()) };
        found.into_iter().map(|cursor| Cursor { cursor, unit: PhantomData }).collect()
    }

    /// Where it is declared.
    pub fn declaration(self) -> Cursor<'u> {
        // SAFETY: as `spelling`.
        Cursor { cursor: unsafe { clang_getTypeDeclaration(self.kind) }, unit: PhantomData }
    }
}

/// The file and the offset where the text that `location` comes from is written: of what macros make, the outermost macro's name.
///
/// # Safety
/// As for [`offset`].
unsafe fn expansion(location: CXSourceLocation) -> (String, usize) {
    let mut file = null_mut();
    let mut offset: c_uint = 0;
    // SAFETY: by the caller; the out-parameters live on this frame.
    unsafe {
        clang_getExpansionLocation(location, &raw mut file, null_mut(), null_mut(), &raw mut offset);
        let name = if file.is_null() { String::new() } else { string(clang_getFileName(file)) };
        (name, offset as usize)
    }
}

/// File and offset of a location.
///
/// # Safety
/// The location is of a live unit.
unsafe fn offset(location: CXSourceLocation) -> (String, usize) {
    let mut file = null_mut();
    let mut offset: c_uint = 0;
    // SAFETY: by the caller; the out-parameters live on this frame.
    unsafe {
        clang_getFileLocation(location, &raw mut file, null_mut(), null_mut(), &raw mut offset);
        let name = if file.is_null() { String::new() } else { string(clang_getFileName(file)) };
        (name, offset as usize)
    }
}

/// A declaration as libclang prints it has C11's word or C23's attribute: not in a string, which annotations are, nor in a body.
fn says_noreturn(declaration: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let own = declaration.split('{').next().unwrap_or_default().split('"').step_by(2);
    own.into_iter().any(|text| {
        text.split(|c| !is_of_word(c)).any(|word| word == "_Noreturn") || text.contains("[[noreturn]]")
    })
}

/// A declaration as libclang prints it has this attribute, in whatever spelling: not in a string, nor in a body.
fn says_attribute(declaration: &str, name: &str) -> bool {
    let own = declaration.split('{').next().unwrap_or_default().split('"').step_by(2);
    own.into_iter().any(|text| {
        ["__attribute__((", "[[gnu::", "[[__gnu__::"].into_iter().any(|begin| {
            text.split(begin).skip(1).any(|rest| {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                rest[..end].trim_matches('_') == name
            })
        })
    })
}

/// What stands behind the parameters of a function type as libclang writes it, `T (int, U) ATTRIBUTES` or, where it gives a function,
/// `T (*(int) ATTRIBUTES)(U)`: those of its parameters and of its result are others'.
fn attributes(function: &str) -> Option<&str> {
    let mut rest = function;
    loop {
        rest = rest.split_once('(')?.1;
        if !rest.starts_with('*') {
            break;
        }
    }
    let end = |text: &str| {
        let mut depth = 0;
        text.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (depth < 0).then_some(at)
        })
    };
    let behind = &rest[end(rest)? + 1..];
    Some(&behind[..end(behind).unwrap_or(behind.len())])
}

/// Takes the text out of a string of libclang's and disposes of it.
///
/// # Safety
/// The string is libclang's and has not been disposed of.
unsafe fn string(string: CXString) -> String {
    // SAFETY: by the caller; the text lives until it is disposed of.
    unsafe {
        let text = clang_getCString(string);
        let copy =
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() };
        clang_disposeString(string);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::{attributes, says_attribute, says_noreturn};

    #[test]
    fn attributes_in_whatever_spelling() {
        for yes in [
            "h *f(void) __attribute__((returns_nonnull))",
            "h *f(void) __attribute__((annotate(\"x\"))) __attribute__((__returns_nonnull__))",
            "[[gnu::returns_nonnull]] h *f(void)",
        ] {
            assert!(says_attribute(yes, "returns_nonnull"), "{yes}");
        }
        let others = [
            "h *f(int returns_nonnull)",
            "h *f(void) __attribute__((annotate(\"__attribute__((returns_nonnull))\")))",
            "inline h *f(void) {\n    h *g(void) __attribute__((returns_nonnull));\n}",
        ];
        for no in others {
            assert!(!says_attribute(no, "returns_nonnull"), "{no}");
        }
    }

    #[test]
    fn functions_that_do_not_return_by_any_standard() {
        for yes in [
            "void f(int x) _Noreturn",
            "_Noreturn void f(int x)",
            "void f(int x) [[noreturn]]",
            "[[noreturn]] void f(int)",
        ] {
            assert!(says_noreturn(yes), "{yes}");
        }
        let others = [
            "void f(int noreturn)",
            "void f(struct a_Noreturn *x) __attribute__((annotate(\"lockgate:omit:_Noreturn [[noreturn]]\")))",
            "inline void f(int x) {\n    _Noreturn void g(void);\n}",
        ];
        for no in others {
            assert!(!says_noreturn(no), "{no}");
        }
    }

    #[test]
    fn attributes_of_a_function_are_not_those_of_what_it_takes_and_gives() {
        let own = [
            ("void (int) __attribute__((noreturn))", " __attribute__((noreturn))"),
            ("void (void (*)(int) __attribute__((noreturn)), struct noreturn_list *)", ""),
            ("void (*(int))(int) __attribute__((noreturn))", ""),
            ("void (*(void (*)(int)) __attribute__((noreturn)))(int)", " __attribute__((noreturn))"),
            ("int (*(*(int))(long))(char) __attribute__((noreturn))", ""),
            ("int (void)", ""),
        ];
        for (function, behind) in own {
            assert_eq!(attributes(function), Some(behind), "{function}");
        }
        assert_eq!(attributes("int"), None);
    }
}
