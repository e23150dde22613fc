//! One function: sizes checked, the client called, everything that came back as a value.
use super::{SIZES, Space, abi, ctype, declared, documentation, word};
use crate::emit::binding::{
    Argument, Check, CopyIn, CopyOut, Cursor, Failed, Function, Judge, Operand, Pieces, Printer, With,
    joined, prototype,
};
use crate::emit::template::{fill, template};
use crate::expression::Expression;
use crate::plan::FunctionPlan;

/// The function, and the structure that it returns if several things come back.
pub fn function(form: &Function<'_>, space: &Space<'_, '_>) -> String {
    let mut writer = Writer { form, space, pieces: Pieces::default(), fields: String::new() };
    form.print(&mut writer);
    let Writer { pieces, fields, .. } = writer;
    let Pieces { parameters, before, stored, arguments, after, given, .. } = pieces;
    let (count, kinds, values) = joined(&given);
    let (kind, several, back) = match count {
        0 => ("void".to_owned(), String::new(), String::new()),
        1 => (kinds, String::new(), format!("return {values};")),
        _ => {
            let own = result_name(form.plan);
            let several = template!("cpp/result.hpp.in", NAME = own, FIELDS = fields);
            (space.class(&own), several, format!("return {{{values}}};"))
        }
    };
    let called = format!("::{}({})", form.plan.name, arguments.join(", "));
    let failed = match &form.errno {
        None => String::new(),
        Some(Failed::Null) => ", [](auto result) { return !result; }".to_owned(),
        Some(Failed::Number(number)) => format!(", [](auto result) {{ return result == {number}; }}"),
    };
    let is_used = form.result().is_some() || form.lent.is_some();
    template!(
        "cpp/function.hpp.in",
        SEVERAL = several,
        PROTOTYPE = prototype(form.plan),
        DOCUMENTATION = documentation(form.plan.comment.as_ref()),
        KIND = kind,
        NAME = word(&form.plan.name),
        PARAMETERS = parameters.join(", "),
        BEFORE = before + &stored,
        RESULT = if is_used { "auto lgs_result = " } else { "" },
        HOW = if failed.is_empty() { "call" } else { "call_errno" },
        // (A number that the enumeration does not have is no value of C++'s.)
        CALLED = match form.result() {
            Some(Judge::Enumeration(_)) => format!("static_cast<std::int64_t>({called})"),
            _ => called,
        },
        FAILED = failed,
        AFTER = after,
        BACK = back,
    )
}

/// The name of a structure for several things that come back.
pub fn result_name(function: &FunctionPlan) -> String {
    format!("{}_result", function.name)
}

struct Writer<'w, 'a> {
    form: &'w Function<'a>,
    space: &'w Space<'w, 'a>,
    pieces: Pieces,
    /// What comes back, as fields of a structure.
    fields: String,
}

/// What there is more than one of: addresses, and types.
const ADDRESS: &str = "lgs::pointer(&lg_@OWN@)";
const DATA: &str = "lgs::pointer(@OWN@.data())";
const MAYBE: &str = "std::optional<@CLASS@>";
const ALL: &str = "std::vector<@CLASS@>";
const PLACE: &str = "std::optional<std::size_t>";

impl<'a> Writer<'_, 'a> {
    /// A size, when it is asked for: it may not fit.
    fn size(&self, size: &Expression) -> String {
        let operand = |name: &str, length: bool| match self.form.operand(name, length) {
            Operand::TextLength => format!("lgs::number({name}.lg_length())"),
            Operand::Elements => format!("lgs::zero_in({name})"),
            Operand::Count(of) => format!("lgs::number({of}.size())"),
            _ => format!("lgs::number({name})"),
        };
        format!("[&] {{ return {}; }}", SIZES.write(size, &operand))
    }

    fn takes(&mut self, own: &str, kind: &str) {
        self.pieces.parameters.push(declared(kind, own));
    }

    /// The buffers of a structure that the library remembers.
    fn buffers(&mut self, own: &str, buffers: &[Cursor<'a>]) {
        for Cursor { field, writes, length } in buffers {
            let (name, element) = (&field.name, self.space.element(&field.kind));
            self.takes(name, &format!("lgs::span<{}{element}>", if *writes { "" } else { "const " }));
            let kind = ctype(&length.kind);
            self.pieces.before +=
                &template!("cpp/buffer.hpp.in", OWN = own, NAME = name, LENGTH = length.name, KIND = kind);
        }
    }
}

