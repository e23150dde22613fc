//! Steps as C writes them: the layout, and nothing else.
use super::super::boundary::declare::declare;
use super::super::boundary::{Function, Step, Value};
use crate::emit::template::code;

/// A definition, with an empty line before it.
pub fn function(function: &Function) -> String {
    let mut text = String::new();
    line(&mut text, 0, "");
    line(&mut text, 0, &function.head);
    block(&mut text, &function.steps, 0);
    text
}

/// Steps, for a place in a template.
pub fn lines(all: &[Step]) -> String {
    let mut text = String::new();
    steps(&mut text, all, 0);
    text
}

fn steps(text: &mut String, all: &[Step], depth: usize) {
    all.iter().for_each(|each| step(text, each, depth));
}

fn line(text: &mut String, depth: usize, line: &str) {
    for _ in 0..depth {
        text.push_str("    ");
    }
    text.push_str(line);
    text.push('\n');
}

fn step(text: &mut String, step: &Step, depth: usize) {
    match step {
        Step::Declare(kind, name, None) => line(text, depth, &format!("{};", declare(kind, name))),
        Step::Declare(kind, name, Some(first)) => {
            line(text, depth, &format!("{} = {};", declare(kind, name), value(first)));
        }
        Step::Do(done) => line(text, depth, &format!("{};", value(done))),
        Step::Set(place, given) => line(text, depth, &format!("{} = {};", value(place), value(given))),
        Step::If(condition, then, otherwise) => branch(text, condition, then, otherwise, depth),
        Step::Each(index, count, each) => {
            let count = value(count);
            let head = format!("for (size_t {index} = 0; {index} < {count}; {index}++)");
            body(text, &head, each, depth, is_short(each));
        }
        Step::Block(own) => {
            block(text, own, depth);
        }
        Step::End => line(text, depth, "goto lgs_end;"),
        Step::Mark => line(text, 0, "lgs_end:"),
        Step::Return(None) => line(text, depth, "return;"),
        Step::Return(Some(back)) => line(text, depth, &format!("return {};", value(back))),
    }
}

fn block(text: &mut String, all: &[Step], depth: usize) {
    line(text, depth, "{");
    steps(text, all, depth + 1);
    line(text, depth, "}");
}

/// One line, without branches of its own.
fn is_short(steps: &[Step]) -> bool {
    matches!(steps, [Step::Do(_) | Step::Set(..) | Step::End | Step::Return(_)])
        || matches!(steps, [Step::Each(_, _, inner)] if is_short(inner))
}

fn body(text: &mut String, head: &str, steps: &[Step], depth: usize, short: bool) {
    line(text, depth, &if short { head.to_owned() } else { code!("@HEAD@ {", HEAD = head) });
    self::steps(text, steps, depth + 1);
    if !short {
        line(text, depth, "}");
    }
}

/// No branch of a chain has more than one line.
fn is_short_chain(then: &[Step], otherwise: &[Step]) -> bool {
    is_short(then)
        && match otherwise {
            [Step::If(_, then, otherwise)] => is_short_chain(then, otherwise),
            otherwise => otherwise.is_empty() || is_short(otherwise),
        }
}

/// A chain of conditions: braces everywhere, or nowhere.
fn branch(text: &mut String, condition: &Value, then: &[Step], otherwise: &[Step], depth: usize) {
    let short = is_short_chain(then, otherwise);
    body(text, &format!("if ({})", value(condition)), then, depth, short);
    let mut rest = otherwise;
    while !rest.is_empty() {
        let (head, inner, next) = match rest {
            [Step::If(condition, then, otherwise)] => {
                (format!("else if ({})", value(condition)), &**then, &**otherwise)
            }
            last => ("else".to_owned(), last, &[][..]),
        };
        if !short {
            // `} else`, on one line.
            text.truncate(text.trim_end_matches('\n').len());
            let mut line = String::new();
            body(&mut line, &head, inner, depth, false);
            text.extend([" ", line.trim_start()]);
        } else {
            body(text, &head, inner, depth, true);
        }
        rest = next;
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(value).collect::<Vec<String>>().join(", ")
}

/// A value, as C writes it.
pub fn value(own: &Value) -> String {
    match own {
        Value::Word(word) => word.clone(),
        Value::Text(text) => quoted(text),
        Value::Call(function, arguments) => format!("{}({})", value(function), list(arguments)),
        Value::Member(of, sign, name) => format!("{}{sign}{name}", value(of)),
        Value::Element(of, place) => format!("{}[{}]", value(of), value(place)),
        Value::Prefix(sign, inner) => format!("{sign}{}", value(inner)),
        // A cast binds closer than a choice.
        Value::Cast(kind, inner) if matches!(**inner, Value::Choice(..)) => {
            format!("({kind})({})", value(inner))
        }
        Value::Cast(kind, inner) => format!("({kind}){}", value(inner)),
        Value::Infix(one, sign, other) => format!("{} {sign} {}", value(one), value(other)),
        Value::Choice(condition, one, other) => {
            format!("{} ? {} : {}", value(condition), value(one), value(other))
        }
        Value::Group(inner) => format!("({})", value(inner)),
        Value::List(values) => code!("{@VALUES@}", VALUES = list(values)),
    }
}

/// A string literal.
pub fn quoted(text: &str) -> String {
    format!(r#""{}""#, text.replace('\\', r"\\").replace('"', r#"\""#))
}
