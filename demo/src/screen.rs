//! What the demo prints: headings, aligned columns, colour only on a terminal.

use std::io::IsTerminal as _;

/// Standard output, with or without colours.
#[derive(Debug, Clone, Copy)]
pub struct Screen {
    colour: bool,
}

/// How a cell looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// As it is.
    Plain,
    /// Something that went as it should.
    Good,
    /// Something that did not.
    Bad,
    /// Beside the point.
    Faint,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its text, one line.
    pub text: String,
    /// Its look.
    pub paint: Paint,
}

impl Cell {
    /// A cell.
    pub fn new(paint: Paint, text: impl Into<String>) -> Self {
        Self { text: text.into(), paint }
    }
}

impl Screen {
    /// Colours if standard output is a terminal and `NO_COLOR` is not set.
    pub fn of_stdout() -> Self {
        Self { colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() }
    }

    /// A numbered heading.
    pub fn heading(self, number: u32, text: &str) {
        let line = format!("{number}. {text}");
        println!("\n{}", if self.colour { format!("\x1b[1m{line}\x1b[0m") } else { line });
    }

    /// A line of text.
    pub fn line(self, paint: Paint, text: &str) {
        println!("{}", self.paint(paint, text));
    }

    /// `rows` with aligned columns, each as wide as its widest cell; the last column is not filled up.
    pub fn table(self, rows: &[Vec<Cell>]) {
        print!("{}", self.render(rows));
    }

    fn render(self, rows: &[Vec<Cell>]) -> String {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let length = |cell: &Cell| cell.text.chars().count();
        let width = |column| rows.iter().filter_map(|row| row.get(column)).map(length).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in rows {
            let mut line = String::from(" ");
            for (cell, width) in row.iter().zip(&widths) {
                let fill = " ".repeat(width - length(cell));
                line += &format!(" {}{fill}", self.paint(cell.paint, &cell.text));
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Plain => return text.to_owned(),
            _ if !self.colour || text.is_empty() => return text.to_owned(),
            Paint::Good => 32,
            Paint::Bad => 31,
            Paint::Faint => 2,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_with_and_without_colour() {
        let row = |a: &str, b: &str| vec![Cell::new(Paint::Good, a), Cell::new(Paint::Plain, b)];
        let rows = [row("é", "one"), row("long", "two")];
        assert_eq!(Screen { colour: false }.render(&rows), "  é    one\n  long two\n");
        assert!(Screen { colour: true }.render(&rows).contains("\x1b[32mé\x1b[0m    one\n"));
    }
}
