//! One function: sizes checked, the client called, everything that came back as a value.
use super::{Exact, Space, ctype, documentation, qualified, word};
use crate::emit::binding::arithmetic::Arithmetic;
use crate::emit::binding::{
    Argument, Check, CopyIn, CopyOut, Failed, Function, Judge, Operand, Printer, With, prototype,
};
use crate::emit::template::template;
use crate::expression::Expression;
use crate::plan::FunctionPlan;

/// The function, and the structure that it returns if several things come back.
pub fn function(form: &Function<'_>, space: &Space<'_, '_>) -> String {
    let empty = String::new;
    let (parameters, arguments, given) = (Vec::new(), Vec::new(), Vec::new());
    let mut writer = Writer { form, space, parameters, before: empty(), arguments, after: empty(), given };
    form.print(&mut writer);
    let Writer { parameters, before, arguments, after, given, .. } = writer;
    let name = word(&form.plan.name);
    let values = given.iter().map(|back| back.value.as_str()).collect::<Vec<_>>().join(", ");
    let (kind, declared, back) = match &*given {
        [] => ("void".to_owned(), String::new(), String::new()),
        [one] => (one.kind.clone(), String::new(), format!("return {values};")),
        all => {
            let own = word(&result_name(form.plan));
            let fields: String = all.iter().map(|back| format!("{} {};\n", back.kind, back.name)).collect();
            let declared = template!("cpp/result.hpp.in", NAME = own, FIELDS = fields);
            (space.class(&own), declared, format!("return {{{values}}};"))
        }
    };
    let called = format!("::{}({})", form.plan.name, arguments.join(", "));
    // (A number that the enumeration does not have is no value of C++'s.)
    let called = match form.result() {
        Some(Judge::Enumeration(_)) => format!("static_cast<std::uint64_t>({called})"),
        _ => called,
    };
    let call = match &form.errno {
        None => format!("lgs::call<lg_client>([&] {{ return {called}; }});"),
        Some(failed) => {
            let failed = match failed {
                Failed::Null => "!result".to_owned(),
                Failed::Number(number) => format!("result == {number}"),
            };
            format!(
                "lgs::call_errno<lg_client>([&] {{ return {called}; }}, [](auto result) {{ return {failed}; }});"
            )
        }
    };
    let is_used = form.result().is_some() || form.lent.is_some();
    template!(
        "cpp/function.hpp.in",
        DECLARED = declared,
        PROTOTYPE = prototype(form.plan),
        DOCUMENTATION = documentation(form.plan.comment.as_ref()),
        KIND = kind,
        NAME = name,
        PARAMETERS = parameters.join(", "),
        BEFORE = before,
        CALL = if is_used { format!("auto lgs_result = {call}") } else { call },
        AFTER = after,
        BACK = back,
    )
}

/// The name of a structure for several things that come back.
pub fn result_name(function: &FunctionPlan) -> String {
    format!("{}_result", function.name)
}

/// One thing that comes back.
struct Back {
    name: String,
    kind: String,
    value: String,
}

struct Writer<'w, 'a> {
    form: &'w Function<'a>,
    space: &'w Space<'w, 'a>,
    /// As it is declared.
    parameters: Vec<String>,
    /// Before the call.
    before: String,
    /// Of the call.
    arguments: Vec<String>,
    /// After a call that returned.
    after: String,
    /// What comes back.
    given: Vec<Back>,
}

/// The address of something, for the client.
fn pointer(at: &str) -> String {
    format!("lgs::pointer({at})")
}

