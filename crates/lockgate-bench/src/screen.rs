//! Text for people: headings, aligned columns, colour only on a terminal.

use std::cell::Cell as Counter;

/// Standard output, with or without colours.
#[derive(Debug)]
pub struct Screen {
    colour: bool,
    lines: Counter<usize>,
    width: Counter<usize>,
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
    /// It stands at the right of its column.
    pub is_number: bool,
}

impl Cell {
    /// A cell.
    pub fn new(paint: Paint, text: impl Into<String>) -> Self {
        Self { text: text.into(), paint, is_number: false }
    }

    /// One that stands at the right of its column.
    pub fn number(paint: Paint, text: impl Into<String>) -> Self {
        Self { is_number: true, ..Self::new(paint, text) }
    }
}

impl Screen {
    /// Colours if standard output is a terminal that has some, unless `NO_COLOR`, `CLICOLOR` or `CLICOLOR_FORCE` says otherwise.
    pub fn of_stdout() -> Self {
        Self::new(anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never)
    }

    /// The same, with or without.
    pub fn new(colour: bool) -> Self {
        Self { colour, lines: Counter::default(), width: Counter::default() }
    }

    /// Whether it has colours.
    pub fn is_coloured(&self) -> bool {
        self.colour
    }

    /// Lines printed until now, and the characters of the longest one, those of colours included.
    pub fn size(&self) -> (usize, usize) {
        (self.lines.get(), self.width.get())
    }

    fn print(&self, text: &str) {
        self.lines.set(self.lines.get() + text.lines().count());
        self.width.set(text.lines().map(|line| line.chars().count()).fold(self.width.get(), usize::max));
        print!("{text}");
    }

    /// A numbered heading.
    pub fn heading(&self, number: u32, text: &str) {
        let line = format!("{number}. {text}");
        self.print(&format!("\n{}\n", if self.colour { format!("\x1b[1m{line}\x1b[0m") } else { line }));
    }

    /// A line of text.
    pub fn line(&self, paint: Paint, text: &str) {
        self.print(&format!("{}\n", self.paint(paint, text)));
    }

    /// `rows` with aligned columns, each as wide as its widest cell; the last column is not filled up.
    pub fn table(&self, rows: &[Vec<Cell>]) {
        self.print(&self.render(rows));
    }

    /// What [`table`](Screen::table) prints.
    pub fn render(&self, rows: &[Vec<Cell>]) -> String {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let length = |cell: &Cell| cell.text.chars().count();
        let width = |column| rows.iter().filter_map(|row| row.get(column)).map(length).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in rows {
            let mut line = String::from(" ");
            for (cell, width) in row.iter().zip(&widths) {
                let (text, fill) = (self.paint(cell.paint, &cell.text), " ".repeat(width - length(cell)));
                line += &if cell.is_number { format!(" {fill}{text}") } else { format!(" {text}{fill}") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// `text` in the colour of `paint`.
    pub fn paint(&self, paint: Paint, text: &str) -> String {
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
        assert_eq!(Screen::new(false).render(&rows), "  é    one\n  long two\n");
        assert!(Screen::new(true).render(&rows).contains("\x1b[32mé\x1b[0m    one\n"));
    }
}
