//! What C++ writes for each way in which something crosses.
use super::{SIZES, Space, abi, ctype, declared};
use crate::emit::binding::surface::element;
use crate::emit::binding::table::{Row, Subject, Table};
use crate::emit::binding::{Closure, CopyIn, Function, Judge, Operand, Shown};
use crate::emit::template::code;
use crate::expression::Expression;
use crate::header::model::CType;

// What there is more than one of: addresses, types, deeds.
const ADDRESS: &str = "lgs::pointer(&lg_@OWN@)";
const GIVEN: &str = "lgs::pointer(lg_@OWN@.lg_place())";
const DATA: &str = "lgs::pointer(@OWN@.data())";
const TEXT: &str = "const lgs::text_in &";
const MAYBE: &str = "std::optional<@CLASS@>";
const REFERRED: &str = "lgs::optional_ref<@CLASS@>";
const ALL: &str = "std::vector<@CLASS@>";
const PLACE: &str = "std::optional<std::size_t>";
const ENDS: &str = r#"lgs::ending lg_@OWN@(@OWN@, "@OWN@");"#;
// (A number that the enumeration does not have is no value of C++'s.)
const KNOWN: &str = r#"lgs::known(@CLASS@, @LOCAL@, "@OWN@", "@KEY@")"#;

impl<'a> Table<'a> for Space<'_, 'a> {
    const RESULT: &'static str = "lgs_result";
    const CHECK: &'static str = r#"lgs::enough(@NEEDED@, @OF@.size(), "@OF@");"#;
    const LEND: Row = Row::new(
        "lgs::span<const unsigned char>",
        "lgs::lending<lgs_client> lgs_lending(contents, @NEEDED@);",
        "",
    )
    .after("lgs_lending.check(lgs_result);");
    const FREED: &'static str = "lgs::freed lgs_freed_@OWN@(@LOCAL@);";
    const ONE: &'static str = "1";
    const ENDLESS: &'static str = "std::nullopt";
    const WITH: &'static str = ", lgs::with_of(@OWN@)";
    const MADE: [&'static str; 2] = ["lgs_made", "const lgs::life lgs_made = lgs::begun();"];
    const NONE: &'static str = "nullptr";

    fn copy_in(&self, how: &CopyIn<'a>) -> Row {
        let row = Row::new;
        match how {
            CopyIn::Zero => row("", "", "{}"),
            CopyIn::Data(_) => row("", "", r#"lgs::pointer(lgs::data_of(@OF@, "@OF@"))"#),
            CopyIn::Length(_) => row("", "", r#"lgs::length<@KIND@>(@OF@.size(), "@OWN@")"#),
            CopyIn::Room(_) => {
                row("", r#"auto lg_@OWN@ = lgs::length<@TO@>(@OF@.size(), "@OWN@");"#, ADDRESS)
            }
            CopyIn::Number(_) | CopyIn::Structure => row("@KIND@", "", "@OWN@"),
            CopyIn::Text => row(TEXT, "", r#"lgs::pointer(@OWN@.lg_pointer("@OWN@"))"#),
            CopyIn::Printed => row(TEXT, "", r#""%s", @OWN@.lg_pointer("@OWN@")"#),
            CopyIn::Slice { writes: true, .. } | CopyIn::Records { writes: true, .. } => {
                row("lgs::span<@CLASS@>", "", DATA)
            }
            CopyIn::Slice { .. } | CopyIn::Records { .. } => row("lgs::span<const @CLASS@>", "", DATA),
            CopyIn::Scalar { reads: true, .. } => {
                row("@TO@", "auto lg_@OWN@ = static_cast<@RAW@>(@OWN@);", ADDRESS)
            }
            CopyIn::Scalar { .. } | CopyIn::Record { reads: false, .. } => {
                row("", "@RAW@ lg_@OWN@{};", ADDRESS)
            }
            CopyIn::Record { writes: true, .. } => row("@CLASS@ &", "", "lgs::pointer(&@OWN@)"),
            CopyIn::Record { plain: true, .. } => row("const @CLASS@ &", "", "lgs::pointer(&@OWN@)"),
            CopyIn::Record { .. } => row("const @CLASS@ &", "auto lg_@OWN@ = @OWN@.lg_raw();", ADDRESS),
            CopyIn::Kept { end, .. } => {
                let used = r#"lgs::use lg_@OWN@(@OWN@, "@OWN@", @READS@);"#;
                let begins = "lg_@OWN@.begins([](void *raw) { ::@END@(lgs::pointer(raw)); });";
                row("@CLASS@ &", used, "lgs::pointer(lg_@OWN@.get())").after(end.map_or("", |_| begins))
            }
            CopyIn::Handle { release: true, .. } => row("@CLASS@", ENDS, "lgs::pointer(lg_@OWN@.raw)"),
            CopyIn::Handle { .. } => row(REFERRED, "", r#"lgs::pointer(@OWN@.lg_raw("@OWN@"))"#),
            CopyIn::Replaced(_) => row(MAYBE, ENDS, "lgs::pointer(&lg_@OWN@.raw)"),
            CopyIn::Place => row("lgs::place", "", "lgs::pointer(@OWN@.lg_raw())"),
            CopyIn::Given(Some((_, true))) => row("", "@CLASS@ lg_@OWN@{nullptr, lgs::begun()};", GIVEN),
            CopyIn::Given(Some(_)) => row("", "@CLASS@ lg_@OWN@{nullptr, nullptr};", GIVEN),
            CopyIn::Given(None) => row("", "void *lg_@OWN@ = nullptr;", ADDRESS),
            CopyIn::Closure { by_data: true, .. } => {
                row(REFERRED, "", r#"lgs::pointer(lgs::code_of(@OWN@, "@OWN@"))"#)
            }
            CopyIn::Closure { .. } => {
                row(REFERRED, "", r#"lgs::pointer(lgs::bare_code_of(@OWN@, "@OWN@", @MADE@@WITH@))"#)
            }
        }
    }

    fn cursor(&self, writes: bool) -> Row {
        let takes = if writes { "lgs::span<@CLASS@>" } else { "lgs::span<const @CLASS@>" };
        Row::new(takes, include_str!("../../../templates/cpp/buffer.hpp.in"), "")
    }

    fn copy_out(&self, judge: &Judge<'a>) -> [&'static str; 2] {
        match judge {
            Judge::Number => ["@KIND@", "@LOCAL@"],
            Judge::Enumeration(_) => ["@KIND@", KNOWN],
            Judge::Text => ["std::optional<lgs::text>", "lgs::text_of(@LOCAL@)"],
            Judge::Memory => {
                ["std::optional<lgs::memory<@CLASS@>>", "lgs::memory_of<lgs_client, @CLASS@>(@LOCAL@)"]
            }
            Judge::Records { one: true, plain: true, .. } => [MAYBE, "lgs::one_of<@RAW@>(@LOCAL@).made()"],
            Judge::Records { one: true, .. } => [MAYBE, "lgs::one_of<@RAW@>(@LOCAL@).made(@CLASS@::lg_of)"],
            Judge::Records { plain: true, .. } => [ALL, "lgs::all_of<lgs_client, @RAW@>(@LOCAL@).vector()"],
            Judge::Records { .. } => [ALL, "lgs::all_of<lgs_client, @RAW@>(@LOCAL@).vector(@CLASS@::lg_of)"],
            Judge::Filled { plain: true, .. } => ["@CLASS@", "@LOCAL@"],
            Judge::Filled { .. } => ["@CLASS@", "@CLASS@::lg_of(@LOCAL@)"],
            Judge::Handle { in_place: true, .. } => {
                [MAYBE, "lgs::handle_of<@CLASS@>(std::move(@LOCAL@)@BARE@)"]
            }
            Judge::Handle { owned: true, .. } => {
                [MAYBE, "lgs::handle_of<@CLASS@>({@LOCAL@, lgs::begun()}@BARE@)"]
            }
            Judge::Handle { .. } => [MAYBE, "lgs::handle_of<@CLASS@>({@LOCAL@, nullptr}@BARE@)"],
            Judge::Replaced(_) => [MAYBE, "lgs::handle_of<@CLASS@>({@LOCAL@, @LOCAL@.left()}@BARE@)"],
            Judge::Callback => ["bool", "@LOCAL@ != nullptr"],
            Judge::Offset { text: true, .. } => [PLACE, r#"lgs::offset(@LOCAL@, @OF@.lg_pointer("@OF@"))"#],
            Judge::Offset { .. } => [PLACE, "lgs::offset(@LOCAL@, @OF@.data())"],
            Judge::Place => ["lgs::place", "lgs::place(@LOCAL@)"],
        }
    }

    fn shown(&self, shown: &Shown<'a>) -> [&'static str; 2] {
        match shown {
            Shown::Number => ["@KIND@", "@LOCAL@"],
            Shown::Enumeration(_) => ["@KIND@", KNOWN],
            Shown::Text { nullable: true } => ["const std::optional<lgs::text> &", "lgs::text_of(@LOCAL@)"],
            Shown::Text { .. } => ["const lgs::text &", "lgs::text_of(@LOCAL@).value()"],
            Shown::Texts { count: Some(_), holes: true } => {
                ["lgs::span<const std::optional<lgs::text>>", "lgs::texts_of(@LOCAL@, @MANY@)"]
            }
            Shown::Texts { .. } => {
                ["lgs::span<const lgs::text>", "lgs::without_holes(lgs::texts_of(@LOCAL@, @MANY@))"]
            }
            Shown::Memory { writes: true, .. } => {
                ["lgs::span<@CLASS@>", "lgs::copy_back<@CLASS@>(@LOCAL@, @MANY@)"]
            }
            Shown::Memory { .. } => ["lgs::span<const @CLASS@>", "lgs::copy<@CLASS@>(@LOCAL@, @MANY@)"],
            Shown::Handle { nullable: true, .. } => {
                ["const std::optional<@CLASS@> &", "lgs::handle_of<@CLASS@>({@LOCAL@, nullptr})"]
            }
            Shown::Handle { .. } => ["const @CLASS@ &", "@CLASS@{@LOCAL@, nullptr}"],
            Shown::Handles { .. } => {
                ["lgs::span<const @CLASS@>", "lgs::handles_of<@CLASS@>(@LOCAL@, @MANY@)"]
            }
            Shown::Place => ["lgs::place", "lgs::place(@LOCAL@)"],
        }
    }

    fn declared(&self, kind: &str, name: &str) -> String {
        declared(kind, name)
    }

    fn class(&self, of: &Subject<'a>) -> String {
        let surface = self.surface;
        match of {
            Subject::Handle(number) => self.own(&surface.handle(*number)),
            Subject::Record(key) if surface.plan.records[*key].is_plain() => self.raw_record(key),
            Subject::Record(key) | Subject::Kept(key) => self.own(&surface.record(key)),
            Subject::Closure(name) => self.own(&surface.closure_name(name)),
            Subject::Enumeration(key) => self.values(key),
            Subject::Elements(kind) => element(kind).map_or_else(|| "unsigned char".to_owned(), ctype),
        }
    }

    fn kind(&self, kind: &CType) -> String {
        ctype(kind)
    }

    fn raw(&self, of: &Subject<'a>, kind: &CType) -> String {
        match of {
            Subject::Record(key) => self.raw_record(key),
            _ => abi(kind),
        }
    }

    fn size(&self, form: &Function<'a>, size: &Expression) -> String {
        let operand = |name: &str, length: bool| match form.operand(name, length) {
            Operand::TextLength => format!("lgs::number({name}.lg_length())"),
            Operand::Elements => format!("lgs::zero_in({name})"),
            Operand::Count(of) => format!("lgs::number({of}.size())"),
            _ => format!("lgs::number({name})"),
        };
        code!("[&] { return @SIZE@; }", SIZE = SIZES.write(size, &operand))
    }

    fn many(&self, form: &Closure<'a>, what: &str, size: &Expression) -> String {
        let operand = |name: &str, _: bool| format!("lgs::number({})", form.variable(name));
        let size = SIZES.write(size, &operand);
        code!(r#"lgs::counted([&] { return @SIZE@; }, "@WHAT@")"#, SIZE = size, WHAT = what)
    }
}
