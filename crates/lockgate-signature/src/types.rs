//! The types of C that signatures may use.
use std::fmt;

/// A type of C, as far as calls are concerned: typedefs resolved, pointers without what they point to.
#[derive(Debug, Clone)]
pub enum Type {
    /// `void`, as a result.
    Void,
    /// `_Bool`, which is 0 or 1: whatever else a domain has in its register counts as 1. Equal to `unsigned char`, for a call.
    Bool,
    /// An integer, enumeration or character of 1, 2, 4 or 8 bytes.
    Integer {
        /// Size, bytes.
        bytes: u8,
        /// Two's complement.
        signed: bool,
    },
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Any pointer.
    Pointer,
    /// A structure by value: fields in order.
    Struct(Vec<Field>),
}

/// One field of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Type of the field or of an array's element.
    pub kind: Type,
    /// Number of elements; 1 if the field is no array.
    pub count: usize,
}

impl Type {
    /// Size, bytes.
    pub fn size(&self) -> usize {
        match self {
            Type::Void => 0,
            Type::Bool => 1,
            Type::Integer { bytes, .. } => usize::from(*bytes),
            Type::Float => 4,
            Type::Double | Type::Pointer => 8,
            Type::Struct(fields) => layout(fields).1.next_multiple_of(self.alignment()),
        }
    }

    /// Size in bytes and sign of what is a number of bits.
    fn number(&self) -> Option<(u8, bool)> {
        match self {
            Type::Bool => Some((1, false)),
            Type::Integer { bytes, signed } => Some((*bytes, *signed)),
            _ => None,
        }
    }

    /// Alignment, bytes.
    pub fn alignment(&self) -> usize {
        match self {
            Type::Struct(fields) => fields.iter().map(|f| f.kind.alignment()).max().unwrap_or(1),
            Type::Void => 1,
            other => other.size(),
        }
    }

    /// Fields in it, and in what it holds, with arrays counted once.
    pub(crate) fn fields(&self) -> usize {
        match self {
            Type::Struct(fields) => fields.iter().map(|field| 1 + field.kind.fields()).sum(),
            _ => 0,
        }
    }

    /// Scalars of the type: offset and type, in order.
    pub fn scalars(&self) -> Vec<(usize, Type)> {
        match self {
            Type::Void => Vec::new(),
            Type::Struct(fields) => {
                let mut scalars = Vec::new();
                for (at, field) in layout(fields).0 {
                    let size = field.kind.size();
                    // An empty structure has none, however many there are.
                    for index in 0..if size == 0 { 0 } else { field.count } {
                        let base = at + index * size;
                        scalars.extend(field.kind.scalars().into_iter().map(|(o, t)| (base + o, t)));
                    }
                }
                scalars
            }
            scalar => vec![(0, scalar.clone())],
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Void, Type::Void)
            | (Type::Float, Type::Float)
            | (Type::Double, Type::Double)
            | (Type::Pointer, Type::Pointer) => true,
            (Type::Struct(fields), Type::Struct(others)) => fields == others,
            _ => self.number().is_some() && self.number() == other.number(),
        }
    }
}

impl Eq for Type {}

/// Each field with its offset, and where the last one ends. A structure's size is asked for once: this is recursive.
fn layout(fields: &[Field]) -> (Vec<(usize, &Field)>, usize) {
    let mut end = 0;
    let mut placed = Vec::with_capacity(fields.len());
    for field in fields {
        let start = usize::next_multiple_of(end, field.kind.alignment());
        end = start + field.kind.size() * field.count;
        placed.push((start, field));
    }
    (placed, end)
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("void"),
            Type::Bool => f.write_str("_Bool"),
            Type::Integer { bytes, signed } => {
                write!(f, "{}int{}_t", if *signed { "" } else { "u" }, u32::from(*bytes) * 8)
            }
            Type::Float => f.write_str("float"),
            Type::Double => f.write_str("double"),
            Type::Pointer => f.write_str("void *"),
            Type::Struct(fields) => {
                f.write_str("struct {")?;
                for (number, field) in fields.iter().enumerate() {
                    write!(f, " {} f{number}", field.kind)?;
                    if field.count != 1 {
                        write!(f, "[{}]", field.count)?;
                    }
                    f.write_str(";")?;
                }
                f.write_str(" }")
            }
        }
    }
}

/// A procedure's name, result and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Name of the procedure.
    pub name: String,
    /// What it returns.
    pub result: Type,
    /// What it takes.
    pub parameters: Vec<Type>,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}(", self.result, self.name)?;
        if self.parameters.is_empty() {
            f.write_str("void")?;
        }
        for (number, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{parameter}", if number > 0 { ", " } else { "" })?;
        }
        f.write_str(")")
    }
}