impl<'a> Printer<'a> for Writer<'_, 'a> {
    /// (Spans know how long they are.)
    fn buffer(&mut self, _: &Argument<'a>) {}

    fn copy_in(&mut self, argument: &Argument<'a>) {
        let (Argument { name: own, kind, how }, space) = (argument, self.space);
        let pointee = kind.pointee().unwrap_or(kind);
        let class = match how {
            CopyIn::Handle { number, .. } | CopyIn::Replaced(number) => space.handle(*number),
            CopyIn::Record { key, .. } | CopyIn::Records { key, .. } => space.record(key),
            CopyIn::Kept { key, .. } => space.class(&space.surface.record(key)),
            CopyIn::Closure { name, .. } => space.class(&space.surface.closure_name(name)),
            _ => space.element(kind),
        };
        let of = match how {
            CopyIn::Data(of) | CopyIn::Length(of) | CopyIn::Room(of) => of,
            CopyIn::Closure { with: With::Data, .. } => "data",
            CopyIn::Closure { with: With::Handle, .. } => "handle",
            CopyIn::Closure { with: With::Nothing, .. } => "nothing",
            _ => "",
        };
        // What the function takes, what is done before the call, and what the client gets.
        let (takes, before, gives) = match how {
            CopyIn::Zero => ("", "", "{}"),
            CopyIn::Data(_) => ("", "", "lgs::pointer(lgs::data_of(@OF@, \"@OF@\"))"),
            CopyIn::Length(_) => ("", "", "lgs::length<@KIND@>(@OF@.size(), \"@OWN@\")"),
            CopyIn::Room(_) => ("", "auto lg_@OWN@ = lgs::length<@TO@>(@OF@.size(), \"@OWN@\");", ADDRESS),
            CopyIn::Number(_) | CopyIn::Structure => ("@KIND@", "", "@OWN@"),
            CopyIn::Text => ("const lgs::text_in &", "", "lgs::pointer(@OWN@.lg_pointer(\"@OWN@\"))"),
            CopyIn::Printed => ("const lgs::text_in &", "", "\"%s\", @OWN@.lg_pointer(\"@OWN@\")"),
            CopyIn::Slice { writes: true, .. } | CopyIn::Records { writes: true, .. } => {
                ("lgs::span<@CLASS@>", "", DATA)
            }
            CopyIn::Slice { .. } | CopyIn::Records { .. } => ("lgs::span<const @CLASS@>", "", DATA),
            CopyIn::Scalar { reads: true, .. } => {
                ("@TO@", "auto lg_@OWN@ = static_cast<@RAW@>(@OWN@);", ADDRESS)
            }
            CopyIn::Scalar { .. } => ("", "@RAW@ lg_@OWN@{};", ADDRESS),
            CopyIn::Record { reads: false, .. } => ("", "@RAW@ lg_@OWN@{};", ADDRESS),
            CopyIn::Record { writes: true, .. } => ("@CLASS@ &", "", "lgs::pointer(&@OWN@)"),
            CopyIn::Record { plain: true, .. } => ("const @CLASS@ &", "", "lgs::pointer(&@OWN@)"),
            CopyIn::Record { .. } => ("const @CLASS@ &", "auto lg_@OWN@ = @OWN@.lg_raw();", ADDRESS),
            CopyIn::Kept { .. } => ("@CLASS@ &", "", "lgs::pointer(lg_@OWN@.get())"),
            CopyIn::Handle { release: true, .. } => ("@CLASS@", "", "lgs::pointer(lg_@OWN@)"),
            CopyIn::Handle { .. } => {
                ("lgs::optional_ref<@CLASS@>", "", "lgs::pointer(@OWN@.lg_raw(\"@OWN@\"))")
            }
            CopyIn::Replaced(_) => (MAYBE, "", ADDRESS),
            CopyIn::Place => ("lgs::place", "", "lgs::pointer(@OWN@.lg_raw())"),
            CopyIn::Given => ("", "void *lg_@OWN@ = nullptr;", ADDRESS),
            CopyIn::Closure { .. } => {
                let code = "lgs::pointer(lgs::code_of(@OWN@, lgs::with::@OF@, \"@OWN@\"))";
                ("lgs::optional_ref<@CLASS@>", "", code)
            }
        };
        let raw = match how {
            CopyIn::Record { key, .. } => space.raw(key),
            _ => abi(pointee),
        };
        let (kind, to) = (ctype(kind), ctype(pointee));
        let places =
            [("OWN", *own), ("OF", of), ("CLASS", &class), ("KIND", &kind), ("TO", &to), ("RAW", &raw)];
        if !takes.is_empty() {
            self.takes(own, &fill(takes, &places));
        }
        if !before.is_empty() {
            self.pieces.before += &(fill(before, &places) + "\n");
        }
        match how {
            CopyIn::Kept { buffers, reads, release, end, .. } => {
                let used = format!("lgs::use lg_{own}({own}, \"{own}\", {reads}, {release});\n");
                self.pieces.before += &used;
                self.buffers(own, buffers);
                let ends =
                    |end| format!("lg_{own}.begins([](void *raw) {{ ::{end}(lgs::pointer(raw)); }});\n");
                self.pieces.after += &end.map(ends).unwrap_or_default();
            }
            CopyIn::Handle { release: true, .. } | CopyIn::Replaced(_) => {
                self.pieces.stored += &format!("auto lg_{own} = lgs::released({own}, \"{own}\");\n");
            }
            _ => {}
        }
        self.pieces.arguments.push(fill(gives, &places));
    }

    fn check(&mut self, check: &Check<'a>) {
        let (needed, of) = (self.size(check.needed), check.of);
        self.pieces.before += &format!("lgs::enough({needed}, {of}.size(), \"{of}\");\n");
    }

    fn lend(&mut self, room: &'a Expression) {
        self.takes("contents", "lgs::span<const unsigned char>");
        let room = self.size(room);
        self.pieces.before += &format!("lgs::lending<lg_client> lgs_lending(contents, {room});\n");
        self.pieces.after += "lgs_lending.check(lgs_result);\n";
    }

    fn copy_out(&mut self, out: &CopyOut<'a>) {
        let (CopyOut { what, is_result, kind, judge, freed }, space) = (out, self.space);
        let local = if *is_result { "lgs_result".to_owned() } else { format!("lg_{what}") };
        let (class, raw) = match judge {
            Judge::Records { key, .. } | Judge::Filled { key, .. } => (space.record(key), space.raw(key)),
            Judge::Handle { number, .. } => (space.handle(*number), String::new()),
            _ => (space.element(kind), ctype(kind)),
        };
        let of = match judge {
            Judge::Offset { object, .. } => object,
            Judge::Handle { owned: true, .. } => "true",
            _ => "false",
        };
        let (kind, value) = match judge {
            Judge::Number => ("@RAW@", "@LOCAL@"),
            Judge::Enumeration(_) => ("@RAW@", "@KNOWN@"),
            Judge::Text => ("std::optional<lgs::text>", "lgs::text_of(@LOCAL@)"),
            Judge::Memory => {
                ("std::optional<lgs::memory<@CLASS@>>", "lgs::memory_of<lg_client, @CLASS@>(@LOCAL@)")
            }
            Judge::Records { one: true, plain: true, .. } => (MAYBE, "lgs::one_of<@RAW@>(@LOCAL@).made()"),
            Judge::Records { one: true, .. } => (MAYBE, "lgs::one_of<@RAW@>(@LOCAL@).made(@CLASS@::lg_of)"),
            Judge::Records { plain: true, .. } => (ALL, "lgs::all_of<lg_client, @RAW@>(@LOCAL@).vector()"),
            Judge::Records { .. } => (ALL, "lgs::all_of<lg_client, @RAW@>(@LOCAL@).vector(@CLASS@::lg_of)"),
            Judge::Filled { plain: true, .. } => ("@CLASS@", "@LOCAL@"),
            Judge::Filled { .. } => ("@CLASS@", "@CLASS@::lg_of(@LOCAL@)"),
            Judge::Handle { .. } => (MAYBE, "lgs::handle_of<@CLASS@>(@LOCAL@, @OF@)"),
            Judge::Callback => ("bool", "@LOCAL@ != nullptr"),
            Judge::Offset { text: true, .. } => (PLACE, "lgs::offset(@LOCAL@, @OF@.lg_pointer(\"@OF@\"))"),
            Judge::Offset { .. } => (PLACE, "lgs::offset(@LOCAL@, @OF@.data())"),
            Judge::Place => ("lgs::place", "lgs::place(@LOCAL@)"),
        };
        let known = match judge {
            Judge::Enumeration(key) => space.known(key, &local, what),
            _ => String::new(),
        };
        let places = [("LOCAL", &*local), ("CLASS", &class), ("RAW", &raw), ("OF", of), ("KNOWN", &known)];
        let kind = fill(kind, &places);
        // (It is freed when the copy has been made.)
        if *freed {
            self.pieces.after += &format!("lgs::freed lgs_freed_{what}({local});\n");
        }
        let name = if !is_result && *what == "result" { "result_" } else { what };
        self.fields += &(declared(&kind, name) + ";\n");
        self.pieces.given.push((kind, fill(value, &places)));
    }
}
