//! `explained.txt`: contradictions of other decoders that are known to be their mistakes or their silence.
//!
//! One line each: decoder, aspect, mnemonics, `|`, an example in hexadecimal, `|`, the reason.
//! An explanation is good for its decoder alone: in every aspect, at least one decoder has to confirm each instruction.
//! [`Explanation::is_needed`] says whether the example still shows the contradiction: what is not needed any more has to go.

use crate::decoders::{Decoder, Iced, Yaxpeax, Zydis, mnemonic};
use crate::difference::{Aspect, differences};
use lockgate_verify::Reading;

/// One line of `explained.txt`.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// Name of the decoder.
    pub decoder: &'static str,
    /// What it gets wrong.
    pub aspect: Aspect,
    /// The instructions that it is about.
    pub mnemonics: Vec<&'static str>,
    example: Vec<u8>,
    /// Why it is wrong.
    pub reason: &'static str,
}

impl Explanation {
    /// All of them.
    ///
    /// # Panics
    /// A line is not of the form above.
    #[must_use]
    pub fn all() -> Vec<Explanation> {
        let lines = include_str!("../explained.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|line| Explanation::parse(line).unwrap_or_else(|| panic!("explained.txt: '{line}'")))
            .collect()
    }

    fn parse(line: &'static str) -> Option<Explanation> {
        let mut parts = line.split('|').map(str::trim);
        let mut words = parts.next()?.split_ascii_whitespace();
        let (decoder, aspect) = (words.next()?, words.next()?);
        let aspect = Aspect::ALL.into_iter().find(|known| format!("{known:?}").to_lowercase() == aspect)?;
        let example = parts
            .next()?
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok());
        let (example, reason) = (example.collect::<Option<_>>()?, parts.next()?);
        Some(Explanation { decoder, aspect, mnemonics: words.collect(), example, reason })
    }

    /// Whether it is about the instruction with this mnemonic.
    #[must_use]
    pub fn covers(&self, mnemonic: &str) -> bool {
        self.mnemonics.contains(&mnemonic)
    }

    /// Whether its decoder still contradicts the verifier about the example.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        let Some(ours) = Reading::of(&self.example) else { return false };
        let view = match self.decoder {
            Zydis::NAME => Zydis::default().view(&self.example),
            Yaxpeax::NAME => Yaxpeax::default().view(&self.example),
            Iced::NAME => Iced::default().view(&self.example),
            _ => return false,
        };
        self.covers(&mnemonic(&self.example)) && differences(&ours, view.as_ref()).contains(&self.aspect)
    }
}
