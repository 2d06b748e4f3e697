//! Documents one after another, written as lists that share their names and shapes: the chunks of
//! a collection.

use super::{Options, Writer};
use crate::blit::emit::{Count, Emitter};
use crate::blit::keys::Names;
use crate::blit::layout::flag;
use crate::blit::shapes::Sequences;
use crate::Result;

/// The names and shapes of many chunks.
#[derive(Default)]
pub(in crate::blit) struct Dictionary {
    pub(in crate::blit) keys: Vec<u8>,
    pub(in crate::blit) shapes: Vec<u8>,
    pub(in crate::blit) nkeys: usize,
    pub(in crate::blit) nshapes: usize,
    /// ALIGNED, `KEEPS_DUPLICATES`, WTF8.
    pub(in crate::blit) flags: u8,
}

/// A place between two documents.
#[derive(Clone, Copy)]
pub(in crate::blit) struct Mark {
    documents: usize,
    tape: (usize, usize),
    has_surrogates: bool,
}

impl Mark {
    /// How many documents there are with the next one.
    pub(in crate::blit) fn next(self) -> usize {
        self.documents.saturating_add(1)
    }
}

impl Writer<'static> {
    /// Starts a list of documents: each value that is complete is one of them.
    ///
    /// # Errors
    /// As [`Writer::new`].
    pub(in crate::blit) fn many(options: Options) -> Result<Self> {
        if options.pool {
            return Err(super::misuse("the chunks of a collection have no pool"));
        }
        let mut writer = Self::new(options)?;
        writer.emitter.out.clear();
        writer.is_many = true;
        Ok(writer)
    }
}

impl Writer<'_> {
    /// How many documents are complete since the last chunk.
    pub(in crate::blit) fn complete(&self) -> usize {
        let open = self.open.first();
        open.map_or(self.values.len(), |open| open.values)
    }

    /// Whether a document was begun and not ended.
    pub(in crate::blit) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Where the next document begins, for [`discard`](Self::discard).
    pub(in crate::blit) fn mark(&self) -> Mark {
        Mark {
            documents: self.complete(),
            tape: self.tape.sizes(),
            has_surrogates: self.has_surrogates,
        }
    }

    /// Drops what came after a mark that was made since the last chunk.
    pub(in crate::blit) fn discard(&mut self, mark: Mark) {
        self.open.clear();
        self.values.truncate(mark.documents);
        self.tape.truncate(mark.tape);
        self.has_surrogates = mark.has_surrogates;
        // Its names may have ids, which none of those that are kept gave them.
        self.dropped.now = true;
    }

    /// Writes the first `n` documents as a list that does not say how many there are.
    ///
    /// # Errors
    /// `Limit` for too many levels.
    pub(in crate::blit) fn chunk(&mut self, n: usize) -> Result<Vec<u8>> {
        self.settle_names();
        let rest = self.values.split_off(n.min(self.values.len()));
        let all = std::mem::replace(&mut self.values, rest);
        self.emitter.list(&self.tape, &all, Count::Given)?;
        if self.values.is_empty() {
            self.tape.clear();
        }
        Ok(std::mem::take(&mut self.emitter.out))
    }

    /// About how many bytes the names and shapes of all chunks so far will take.
    pub(in crate::blit) fn dictionary_bytes(&self) -> usize {
        let names = self.emitter.names.bytes();
        names.saturating_add(self.emitter.sequences.bytes())
    }

    /// Takes the names and shapes of all chunks so far; the next ones begin anew.
    ///
    /// There must be no documents that are not written.
    pub(in crate::blit) fn dictionary(&mut self) -> Dictionary {
        // Documents that were dropped since the last chunk may have given names their ids.
        self.settle_names();
        let options = self.options;
        let emitter = std::mem::replace(&mut *self.emitter, Emitter::of(&options));
        let (names, sequences): (Names, Sequences) = (emitter.names, emitter.sequences);
        let mut flags = 0;
        for (is, bit) in [
            (options.aligned, flag::ALIGNED),
            (sequences.keeps_duplicates, flag::KEEPS_DUPLICATES),
            (std::mem::take(&mut self.has_surrogates), flag::WTF8),
        ] {
            flags |= if is { bit } else { 0 };
        }
        let mut dictionary = Dictionary {
            nkeys: names.len(),
            nshapes: sequences.shapes(),
            flags,
            ..Dictionary::default()
        };
        names.write(&mut dictionary.keys);
        sequences.write(&names, &mut dictionary.shapes);
        self.first_name = 0;
        self.dropped.lost = false;
        dictionary
    }

    /// Bytes of text and of values since the last chunk, where a value counts eight.
    pub(in crate::blit) fn pending_bytes(&self) -> usize {
        let (text, children) = self.tape.sizes();
        let values = children.saturating_add(self.values.len());
        text.saturating_add(values.saturating_mul(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blit::json_in::push_json;

    #[test]
    fn chunks_share_names_and_shapes() {
        let mut writer = Writer::many(Options::default()).unwrap();
        for text in [r#"{"id":1,"n":"a"}"#, r#" {"id":2,"n":"b"} "#] {
            push_json(text.as_bytes(), &mut writer).unwrap();
        }
        let mark = writer.mark();
        for wrong in [r#"{"no":1,"id":[{"none":{}}"#, "1 2", "{\"x\":1}}"] {
            push_json(wrong.as_bytes(), &mut writer).unwrap_err();
            writer.discard(mark);
        }
        assert_eq!(2, writer.complete());
        // The table of the specification's worked bytes, without its count.
        let table = b"\x01\x02\x02\x61\x62\x01\x09\xA1\x03\x00\x85";
        assert_eq!(table[..], writer.chunk(2).unwrap());
        push_json(br#"{"n":"\u0041","m":{"id":3}}"#, &mut writer).unwrap();
        let one = writer.chunk(1).unwrap();
        assert_eq!(Some(&0x81), one.last());
        let dictionary = writer.dictionary();
        assert_eq!((3, 3), (dictionary.nkeys, dictionary.nshapes));
        assert!(dictionary.keys.starts_with(b"idnm"));
        assert_eq!(0, writer.dictionary().nkeys);
    }
}
