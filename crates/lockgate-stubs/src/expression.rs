//! Expressions of C in annotations: sizes over parameters and fields.

/// An expression over integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Number(u64),
    /// A parameter, field, enumerator, macro of the header, or `lg_result`.
    Name(String),
    /// `*pointer`
    Deref(String),
    /// `strlen(pointer)`
    StringLength(String),
    /// `f(…)`: another function of the API.
    Call(String, Vec<Expression>),
    /// `pointer->field`
    Field(String, String),
    /// `lg_told(function, handle, what)`; of several, the least that was heard.
    Told(Vec<Told>),
    /// `-x`
    Minus(Box<Expression>),
    /// `!x`
    Not(Box<Expression>),
    /// `x + y` and its like.
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// `x ? y : z`
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
}

/// What a function last said of a handle, as the program heard it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    /// The function.
    pub function: String,
    /// The handle: a parameter beside the expression.
    pub handle: String,
    /// `lg_result`, or one of the function's parameters.
    pub what: String,
}

/// An operator between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the operators of C")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

/// Why an expression is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} at character {at}; expressions are made of numbers, parameters, *parameter, parameter->field, strlen(parameter), calls of the API, lg_told(function, handle, what), + - * / % ! < <= > >= == != && || ?: and parentheses"
)]
pub struct ExpressionError {
    /// What is wrong.
    pub what: String,
    /// Where, from 1.
    pub at: usize,
}

/// Operators by precedence, loosest first; longer ones before their beginnings.
const LEVELS: &[&[(&str, Operator)]] = &[
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[("==", Operator::Equal), ("!=", Operator::NotEqual)],
    &[
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

/// Deepest nesting: expressions are written by hand.
const MAX_DEPTH: usize = 64;

impl Expression {
    /// Parses the whole of `text`.
    ///
    /// # Errors
    /// [`ExpressionError`] names the first place that fits nothing.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let expression = parser.conditional()?;
        match parser.rest() {
            "" => Ok(expression),
            _ => Err(parser.error("expected an operator or the end")),
        }
    }

    /// Every name in it, those behind `*` and in `strlen()` included; called functions are not.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Name(name) | Expression::Deref(name) | Expression::StringLength(name) => vec![name],
            Expression::Field(name, _) => vec![name],
            Expression::Told(told) => told.iter().map(|told| &*told.handle).collect(),
            Expression::Call(_, arguments) => arguments.iter().flat_map(Expression::names).collect(),
            Expression::Minus(x) | Expression::Not(x) => x.names(),
            Expression::Binary(_, x, y) => [x.names(), y.names()].concat(),
            Expression::Conditional(x, y, z) => [x.names(), y.names(), z.names()].concat(),
        }
    }

    /// Functions that it asks.
    pub fn called(&self) -> Vec<&str> {
        match self {
            Expression::Call(name, arguments) => {
                std::iter::once(&**name).chain(arguments.iter().flat_map(Expression::called)).collect()
            }
            Expression::Minus(x) | Expression::Not(x) => x.called(),
            Expression::Binary(_, x, y) => [x, y].into_iter().flat_map(|x| x.called()).collect(),
            Expression::Conditional(x, y, z) => [x, y, z].into_iter().flat_map(|x| x.called()).collect(),
            _ => Vec::new(),
        }
    }
}

impl std::fmt::Display for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expression::Number(number) => write!(f, "{number}"),
            Expression::Name(name) => f.write_str(name),
            Expression::Deref(name) => write!(f, "*{name}"),
            Expression::StringLength(name) => write!(f, "strlen({name})"),
            Expression::Call(name, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(Expression::to_string).collect();
                write!(f, "{name}({})", arguments.join(", "))
            }
            Expression::Field(name, field) => write!(f, "{name}->{field}"),
            Expression::Told(told) => {
                let each = |Told { function, handle, what }: &Told| format!("{function}, {handle}, {what}");
                let all: Vec<String> = told.iter().map(each).collect();
                write!(f, "lg_told({})", all.join(", "))
            }
            Expression::Minus(x) => write!(f, "-{x}"),
            Expression::Not(x) => write!(f, "!{x}"),
            Expression::Binary(operator, x, y) => {
                let tokens = LEVELS.iter().flat_map(|level| level.iter());
                let token =
                    tokens.into_iter().find(|(_, known)| known == operator).map_or("?", |(token, _)| token);
                write!(f, "({x} {token} {y})")
            }
            Expression::Conditional(x, y, z) => write!(f, "({x} ? {y} : {z})"),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

type Parsed = Result<Expression, ExpressionError>;

