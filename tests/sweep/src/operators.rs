//! The mutations, and a source in which each of them can be switched on. (Their lines are known because `proc_macro2` has its feature
//! `span-locations`.)
use anyhow::{Context, Result};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, BinOp, Block, Expr, Ident, Lit, LitInt, ReturnType, Signature, Stmt, UnOp, parse_quote,
};

/// One mutation.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// What switches it on, counted from 1.
    pub number: usize,
    /// The source's name, without its folder.
    pub file: String,
    /// Line of the original.
    pub line: usize,
    /// Function, with its type's name if it has one.
    pub function: String,
    /// `original => mutated`, in one line; `(2)` behind it if the function has the same twice.
    pub change: String,
}

/// `text` with a switch for each mutation, which are added to `mutants`.
///
/// # Errors
/// It is no Rust source.
pub fn mutate(file: &str, text: &str, mutants: &mut Vec<Mutant>) -> Result<String> {
    let mut source = syn::parse_file(text).with_context(|| file.to_owned())?;
    Mutator { file, owner: None, functions: Vec::new(), mutants }.visit_file_mut(&mut source);
    Ok(source.into_token_stream().to_string())
}

struct Mutator<'m> {
    file: &'m str,
    /// The type whose methods are visited.
    owner: Option<String>,
    /// Names of the functions that the place is in.
    functions: Vec<String>,
    mutants: &'m mut Vec<Mutant>,
}

/// Source text of a piece of code, in one line.
fn shown(code: &impl Spanned) -> String {
    let text = code.span().source_text().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The attributes take the item out of ordinary builds.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
}

/// A condition that binds names: it can stand only where it stands.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(inner) => has_let(&inner.expr),
        _ => false,
    }
}

/// Binary operators, and what stands in for them.
const OPERATORS: [(&str, &[&str]); 26] = [
    ("&&", &["||"]),
    ("||", &["&&"]),
    ("==", &["!="]),
    ("!=", &["=="]),
    ("<", &["<=", "=="]),
    ("<=", &["<", "=="]),
    (">", &[">=", "=="]),
    (">=", &[">", "=="]),
    ("+", &["-", "*"]),
    ("-", &["+", "/"]),
    ("*", &["+", "/"]),
    ("/", &["*", "%"]),
    ("%", &["/", "*"]),
    ("&", &["|", "^"]),
    ("|", &["&", "^"]),
    ("^", &["&", "|"]),
    ("<<", &[">>"]),
    (">>", &["<<"]),
    ("+=", &["-="]),
    ("-=", &["+="]),
    ("*=", &["+="]),
    ("&=", &["|="]),
    ("|=", &["&="]),
    ("^=", &["|="]),
    ("<<=", &[">>="]),
    (">>=", &["<<="]),
];

fn others(op: &BinOp) -> Vec<BinOp> {
    let text = op.to_token_stream().to_string();
    let row = OPERATORS.iter().find(|(from, _)| *from == text);
    row.into_iter().flat_map(|(_, others)| *others).filter_map(|other| syn::parse_str(other).ok()).collect()
}

/// Values that a function with this result may be made to return at once.
fn constants(output: &ReturnType) -> Vec<Expr> {
    let ReturnType::Type(_, result) = output else { return vec![parse_quote!(())] };
    let name = result.to_token_stream().to_string().replace(' ', "");
    match name.as_str() {
        "bool" => vec![parse_quote!(true), parse_quote!(false)],
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => vec![parse_quote!(0), parse_quote!(1)],
        "String" => vec![parse_quote!(String::new())],
        "&str" => vec![parse_quote!("")],
        "Judged" => vec![parse_quote!(Ok(()))],
        _ if name.starts_with("Result<(),") => vec![parse_quote!(Ok(()))],
        _ if name.starts_with("Option<") => vec![parse_quote!(None)],
        _ if name.starts_with("Vec<") => vec![parse_quote!(Vec::new())],
        _ => Vec::new(),
    }
}

