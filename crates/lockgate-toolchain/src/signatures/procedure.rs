//! The types that a function's debug information may name, spelled in the language of the notes.

use lockgate_signature::{Field, Signature, Type};

/// What a function takes and returns.
#[derive(Debug, Clone)]
pub(super) struct Procedure {
    pub result: Kind,
    pub parameters: Vec<Kind>,
}

/// A type whose values can be passed.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Void,
    /// An integer or floating-point number, and its name in C.
    Scalar(Type, String),
    /// An enumeration of 4 bytes, and its name. C leaves open whether it has a sign; the notes take it for `int`.
    Enumeration(String),
    /// A pointer, spelled.
    Pointer(String),
    Struct(Vec<Member>),
}

/// A field of a structure; `count` is 1 if it is no array.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub name: String,
    pub kind: Kind,
    pub count: usize,
}

impl Procedure {
    pub(super) fn signature(&self, name: &str) -> Signature {
        Signature {
            name: name.to_owned(),
            result: self.result.kind(),
            parameters: self.parameters.iter().map(Kind::kind).collect(),
        }
    }

    /// The C prototype of the function called `name`, if the parser of the notes reads it as what it is.
    pub(super) fn prototype(&self, name: &str) -> Option<String> {
        let parameters: Vec<String> = self.parameters.iter().map(Kind::spelling).collect();
        let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let text = format!("{}{name}({parameters})", before_name(self.result.spelling()));
        text.parse().is_ok_and(|parsed: Signature| parsed == self.signature(name)).then_some(text)
    }

    /// Whether a prototype says the same.
    pub(super) fn agrees(&self, given: &Signature) -> bool {
        self.result.agrees(&given.result)
            && self.parameters.len() == given.parameters.len()
            && self.parameters.iter().zip(&given.parameters).all(|(ours, given)| ours.agrees(given))
    }
}

impl Kind {
    /// A number of type `kind` that C calls by one of the names, tried in order.
    pub(super) fn number(kind: Type, names: &[String]) -> Kind {
        let name = names.iter().find(|name| means(name, &kind)).cloned();
        let name = name.unwrap_or_else(|| kind.to_string());
        Kind::Scalar(kind, name)
    }

    /// A pointer to what `spelling` names, or to something without a name.
    pub(super) fn pointer(to: Option<String>) -> Kind {
        let spelled = to.map(|to| format!("{}*", before_name(to)));
        Kind::Pointer(
            spelled.filter(|text| means(text, &Type::Pointer)).unwrap_or_else(|| "void *".to_owned()),
        )
    }

    pub(super) fn kind(&self) -> Type {
        match self {
            Kind::Void => Type::Void,
            Kind::Scalar(kind, _) => kind.clone(),
            Kind::Enumeration(_) => Type::Integer { bytes: 4, signed: true },
            Kind::Pointer(_) => Type::Pointer,
            Kind::Struct(members) => Type::Struct(
                members
                    .iter()
                    .map(|member| Field { kind: member.kind.kind(), count: member.count })
                    .collect(),
            ),
        }
    }

    fn spelling(&self) -> String {
        match self {
            Kind::Void => "void".to_owned(),
            Kind::Scalar(_, spelling) | Kind::Enumeration(spelling) | Kind::Pointer(spelling) => {
                spelling.clone()
            }
            Kind::Struct(members) => {
                let field = |member: &Member| {
                    let length =
                        if member.count == 1 { String::new() } else { format!("[{}]", member.count) };
                    format!("{}{}{length}; ", before_name(member.kind.spelling()), member.name)
                };
                format!("struct {{ {}}}", members.iter().map(field).collect::<String>())
            }
        }
    }

    fn agrees(&self, given: &Type) -> bool {
        match (self, given) {
            (Kind::Enumeration(_), Type::Integer { bytes: 4, .. }) => true,
            (Kind::Struct(members), Type::Struct(fields)) => {
                members.len() == fields.len()
                    && members
                        .iter()
                        .zip(fields)
                        .all(|(member, field)| member.count == field.count && member.kind.agrees(&field.kind))
            }
            _ => self.kind() == *given,
        }
    }
}

/// A type as it stands before what it declares: `int `, `char *`.
fn before_name(mut spelling: String) -> String {
    if !spelling.ends_with('*') {
        spelling.push(' ');
    }
    spelling
}

/// Whether the notes understand `spelling` as this type. Debug information is not to be trusted with more than words.
fn means(spelling: &str, kind: &Type) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ' ' || c == '*';
    spelling.chars().all(is_plain)
        && format!("void f({spelling})")
            .parse()
            .is_ok_and(|parsed: Signature| parsed.parameters == std::slice::from_ref(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int() -> Kind {
        Kind::number(Type::Integer { bytes: 4, signed: true }, &["int".to_owned()])
    }

    fn procedure(parameters: Vec<Kind>) -> Procedure {
        Procedure { result: Kind::Void, parameters }
    }

    #[test]
    fn names_that_mean_something_else_are_replaced() {
        let size = Type::Integer { bytes: 8, signed: false };
        for (names, expected) in [
            (&["size_t", "long unsigned int"][..], "size_t"),
            (&["my_size", "long unsigned int"], "long unsigned int"),
            (&["my_size", "unsigned int"], "uint64_t"),
            (&["size_t, size_t"], "uint64_t"),
            (&["size_t)\n("], "uint64_t"),
            (&[], "uint64_t"),
        ] {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(Kind::number(size.clone(), &names).spelling(), expected);
        }
    }

    #[test]
    fn pointers_are_spelled() {
        for (to, expected) in [
            (Some("const char"), "const char *"),
            (Some("char *"), "char **"),
            (Some("struct item"), "struct item *"),
            (Some("long double"), "long double *"),
            (Some("int; evil"), "void *"),
            (None, "void *"),
        ] {
            assert_eq!(Kind::pointer(to.map(str::to_owned)).spelling(), expected, "{to:?}");
        }
    }

    #[test]
    fn enumerations_agree_with_either_sign() {
        let colour = Kind::Enumeration("enum colour".to_owned());
        let nested = |kind| Kind::Struct(vec![Member { name: "c".to_owned(), kind, count: 2 }]);
        for (kind, given, expected) in [
            (colour.clone(), "int", true),
            (colour.clone(), "unsigned", true),
            (colour.clone(), "long", false),
            (nested(colour.clone()), "struct { unsigned c[2]; }", true),
            (nested(colour), "struct { unsigned c[3]; }", false),
            (nested(int()), "struct { unsigned c[2]; }", false),
            (int(), "unsigned", false),
        ] {
            let given: Signature = format!("void f({given})").parse().unwrap();
            assert_eq!(procedure(vec![kind]).agrees(&given), expected, "{given}");
        }
    }

    /// What would be read back differently is not noted.
    #[test]
    fn a_prototype_is_read_back_as_it_is_meant() {
        let member = |name: &str| Member { name: name.to_owned(), kind: int(), count: 1 };
        let fine = procedure(vec![Kind::Struct(vec![member("a"), member("b")]), Kind::pointer(None)]);
        assert_eq!(fine.prototype("f").as_deref(), Some("void f(struct { int a; int b; }, void *)"));
        assert_eq!(procedure(vec![]).prototype("f").as_deref(), Some("void f(void)"));
        assert_eq!(procedure(vec![Kind::Struct(vec![member("a, x")])]).prototype("f"), None);
        assert_eq!(procedure(vec![]).prototype("f(int), g"), None);
    }
}
