//! Names and paths from a module's debug information, which may be hostile: each is kept once, and all together are no longer than
//! there is room for.
use std::collections::HashMap;
use std::sync::Arc;

/// The number of a text that there is none of.
pub(super) const NONE: u32 = u32::MAX;

/// Texts by number.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: Vec<Arc<str>>,
    known: HashMap<Arc<str>, u32>,
    /// Bytes that may follow.
    room: usize,
}

impl Texts {
    /// For texts that are together no longer than the file that they come from: a few bytes of it can name a long text, many times.
    pub(super) fn of(file: &[u8]) -> Texts {
        Texts { room: file.len(), ..Texts::default() }
    }

    /// The number of a text; [`NONE`] if it is none, or too much.
    pub(super) fn intern(&mut self, text: Option<String>) -> u32 {
        let Some(text) = text else { return NONE };
        if let Some(known) = self.known.get(text.as_str()) {
            return *known;
        }
        let Some(room) = self.room.checked_sub(text.len()) else { return NONE };
        let (text, number) = (Arc::<str>::from(text), self.all.len() as u32);
        self.room = room;
        self.all.push(text.clone());
        self.known.insert(text, number);
        number
    }

    /// A text by its number.
    pub(super) fn get(&self, number: u32) -> Option<&str> {
        self.all.get(number as usize).map(|text| &**text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_only_while_there_is_room() {
        let mut texts = Texts::of(&[0; 6]);
        let numbers = ["abc", "abc", "de", "fg", "h"].map(|text| texts.intern(Some(text.to_owned())));
        assert_eq!(numbers, [0, 0, 1, NONE, 2]);
        assert_eq!(texts.intern(None), NONE);
        assert_eq!(
            [0, 1, 2, NONE].map(|number| texts.get(number)),
            [Some("abc"), Some("de"), Some("h"), None]
        );
    }
}
