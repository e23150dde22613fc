//! The types of C that signatures may use.
use std::fmt;

/// A type of C, as far as calls are concerned: typedefs resolved, pointers without what they point to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// `void`, as a result.
    Void,
    /// An integer, enumeration, character or boolean of 1, 2, 4 or 8 bytes.
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
    /// Size, bytes; `usize::MAX` for what fits no memory.
    pub fn size(&self) -> usize {
        self.layout().0
    }

    /// Alignment, bytes.
    pub fn alignment(&self) -> usize {
        self.layout().1
    }

    /// Size and alignment together, so that each type inside is looked at once.
    fn layout(&self) -> (usize, usize) {
        match self {
            Type::Void => (0, 1),
            Type::Integer { bytes, .. } => (usize::from(*bytes), usize::from(*bytes)),
            Type::Float => (4, 4),
            Type::Double | Type::Pointer => (8, 8),
            Type::Struct(fields) => {
                let (mut end, mut alignment) = (0, 1);
                for field in fields {
                    let placed = field.place(end);
                    (end, alignment) = (placed.end, alignment.max(placed.alignment));
                }
                (end.checked_next_multiple_of(alignment).unwrap_or(usize::MAX), alignment)
            }
        }
    }

    /// Scalars of the type: offset and type, in order.
    pub fn scalars(&self) -> Vec<(usize, Type)> {
        match self {
            Type::Void => Vec::new(),
            Type::Struct(fields) => {
                let (mut scalars, mut end) = (Vec::new(), 0);
                for field in fields {
                    let placed = field.place(end);
                    end = placed.end;
                    if placed.size == 0 {
                        continue; // however many there are
                    }
                    let inside = field.kind.scalars();
                    for index in 0..field.count {
                        let base = placed.start + index * placed.size;
                        scalars.extend(inside.iter().map(|(at, kind)| (base + at, kind.clone())));
                    }
                }
                scalars
            }
            scalar => vec![(0, scalar.clone())],
        }
    }
}

/// A field in its structure.
struct Placed {
    start: usize,
    end: usize,
    /// Of one element.
    size: usize,
    alignment: usize,
}

impl Field {
    /// Behind fields that end at `end`.
    fn place(&self, end: usize) -> Placed {
        let (size, alignment) = self.kind.layout();
        let start = end.checked_next_multiple_of(alignment).unwrap_or(usize::MAX);
        Placed { start, end: start.saturating_add(size.saturating_mul(self.count)), size, alignment }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Void => f.write_str("void"),
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