impl<'a> Writer<'_, 'a> {
    /// What stands for a name of the header in a size.
    fn operand(&self, name: &str, length: bool) -> String {
        match self.form.operand(name, length) {
            Operand::TextLength => format!("lgs::number(lg_{name} ? std::strlen(lg_{name}) : 0)"),
            Operand::Elements => format!("lgs::zero_in({name})"),
            Operand::Count(of) => format!("lgs::number({of}.size())"),
            _ => format!("lgs::number({name})"),
        }
    }

    /// A size, when it is asked for: it may not fit.
    fn size(&self, size: &Expression) -> String {
        format!("[&] {{ return {}; }}", Exact(&|name, length| self.operand(name, length)).write(size))
    }

    fn takes(&mut self, own: &str, kind: &str) {
        let space = if kind.ends_with(['&', '*']) { "" } else { " " };
        self.parameters.push(format!("{kind}{space}{own}"));
    }

    fn takes_span(&mut self, own: &str, element: &str, writes: bool) {
        self.takes(own, &format!("lgs::span<{}{element}>", if writes { "" } else { "const " }));
    }

    fn line(&mut self, line: &str) {
        self.before.extend([line, "\n"]);
    }

    /// The argument of the call for one parameter.
    fn argument(&mut self, argument: &Argument<'a>) -> String {
        let space = self.space;
        let Argument { name: own, kind, how } = argument;
        let local = format!("lg_{own}");
        let pointee = kind.pointee().unwrap_or(kind);
        match how {
            CopyIn::Data(closure) => pointer(&format!("lgs::data_of({closure}, \"{closure}\")")),
            CopyIn::Zero => "{}".to_owned(),
            CopyIn::Length(of) => format!("lgs::length<{}>({of}.size(), \"{own}\")", ctype(kind)),
            CopyIn::Room(of) => {
                self.line(&format!(
                    "auto {local} = lgs::length<{}>({of}.size(), \"{own}\");",
                    ctype(pointee)
                ));
                pointer(&format!("&{local}"))
            }
            CopyIn::Number(_) | CopyIn::Structure => {
                self.takes(own, &ctype(kind));
                (*own).to_owned()
            }
            CopyIn::Text | CopyIn::Printed => {
                self.takes(own, "const lgs::text_in &");
                self.line(&format!("auto {local} = {own}.lg_pointer(\"{own}\");"));
                if matches!(how, CopyIn::Printed) { format!("\"%s\", {local}") } else { pointer(&local) }
            }
            CopyIn::Slice { writes, .. } => {
                self.takes_span(own, &space.element(kind), *writes);
                pointer(&format!("{own}.data()"))
            }
            CopyIn::Records { key, writes, .. } => {
                self.takes_span(own, &space.record(key), *writes);
                pointer(&format!("{own}.data()"))
            }
            CopyIn::Scalar { reads, enumeration, .. } => {
                let kind = ctype(pointee);
                let first = if *reads { *own } else { "" };
                if *reads {
                    self.takes(own, &kind);
                }
                let declared = match enumeration {
                    Some(_) => format!(
                        "std::underlying_type_t<{kind}> {local} = static_cast<std::underlying_type_t<{kind}>>({first});"
                    ),
                    None => format!("{kind} {local}{{{first}}};"),
                };
                self.line(&declared.replace(">()", ">(0)"));
                pointer(&format!("&{local}"))
            }
            CopyIn::Record { key, plain, reads, writes } => {
                let class = space.record(key);
                let raw = qualified(&space.surface.plan.records[*key].spelling);
                match (reads, writes, plain) {
                    (false, _, _) => self.line(&format!("{raw} {local}{{}};")),
                    (true, true, _) => {
                        self.takes(own, &format!("{class} &"));
                        return pointer(&format!("&{own}"));
                    }
                    (true, false, true) => {
                        self.takes(own, &format!("const {class} &"));
                        return pointer(&format!("&{own}"));
                    }
                    (true, false, false) => {
                        self.takes(own, &format!("const {class} &"));
                        self.line(&format!("auto {local} = {own}.lg_raw();"));
                    }
                }
                pointer(&format!("&{local}"))
            }
            CopyIn::Kept { key, .. } => {
                self.takes(own, &format!("{} &", space.class(&space.surface.record(key))));
                self.kept(own, &local, how);
                pointer(&format!("{local}.get()"))
            }
            CopyIn::Handle { number, release: true } => {
                self.takes(own, &space.handle(*number));
                self.line(&format!("auto {local} = {own}.lg_release(\"{own}\");"));
                pointer(&local)
            }
            CopyIn::Handle { number, release: false } => {
                self.takes(own, &format!("lgs::optional_ref<{}>", space.handle(*number)));
                pointer(&format!("{own}.lg_raw(\"{own}\")"))
            }
            CopyIn::Replaced(number) => {
                self.takes(own, &format!("std::optional<{}>", space.handle(*number)));
                self.line(&format!("auto {local} = {own} ? {own}->lg_release(\"{own}\") : nullptr;"));
                pointer(&format!("&{local}"))
            }
            CopyIn::Place => {
                self.takes(own, "lgs::place");
                pointer(&format!("{own}.lg_raw()"))
            }
            CopyIn::Given => {
                self.line(&format!("void *{local} = nullptr;"));
                pointer(&format!("&{local}"))
            }
            CopyIn::Closure { name, with, .. } => {
                self.takes(
                    own,
                    &format!("lgs::optional_ref<{}>", space.class(&space.surface.closure_name(name))),
                );
                let with = match with {
                    With::Data => "data",
                    With::Handle => "handle",
                    With::Nothing => "nothing",
                };
                pointer(&format!("lgs::code_of({own}, lgs::with::{with}, \"{own}\")"))
            }
        }
    }

    fn kept(&mut self, own: &str, local: &str, how: &CopyIn<'_>) {
        let CopyIn::Kept { buffers, reads, release, end, .. } = how else { return };
        self.line(&format!("lgs::use {local}({own}, \"{own}\", {reads}, {release});"));
        for cursor in buffers {
            let (name, length) = (&cursor.field.name, &cursor.length.name);
            self.takes_span(name, &self.space.element(&cursor.field.kind), cursor.writes);
            let kind = ctype(&cursor.length.kind);
            self.line(&format!("{local}->{length} = lgs::length<{kind}>({name}.size(), \"{name}\");"));
            self.line(&format!("{local}->{name} = lgs::pointer({name}.data());"));
        }
        if let Some(end) = end {
            self.after += &format!("{local}.begins([](void *raw) {{ ::{end}(lgs::pointer(raw)); }});\n");
        }
    }
}