impl<'a> Parser<'a> {
    fn conditional(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("nested too deep"));
        }
        let condition = self.binary(0)?;
        let result = if self.accept("?") {
            let then = self.conditional()?;
            self.expect(":")?;
            let otherwise = self.conditional()?;
            Expression::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    fn binary(&mut self, level: usize) -> Parsed {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(token, _)| self.accept(token)) {
            let right = self.binary(level + 1)?;
            left = Expression::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("nested too deep"));
        }
        let result = if self.accept("-") {
            Expression::Minus(Box::new(self.unary()?))
        } else if self.accept("!") {
            Expression::Not(Box::new(self.unary()?))
        } else if self.accept("*") {
            Expression::Deref(self.word().ok_or_else(|| self.error("expected a parameter behind `*`"))?)
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(result)
    }

    fn primary(&mut self) -> Parsed {
        if self.accept("(") {
            let inner = self.conditional()?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word = self.word().ok_or_else(|| self.error("expected a number or a name"))?;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return number(&word).map(Expression::Number).ok_or_else(|| self.error("expected a number"));
        }
        if self.accept("->") {
            let field = self.word().ok_or_else(|| self.error("expected a field behind `->`"))?;
            return Ok(Expression::Field(word, field));
        }
        if !self.accept("(") {
            return Ok(Expression::Name(word));
        }
        let mut arguments = Vec::new();
        if !self.accept(")") {
            loop {
                arguments.push(self.conditional()?);
                if self.accept(")") {
                    break;
                }
                self.expect(",")?;
            }
        }
        match (&*word, &*arguments) {
            ("strlen", [Expression::Name(name)]) => Ok(Expression::StringLength(name.clone())),
            ("strlen", _) => Err(self.error("strlen takes the name of a parameter")),
            ("lg_told", all) => self.told(all),
            _ => Ok(Expression::Call(word, arguments)),
        }
    }

    /// A fact, as one function tells it, or as several do.
    fn told(&self, all: &[Expression]) -> Parsed {
        let each = |three: &[Expression]| match three {
            [Expression::Name(function), Expression::Name(handle), Expression::Name(what)] => {
                let (function, handle, what) = (function.clone(), handle.clone(), what.clone());
                Some(Told { function, handle, what })
            }
            _ => None,
        };
        match all.chunks(3).map(each).collect::<Option<Vec<Told>>>() {
            Some(told) if told.len() > 1 && told.iter().any(|told| told.what == "lg_called") => {
                Err(self.error("lg_called is asked of one function"))
            }
            Some(told) if !told.is_empty() => Ok(Expression::Told(told)),
            _ => Err(self.error(
                "lg_told takes a function, a handle, and lg_result or a parameter of the function, once for each function that tells it",
            )),
        }
    }

    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn word(&mut self) -> Option<String> {
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| rest[..length].to_owned())
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), ExpressionError> {
        if self.accept(token) { Ok(()) } else { Err(self.error(&format!("expected `{token}`"))) }
    }

    fn error(&self, what: &str) -> ExpressionError {
        ExpressionError { what: what.to_owned(), at: self.at + 1 }
    }
}

/// An integer as C reads it: with a zero before its digits it is octal.
fn number(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let number = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
        [b'0', _, ..] => u64::from_str_radix(&digits[1..], 8),
        _ => digits.parse(),
    };
    number.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        let read =
            [("0", 0), ("00", 0), ("10", 10), ("010", 8), ("0400u", 256), ("0x1fUL", 31), ("0X10", 16)];
        for (text, value) in read {
            assert_eq!(Expression::parse(text), Ok(Expression::Number(value)), "{text}");
        }
        for none in ["09", "0b11", "0x", "0o7", "1e3", "02000000000000000000000"] {
            Expression::parse(none).expect_err(none);
        }
    }

    #[test]
    fn precedence_is_that_of_c() {
        let name = |n: &str| Box::new(Expression::Name(n.to_owned()));
        let number = |n| Box::new(Expression::Number(n));
        let sum = Expression::Binary(
            Operator::Add,
            name("a"),
            Box::new(Expression::Binary(Operator::Multiply, name("b"), number(2))),
        );
        assert_eq!(Expression::parse("a + b*2"), Ok(sum.clone()));
        assert_eq!(Expression::parse("(a + (b * 0x2))"), Ok(sum));
        assert_eq!(
            Expression::parse("n < 0 ? strlen(s) + 1 : *n"),
            Ok(Expression::Conditional(
                Box::new(Expression::Binary(Operator::Less, name("n"), number(0))),
                Box::new(Expression::Binary(
                    Operator::Add,
                    Box::new(Expression::StringLength("s".to_owned())),
                    number(1)
                )),
                Box::new(Expression::Deref("n".to_owned())),
            ))
        );
    }

    #[test]
    fn several_functions_tell_one_fact() {
        let text = "lg_told(f, h, n, g, h, lg_result)";
        let parsed = Expression::parse(text).expect("two functions");
        assert!(matches!(&parsed, Expression::Told(told) if told.len() == 2));
        assert_eq!(parsed.to_string(), text);
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        let refused = [
            ("", 1, "a number or a name"),
            ("a +", 4, "a number or a name"),
            ("a b", 3, "an operator"),
            ("(a", 3, "`)`"),
            ("a ? b", 6, "`:`"),
            ("99999999999999999999", 21, "a number"),
            ("strlen(a + 1)", 14, "name of a parameter"),
            ("*(a)", 2, "a parameter behind"),
            ("a[0]", 2, "an operator"),
            ("a->", 4, "a field"),
            ("lg_told(f, 1, lg_result)", 25, "a function, a handle"),
            ("lg_told(f, h, n, g)", 20, "once for each function"),
            ("lg_told(f, h, n, g, h, lg_called)", 34, "of one function"),
        ];
        for (text, at, what) in refused {
            let error = Expression::parse(text).expect_err(text);
            assert!(error.at == at && error.what.contains(what), "{text}: {error}");
        }
        for deep in ["(".repeat(100_000), "-".repeat(100_000)] {
            assert!(Expression::parse(&deep).expect_err("deep").what.contains("deep"));
        }
    }
}