impl Mutator<'_> {
    /// Notes a mutation; its number.
    fn add(&mut self, line: usize, original: &str, mutated: &str) -> usize {
        let function = self.functions.join("::");
        let change = format!("{original} => {mutated}");
        let is_same = |other: &&Mutant| {
            other.file == self.file
                && other.function == function
                && other.change.starts_with(&change)
                && (other.change.len() == change.len() || other.change[change.len()..].starts_with(" ("))
        };
        let earlier = self.mutants.iter().filter(is_same).count();
        let change = if earlier == 0 { change } else { format!("{change} ({})", earlier + 1) };
        let number = self.mutants.len() + 1;
        self.mutants.push(Mutant { number, file: self.file.to_owned(), line, function, change });
        number
    }

    /// A condition, with switches that make it always true and always false.
    fn toggle(&mut self, condition: &mut Expr, values: &[bool]) {
        let (line, text) = (condition.span().start().line, shown(condition));
        let numbers: Vec<_> = values.iter().map(|value| self.add(line, &text, &value.to_string())).collect();
        self.visit_expr_mut(condition);
        for (value, number) in values.iter().zip(numbers) {
            let inner = condition.clone();
            *condition = match value {
                true => parse_quote!(((#inner) || crate::mutant::on(#number))),
                false => parse_quote!(((#inner) && !crate::mutant::on(#number))),
            };
        }
    }

    /// The condition of an `if`, a `while` or an arm, or an operand of one: names that it binds stay bound.
    fn condition(&mut self, condition: &mut Expr, values: &[bool]) {
        match condition {
            Expr::Let(inner) => self.visit_expr_mut(&mut inner.expr),
            Expr::Binary(binary) if has_let(&binary.left) || has_let(&binary.right) => {
                self.condition(&mut binary.left, values);
                self.condition(&mut binary.right, values);
            }
            // An operand is toggled by itself.
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.visit_expr_mut(condition)
            }
            _ => self.toggle(condition, values),
        }
    }

    fn binary(&mut self, expr: &mut Expr) {
        let Expr::Binary(binary) = expr else { return };
        let (line, left, right) = (binary.span().start().line, binary.left.clone(), binary.right.clone());
        let text = shown(&*binary);
        let ops = others(&binary.op);
        let numbers: Vec<_> = ops
            .iter()
            .map(|op| {
                self.add(line, &text, &format!("{} {} {}", shown(&left), op.to_token_stream(), shown(&right)))
            })
            .collect();
        match binary.op {
            BinOp::And(_) => {
                self.operand(&mut binary.left, true);
                self.operand(&mut binary.right, true);
            }
            BinOp::Or(_) => {
                self.operand(&mut binary.left, false);
                self.operand(&mut binary.right, false);
            }
            _ => visit_mut::visit_expr_binary_mut(self, binary),
        }
        let mut whole = quote!({ #expr });
        for (op, number) in ops.iter().zip(numbers) {
            whole = quote!({ if crate::mutant::on(#number) { (#left) #op (#right) } else #whole });
        }
        *expr = parse_quote!((#whole));
    }

    /// An operand of `&&` or `||` that can be left out: `neutral` in its place.
    fn operand(&mut self, operand: &mut Expr, neutral: bool) {
        match operand {
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.visit_expr_mut(operand)
            }
            _ => self.toggle(operand, &[neutral]),
        }
    }

    fn unary(&mut self, expr: &mut Expr) {
        let Expr::Unary(unary) = expr else { return };
        let (line, inner) = (unary.span().start().line, unary.expr.clone());
        let number =
            (!matches!(unary.op, UnOp::Deref(_))).then(|| self.add(line, &shown(&*unary), &shown(&inner)));
        self.visit_expr_mut(&mut unary.expr);
        if let Some(number) = number {
            *expr = parse_quote!((if crate::mutant::on(#number) { #inner } else { #expr }));
        }
    }

    /// A number is one larger.
    fn literal(&mut self, expr: &mut Expr) {
        let Expr::Lit(literal) = &*expr else { return };
        let Lit::Int(number) = &literal.lit else { return };
        let Ok(value) = number.base10_parse::<u64>() else { return };
        // The largest numbers of each type have no larger one.
        let other = if (value + 1).is_power_of_two() && value >= 0x7f { value - 1 } else { value + 1 };
        let other = LitInt::new(&format!("{other}{}", number.suffix()), number.span());
        let mutant = self.add(number.span().start().line, &shown(number), &other.to_string());
        *expr = parse_quote!((if crate::mutant::on(#mutant) { #other } else { #expr }));
    }

    fn arms(&mut self, expr: &mut Expr) {
        let Expr::Match(whole) = expr else { return };
        self.visit_expr_mut(&mut whole.expr);
        let takes_all = |arm: &syn::Arm| match &arm.pat {
            syn::Pat::Wild(_) => true,
            // `None` is a name, too.
            syn::Pat::Ident(name) => name.ident.to_string().starts_with(|c: char| c.is_lowercase()),
            _ => false,
        };
        let has_rest = whole.arms.last().is_some_and(takes_all);
        let last = whole.arms.len() - 1;
        for (at, arm) in whole.arms.iter_mut().enumerate() {
            let (line, pattern) = (arm.span().start().line, shown(&arm.pat));
            if let Some((_, guard)) = &mut arm.guard {
                self.condition(guard, &[true, false]);
            } else if has_rest && at != last {
                let number = self.add(line, &format!("{pattern} =>"), "no such arm");
                arm.guard = Some((Default::default(), parse_quote!(!crate::mutant::on(#number))));
            }
            self.visit_expr_mut(&mut arm.body);
        }
    }

    /// A function whose body is a constant, or as it is.
    fn function(&mut self, name: &Ident, signature: &Signature, block: &mut Block) {
        if signature.constness.is_some() {
            return;
        }
        let line = name.span().start().line;
        self.functions.push(match &self.owner {
            Some(owner) => format!("{owner}::{name}"),
            None => name.to_string(),
        });
        let constants: Vec<_> = constants(&signature.output)
            .into_iter()
            .map(|constant| {
                (
                    self.add(line, "the body", &constant.to_token_stream().to_string().replace(' ', "")),
                    constant,
                )
            })
            .collect();
        self.visit_block_mut(block);
        for (number, constant) in constants {
            block.stmts.insert(0, parse_quote!(if crate::mutant::on(#number) { return #constant; }));
        }
        self.functions.pop();
    }
}

impl VisitMut for Mutator<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Binary(_) => self.binary(expr),
            Expr::Unary(_) => self.unary(expr),
            Expr::Lit(_) => self.literal(expr),
            Expr::Match(_) => self.arms(expr),
            Expr::If(branch) => {
                self.condition(&mut branch.cond, &[true, false]);
                self.visit_block_mut(&mut branch.then_branch);
                if let Some((_, other)) = &mut branch.else_branch {
                    self.visit_expr_mut(other);
                }
            }
            Expr::While(repeat) => {
                self.condition(&mut repeat.cond, &[false]);
                self.visit_block_mut(&mut repeat.body);
            }
            Expr::Macro(call) if call.mac.path.is_ident("matches") => {
                let text = shown(&*call);
                let number = self.add(call.span().start().line, &text, &format!("!{text}"));
                *expr = parse_quote!((#expr != crate::mutant::on(#number)));
            }
            // The length of an array is a constant.
            Expr::Repeat(repeat) => self.visit_expr_mut(&mut repeat.expr),
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }

    /// Statements that are run for what they do may be missing.
    fn visit_block_mut(&mut self, block: &mut Block) {
        for statement in &mut block.stmts {
            let removable = matches!(
                &*statement,
                Stmt::Expr(
                    Expr::Call(_) | Expr::MethodCall(_) | Expr::Try(_) | Expr::Assign(_) | Expr::Binary(_),
                    Some(_)
                )
            );
            let number =
                removable.then(|| self.add(statement.span().start().line, &shown(statement), "nothing"));
            self.visit_stmt_mut(statement);
            if let Some(number) = number {
                *statement = parse_quote!(if !crate::mutant::on(#number) { #statement });
            }
        }
    }

    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        if !is_test(&item.attrs) {
            let signature = item.sig.clone();
            let owner = self.owner.take();
            self.function(&signature.ident, &signature, &mut item.block);
            self.owner = owner;
        }
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        let owner = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        let before = std::mem::replace(&mut self.owner, owner);
        visit_mut::visit_item_impl_mut(self, item);
        self.owner = before;
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut syn::ImplItemFn) {
        let signature = item.sig.clone();
        self.function(&signature.ident, &signature, &mut item.block);
    }

    fn visit_item_mod_mut(&mut self, item: &mut syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit_mut::visit_item_mod_mut(self, item);
        }
    }

    // Constants, types and patterns cannot ask which mutation is in force.
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_item_enum_mut(&mut self, _: &mut syn::ItemEnum) {}
    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_generics_mut(&mut self, _: &mut syn::Generics) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
    fn visit_angle_bracketed_generic_arguments_mut(&mut self, _: &mut syn::AngleBracketedGenericArguments) {}
    fn visit_path_mut(&mut self, _: &mut syn::Path) {}
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
}