impl<'a> Printer<'a> for Writer<'_, 'a> {
    /// (Spans know how long they are.)
    fn buffer(&mut self, _: &Argument<'a>) {}

    fn copy_in(&mut self, argument: &Argument<'a>) {
        let argument = self.argument(argument);
        self.arguments.push(argument);
    }

    fn check(&mut self, check: &Check<'a>) {
        let (needed, of) = (self.size(check.needed), check.of);
        self.line(&format!("lgs::enough({needed}, {of}.size(), \"{of}\");"));
    }

    fn lend(&mut self, room: &'a Expression) {
        self.takes_span("contents", "unsigned char", false);
        let room = self.size(room);
        self.line(&format!("lgs::lending<lg_client> lgs_lending(contents, {room});"));
        self.after += "lgs_lending.check(lgs_result);\n";
    }

    fn copy_out(&mut self, out: &CopyOut<'a>) {
        let CopyOut { what, is_result, kind, judge, freed } = out;
        let raw = if *is_result { "lgs_result".to_owned() } else { format!("lg_{what}") };
        let space = self.space;
        let (kind, value) = match judge {
            Judge::Number => (ctype(kind), raw.clone()),
            Judge::Enumeration(key) => {
                let number = format!("static_cast<std::uint64_t>({raw})");
                (space.enumeration(key), space.known(key, &number, what))
            }
            Judge::Text => ("std::optional<lgs::text>".to_owned(), format!("lgs::text_of({raw})")),
            Judge::Memory => {
                let element = space.element(kind);
                let value = format!("lgs::memory_of<lg_client, {element}>({raw})");
                (format!("std::optional<lgs::memory<{element}>>"), value)
            }
            Judge::Records { key, plain, one } => {
                let (class, raw_kind) =
                    (space.record(key), qualified(&space.surface.plan.records[*key].spelling));
                let make = if *plain { String::new() } else { format!(", {class}::lg_of") };
                match one {
                    true => {
                        (format!("std::optional<{class}>"), format!("lgs::one_of<{raw_kind}>({raw}{make})"))
                    }
                    false => {
                        let value = format!(
                            "lgs::all_of<lg_client, {raw_kind}>({raw}).vector({})",
                            make.trim_start_matches(", ")
                        );
                        (format!("std::vector<{class}>"), value)
                    }
                }
            }
            Judge::Filled { key, plain } => {
                let class = space.record(key);
                let value = if *plain { raw.clone() } else { format!("{class}::lg_of({raw})") };
                (class, value)
            }
            Judge::Handle { number, owned } => {
                let class = space.handle(*number);
                (format!("std::optional<{class}>"), format!("lgs::handle_of<{class}>({raw}, {owned})"))
            }
            Judge::Callback => ("bool".to_owned(), format!("{raw} != nullptr")),
            Judge::Offset { object, text } => {
                let start = if *text { format!("lg_{object}") } else { format!("{object}.data()") };
                ("std::optional<std::size_t>".to_owned(), format!("lgs::offset({raw}, {start})"))
            }
            Judge::Place => ("lgs::place".to_owned(), format!("lgs::place({raw})")),
        };
        // (It is freed when the copy has been made.)
        if *freed {
            self.after += &format!("lgs::freed lgs_freed_{what}({raw});\n");
        }
        let name = if *is_result || *what != "result" { (*what).to_owned() } else { "result_".to_owned() };
        self.given.push(Back { name, kind, value });
    }
}
