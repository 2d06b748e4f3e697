//! Documents from events: what every source of values is turned into.

mod chunk;
mod spare;

pub(super) use chunk::Mark;

use super::emit::{is_packed, Emitter, Layout};
use super::keys::Duplicates;
use super::layout::{flag, push_rv, END_MAGIC, MAGIC, MAX_DEPTH, SEGMENT, VERSION};
use super::node::{self, Kind, Mask, Node, Tape};
use super::shapes::{Sequences, START};
use super::{strings, surrogates};
use crate::{Error, ErrorKind, Result};
use spare::Spare;

/// Whether a document carries a checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// From 1,024 bytes on.
    #[default]
    Auto,
    /// Always: 8 bytes.
    On,
    /// Never.
    Off,
}

/// What numbers with a fraction are kept as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// The nearest float, where at most 17 digits were given; else the text.
    #[default]
    Value,
    /// The text, wherever it is not the shortest of its float.
    Text,
}

/// What happens to text that is half of a surrogate pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surrogates {
    /// It is refused.
    #[default]
    Error,
    /// It is kept, and written back as `\udxxx`.
    Keep,
}

/// How a document is written. The default is profile 1: the same value gives the same bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Columns, or every value by itself so that it can be patched.
    pub layout: Layout,
    /// What numbers with a fraction are kept as.
    pub numbers: Numbers,
    /// What happens to names that an object has twice.
    pub duplicates: Duplicates,
    /// What happens to halves of surrogate pairs.
    pub surrogates: Surrogates,
    /// Whether the document carries a checksum.
    pub checksum: Checksum,
    /// Whether long lists of numbers lie at multiples of their width, for use without copying.
    pub aligned: bool,
    /// Whether strings that mixed lists have again and again are kept once. All values are held
    /// until the end, and written twice.
    pub pool: bool,
    /// Strings of so many bytes, 512 or more, are compressed by themselves where that saves an
    /// eighth of them. Not for documents that are compressed as a whole.
    pub compress_strings: Option<usize>,
    /// The same value always gives the same bytes: no checksum, no duplicates, no surrogates.
    pub canonical: bool,
}

impl Options {
    /// What `canonical` allows of the other options.
    ///
    /// # Errors
    /// `Usage` for options that it rules out.
    fn resolved(mut self) -> Result<Self> {
        const LEAST: usize = 512;
        if self.compress_strings.is_some_and(|from| from < LEAST) {
            let text = format!("strings of less than {LEAST} bytes are not compressed");
            return Err(misuse(&text));
        }
        if !self.canonical {
            return Ok(self);
        }
        let plain = self.layout == Layout::Columns
            && self.numbers == Numbers::Value
            && self.surrogates == Surrogates::Error
            && self.duplicates != Duplicates::Keep
            && self.checksum != Checksum::On
            && !self.aligned
            && !self.pool
            && self.compress_strings.is_none();
        if !plain {
            let text = "canonical documents have no other options";
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        }
        self.duplicates = Duplicates::Error;
        self.checksum = Checksum::Off;
        Ok(self)
    }
}

/// Writes a document value by value, in one pass.
///
/// Memory is the values of the document, 16 bytes each beside their text; of an array at the root
/// that is longer than 65,536 elements, those of one segment.
///
/// # Example
/// ```
/// use tare::blit::{Options, Writer};
///
/// let mut writer = Writer::new(Options::default())?;
/// writer.begin_object()?;
/// writer.key("station")?;
/// writer.str("JFK")?;
/// writer.end()?;
/// let document = writer.finish()?;
/// assert_eq!(b"BLT1", &document[..4]);
/// # Ok::<(), tare::Error>(())
/// ```
pub struct Writer<'s> {
    options: Options,
    /// Many documents one after another, instead of one.
    is_many: bool,
    pub(super) tape: Tape<'s>,
    emitter: Emitter,
    /// Values whose container is open, the innermost last.
    values: Vec<Node>,
    open: Vec<Open>,
    /// The root, once it is complete.
    root: Option<Node>,
    long: Long,
    has_surrogates: bool,
    /// Objects were dropped with a duplicate name, so that names have ids they should not have.
    dropped: bool,
    /// Names that had ids when what is on the tape began.
    first_name: usize,
    /// What was taken out.
    drained: Drained,
}

/// Bytes that are no more in the writer.
#[derive(Default)]
struct Drained {
    size: usize,
    sum: xxhash_rust::xxh3::Xxh3Default,
}

/// A container that is not complete.
#[derive(Clone, Copy)]
struct Open {
    is_object: bool,
    /// Where its values begin.
    values: usize,
    /// Names of an object.
    names: usize,
    /// The step of its last name; of an array, of the one that the array is the value of.
    step: u32,
    /// The step of which an object is the value.
    outer: u32,
}

impl Open {
    #[inline]
    fn take(&mut self, step: u32, sequences: &mut Sequences) {
        if self.names == 0 {
            sequences.began(self.outer, step);
        }
        self.names = self.names.wrapping_add(1);
        self.step = step;
    }
}

/// A name that a writer has met, to be written again without being looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(u32);

impl Name {
    /// How many other names the writer met before it.
    #[must_use]
    #[inline]
    pub fn index(self) -> u32 {
        self.0
    }
}

/// A name behind those that are before it in an object: a number from 1 on, of each writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step(u32);

impl Step {
    /// The number.
    #[must_use]
    #[inline]
    pub fn index(self) -> u32 {
        self.0
    }
}

/// An array at the root that is written in segments while it comes.
#[derive(Default)]
struct Long {
    /// Kinds of its elements so far, and how many of those that wait were looked at.
    mask: Mask,
    seen: usize,
    /// Elements that are written.
    n: usize,
    began: bool,
}

impl<'s> Writer<'s> {
    /// Starts a document.
    ///
    /// # Errors
    /// `Usage` for options that exclude each other.
    pub fn new(options: Options) -> Result<Self> {
        Self::over(options, &[])
    }

    /// Starts a document whose text may lie in `source`.
    pub(super) fn over(options: Options, source: &'s [u8]) -> Result<Self> {
        let options = options.resolved()?;
        let Spare {
            mut emitter,
            tape,
            values,
            open,
        } = Spare::take();
        emitter.again(&options);
        emitter.out.extend_from_slice(MAGIC);
        Ok(Self {
            options,
            is_many: false,
            tape: tape.over(source),
            emitter,
            values,
            open,
            root: None,
            long: Long::default(),
            has_surrogates: false,
            dropped: false,
            first_name: 0,
            drained: Drained::default(),
        })
    }

    /// A null.
    ///
    /// # Errors
    /// This and all others: `Usage` for a value where none belongs; `Limit` for what is too much.
    #[inline]
    pub fn null(&mut self) -> Result<()> {
        self.push(Node::NULL)
    }

    /// A truth value.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn bool(&mut self, value: bool) -> Result<()> {
        self.push(Node::bool(value))
    }

    /// A signed integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn int(&mut self, value: i64) -> Result<()> {
        self.push(Node::int(value))
    }

    /// An unsigned integer.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn uint(&mut self, value: u64) -> Result<()> {
        self.push(match i64::try_from(value) {
            Ok(value) => Node::int(value),
            Err(_) => Node::uint(value),
        })
    }

    /// A float, NaN and infinities included.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn float(&mut self, value: f64) -> Result<()> {
        // Which NaN it is carries no meaning, and equal values have equal bytes.
        self.push(Node::float(if value.is_nan() { f64::NAN } else { value }))
    }

    /// A number as its JSON text, kept exactly.
    ///
    /// # Errors
    /// `Usage` if it is no JSON number; as [`null`](Self::null).
    pub fn number_text(&mut self, text: &str) -> Result<()> {
        if !super::number::is_number(text.as_bytes()) {
            let text = format!("{text:?} is no JSON number");
            return Err(Error::new(ErrorKind::Usage, text).with_format("blit"));
        }
        let node = self.text(Kind::NumText, text.as_bytes())?;
        self.place(node);
        Ok(())
    }

    /// A string.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn str(&mut self, text: &str) -> Result<()> {
        let node = self.text(strings::kind_of(text.as_bytes()), text.as_bytes())?;
        self.place(node);
        Ok(())
    }

    /// A string that may hold halves of surrogate pairs, as three bytes each.
    ///
    /// # Errors
    /// `Malformed` for those where they are not kept, and for what is no such text.
    pub fn wtf8(&mut self, text: &[u8]) -> Result<()> {
        self.check_wtf8(text)?;
        let kind = match std::str::from_utf8(text) {
            Ok(_) => strings::kind_of(text),
            Err(_) => Kind::Str,
        };
        let node = self.text(kind, text)?;
        self.place(node);
        Ok(())
    }

    /// Bytes that are no text.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let node = self.text(Kind::Bytes, bytes)?;
        self.place(node);
        Ok(())
    }

    /// Starts an array.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn begin_array(&mut self) -> Result<()> {
        self.begin(false)
    }

    /// Starts an object, of which names and values take turns.
    ///
    /// # Errors
    /// As [`null`](Self::null).
    #[inline]
    pub fn begin_object(&mut self) -> Result<()> {
        self.begin(true)
    }

    /// The name of the value that comes next.
    ///
    /// # Errors
    /// `Usage` outside an object, or where a value is missing.
    pub fn key(&mut self, name: &str) -> Result<()> {
        self.name(name.as_bytes())
    }

    /// Takes the name that is likely to come next, as in the object before, if it `is` that one.
    ///
    /// # Errors
    /// As [`key`](Self::key).
    #[inline]
    pub fn key_if(&mut self, is: impl FnOnce(Step) -> bool) -> Result<bool> {
        self.expect_name()?;
        let Some(open) = self.open.last_mut() else {
            return Ok(false);
        };
        let sequences = &mut self.emitter.sequences;
        match sequences.likely(open.step, open.outer) {
            Some((step, _)) if is(Step(step)) => {
                open.take(step, sequences);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// As [`key`](Self::key), and what it can be written with again.
    ///
    /// # Errors
    /// As [`key`](Self::key).
    #[inline]
    pub fn intern(&mut self, name: &str) -> Result<(Name, Step)> {
        self.name(name.as_bytes())?;
        let step = self.open.last().map_or(START, |open| open.step);
        Ok((Name(self.emitter.sequences.name_at(step)), Step(step)))
    }

    /// As [`key`](Self::key), with a name that this writer gave.
    ///
    /// # Errors
    /// As [`key`](Self::key).
    #[inline]
    pub fn key_again(&mut self, name: Name) -> Result<Step> {
        self.expect_name()?;
        if name.0 as usize >= self.emitter.names.met() {
            return Err(misuse("a name of another writer"));
        }
        let Some(open) = self.open.last_mut() else {
            return Ok(Step(START));
        };
        let sequences = &mut self.emitter.sequences;
        let step = sequences.step(open.step, name.0)?;
        open.take(step, sequences);
        Ok(Step(step))
    }

    /// As [`key`](Self::key), of text as [`wtf8`](Self::wtf8) has it.
    ///
    /// # Errors
    /// As both.
    pub fn key_wtf8(&mut self, name: &[u8]) -> Result<()> {
        self.check_wtf8(name)?;
        self.name(name)
    }

    /// Ends the innermost array or object.
    ///
    /// # Errors
    /// `Usage` if there is none, or a value is missing; `Malformed` for a name that is there
    /// twice, where that is refused.
    #[inline]
    pub fn end(&mut self) -> Result<()> {
        match self.open.last() {
            Some(open) if open.is_object => self.check_complete(*open)?,
            Some(_) => {}
            None => return Err(misuse("there is no array or object to end")),
        }
        self.close()
    }

    /// Ends the document.
    ///
    /// # Errors
    /// `Usage` if the value is not complete.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let tag = match self.root {
            Some(root) if self.open.is_empty() => {
                self.settle_names();
                self.emitter.root(&self.tape, root)?
            }
            _ if self.long.n > 0 && self.open.is_empty() => super::layout::tag::ARRAY,
            _ => return Err(misuse("the value is not complete")),
        };
        Ok(self.sections(tag))
    }

    /// Takes the bytes out that are final: of a long array at the root, its full segments.
    ///
    /// [`finish`](Self::finish) then gives what comes behind them. So the memory of an array of any
    /// length is that of one segment, of the names and of the shapes.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{Options, Writer};
    ///
    /// let (mut writer, mut document) = (Writer::new(Options::default())?, Vec::new());
    /// writer.begin_array()?;
    /// for line in ["{\"id\": 1}", "{\"id\": 2}"] {
    ///     writer.json(line.as_bytes())?;
    ///     document.extend(writer.drain());
    /// }
    /// writer.end()?;
    /// document.extend(writer.finish()?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    #[must_use]
    pub fn drain(&mut self) -> Vec<u8> {
        let out = std::mem::take(&mut self.emitter.out);
        self.drained.size = self.drained.size.saturating_add(out.len());
        self.drained.sum.update(&out);
        self.emitter.drained = self.drained.size;
        out
    }

    /// A value as JSON text, of which a copy is kept until it is written.
    ///
    /// # Errors
    /// As [`null`](Self::null) and [`from_json`](super::from_json). What came of a text that is
    /// wrong is part of the document: begin a new one.
    pub fn json(&mut self, text: &[u8]) -> Result<()> {
        super::json_in::push_json(text, self)
    }

    /// Bytes that are taken while writing, about.
    #[must_use]
    pub fn memory(&self) -> usize {
        let values = self.values.capacity().saturating_mul(size_of::<Node>());
        [self.tape.memory(), values, self.emitter.memory()]
            .iter()
            .sum()
    }

    fn sections(mut self, root_tag: u8) -> Vec<u8> {
        let emitter = &mut self.emitter;
        let mut out = std::mem::take(&mut emitter.out);
        let keys = out.len();
        emitter.names.write(&mut out);
        let shapes = out.len();
        emitter.sequences.write(&emitter.names, &mut out);
        let pool = out.len();
        let pooled = emitter.write_pool(&self.tape, &mut out);
        let trailer = out.len();
        let mut flags = 0;
        for (is, bit) in [
            (pooled > 0, flag::POOL),
            (self.options.aligned, flag::ALIGNED),
            (emitter.sequences.keeps_duplicates, flag::KEEPS_DUPLICATES),
            (self.has_surrogates, flag::WTF8),
            (self.options.canonical, flag::CANONICAL),
        ] {
            flags |= if is { bit } else { 0 };
        }
        if pooled > 0 {
            push_rv(&mut out, trailer.saturating_sub(pool) as u64);
            push_rv(&mut out, pooled as u64);
        }
        push_rv(&mut out, pool.saturating_sub(shapes) as u64);
        push_rv(&mut out, emitter.sequences.shapes() as u64);
        push_rv(&mut out, shapes.saturating_sub(keys) as u64);
        push_rv(&mut out, emitter.names.len() as u64);
        out.extend([root_tag, flags, VERSION]);
        let checksum = self.options.checksum;
        let out = seal_behind(&self.drained, out, trailer, flags, checksum);
        if self.memory().saturating_add(out.capacity()) > spare::MOST {
            return out;
        }
        self.emitter.drained = 0;
        // What is given away has the size it needs; the room where it was made stays.
        let exact = out.as_slice().to_vec();
        self.emitter.out = out;
        Spare {
            emitter: self.emitter,
            tape: self.tape.over(&[]),
            values: self.values,
            open: self.open,
        }
        .keep();
        exact
    }

    // --- values into their places ---

    #[inline]
    fn push(&mut self, node: Node) -> Result<()> {
        self.expect_value()?;
        self.place(node);
        Ok(())
    }

    /// Takes a value where one belongs.
    #[inline]
    pub(super) fn place(&mut self, node: Node) {
        if self.open.is_empty() && !self.is_many {
            self.root = Some(node);
        } else {
            self.values.push(node);
        }
    }

    /// Whether a value may come now; cuts a long array before it does.
    #[inline]
    pub(super) fn expect_value(&mut self) -> Result<()> {
        let Some(open) = self.open.last() else {
            if self.root.is_some() || self.long.n > 0 {
                return Err(misuse("the document has its value already"));
            }
            return Ok(());
        };
        if !open.is_object {
            return self.expect_element();
        }
        if self.values.len().wrapping_sub(open.values).wrapping_add(1) != open.names {
            return Err(misuse("a value without a name in an object"));
        }
        Ok(())
    }

    /// Comes before each element of an array: cuts one at the root that is long.
    #[inline]
    pub(super) fn expect_element(&mut self) -> Result<()> {
        let long = self.open.len() == 1 && self.values.len() >= SEGMENT;
        if long && !self.is_many && !self.options.pool {
            return self.cut();
        }
        Ok(())
    }

    /// Writes what is full of a long array at the root, unless it is numbers only so far.
    fn cut(&mut self) -> Result<()> {
        let unseen = self.values.get(self.long.seen..).unwrap_or_default();
        self.long.mask |= node::kinds(unseen);
        self.long.seen = self.values.len();
        if is_packed(self.long.mask) {
            return Ok(());
        }
        self.settle_names();
        let all = std::mem::take(&mut self.values);
        let whole = all.len().saturating_sub(all.len() % SEGMENT);
        let (full, rest) = all.split_at_checked(whole).unwrap_or((&all, &[]));
        for segment in full.chunks(SEGMENT) {
            self.emitter.segment(&self.tape, segment)?;
        }
        self.long.began = true;
        self.long.n = self.long.n.saturating_add(full.len());
        self.long.seen = 0;
        self.values.extend_from_slice(rest);
        // A rest is there only where many numbers came before anything else.
        if rest.is_empty() {
            self.tape.clear();
            self.values = all;
            self.values.clear();
        }
        Ok(())
    }

    fn end_long(&mut self, open: Open) -> Result<()> {
        self.settle_names();
        let rest: Vec<Node> = self.values.drain(open.values..).collect();
        self.long.n = self.long.n.saturating_add(rest.len());
        self.emitter.segment(&self.tape, &rest)?;
        self.emitter.segmented(0, self.long.n);
        Ok(())
    }

    #[inline]
    fn begin(&mut self, is_object: bool) -> Result<()> {
        self.expect_value()?;
        self.open(is_object)
    }

    /// Starts a container where a value belongs.
    #[inline]
    pub(super) fn open(&mut self, is_object: bool) -> Result<()> {
        if self.open.len() >= MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} levels");
            return Err(Error::new(ErrorKind::Limit, text).with_format("blit"));
        }
        let outer = self.open.last().map_or(START, |open| open.step);
        self.open.push(Open {
            is_object,
            values: self.values.len(),
            names: 0,
            step: if is_object { START } else { outer },
            outer,
        });
        Ok(())
    }

    /// Ends the innermost container, which is complete.
    ///
    /// # Errors
    /// `Malformed` for a name that is there twice, where that is refused.
    #[inline]
    pub(super) fn close(&mut self) -> Result<()> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let node = if open.is_object {
            self.close_object(open)?
        } else if self.open.is_empty() && self.long.began {
            return self.end_long(open);
        } else {
            let values = self.values.get(open.values..).unwrap_or_default();
            let count = u32::try_from(values.len()).map_err(|_| too_many())?;
            let node = self.tape.close(Kind::Array, count, values);
            self.values.truncate(open.values);
            node
        };
        self.place(node);
        Ok(())
    }

    /// Whether the innermost container is an object; None if there is none.
    #[inline]
    pub(super) fn within(&self) -> Option<bool> {
        self.open.last().map(|open| open.is_object)
    }

    #[inline]
    fn expect_name(&self) -> Result<()> {
        match self.open.last() {
            Some(open) if open.is_object => self.check_complete(*open),
            _ => Err(misuse("a name outside an object")),
        }
    }

    #[inline]
    fn name(&mut self, name: &[u8]) -> Result<()> {
        self.expect_name()?;
        self.named(name, None)
    }

    /// Takes a name where one belongs; `tag` is its tag where it is known.
    #[inline]
    pub(super) fn named(&mut self, name: &[u8], tag: Option<u8>) -> Result<()> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        let Emitter {
            names, sequences, ..
        } = &mut self.emitter;
        let likely = sequences.likely(open.step, open.outer);
        let step = match likely {
            Some((step, number)) if names.text(number) == name => step,
            _ => sequences.step(open.step, names.number(name, tag)?)?,
        };
        open.take(step, sequences);
        Ok(())
    }

    /// Takes the name that is likely to come next, if the text behind a quote is that one; gives
    /// its length.
    #[inline]
    pub(super) fn likely_name(&mut self, rest: &[u8]) -> Option<usize> {
        let open = self.open.last_mut()?;
        let sequences = &mut self.emitter.sequences;
        let (step, number) = sequences.likely(open.step, open.outer)?;
        let length = self.emitter.names.is_next(number, rest)?;
        open.take(step, sequences);
        Some(length)
    }

    #[inline]
    fn check_complete(&self, open: Open) -> Result<()> {
        if self.values.len().wrapping_sub(open.values) != open.names {
            return Err(misuse("a name without a value"));
        }
        Ok(())
    }

    #[inline]
    fn close_object(&mut self, open: Open) -> Result<Node> {
        let Emitter {
            names, sequences, ..
        } = &mut self.emitter;
        let (sequence, places) = sequences.close(open.step, names, self.options.duplicates)?;
        let values = self.values.get(open.values..).unwrap_or_default();
        let node = if let Some(places) = places {
            let kept = places
                .iter()
                .filter_map(|&place| values.get(place as usize));
            let kept: Vec<Node> = kept.copied().collect();
            self.dropped = true;
            self.tape.close(Kind::Object, sequence, &kept)
        } else {
            self.tape.close(Kind::Object, sequence, values)
        };
        self.values.truncate(open.values);
        Ok(node)
    }

    /// Gives the names of what is on the tape their ids anew, if some of it was dropped.
    fn settle_names(&mut self) {
        if std::mem::take(&mut self.dropped) {
            self.emitter.names.forget(self.first_name);
            let roots: Vec<Node> = self.values.iter().copied().chain(self.root).collect();
            for root in roots {
                self.assign(root);
            }
        }
        self.first_name = self.emitter.names.len();
    }

    /// Ids in the order in which objects close.
    fn assign(&mut self, node: Node) {
        let n = match node.kind {
            Kind::Array => node.count as usize,
            Kind::Object => self.emitter.sequences.names(node.count).len(),
            _ => return,
        };
        for i in 0..n {
            if let Some(&child) = self.tape.children(node, n).get(i) {
                self.assign(child);
            }
        }
        if node.kind == Kind::Object {
            self.emitter
                .sequences
                .assign(node.count, &mut self.emitter.names);
        }
    }

    // --- text ---

    /// Text where a value belongs; what may cut the tape comes before there is text on it.
    #[inline]
    fn text(&mut self, kind: Kind, text: &[u8]) -> Result<Node> {
        self.expect_value()?;
        if u32::try_from(text.len()).is_err() {
            return Err(too_long());
        }
        Ok(self.tape.text(kind, text))
    }

    /// Notes that a string has halves of surrogate pairs.
    ///
    /// # Errors
    /// `Malformed` where they are not kept.
    pub(super) fn surrogate(&mut self) -> Result<()> {
        if self.options.surrogates == Surrogates::Error {
            let text = "half of a surrogate pair, which is no text; surrogates=\"keep\" keeps it";
            return Err(Error::new(ErrorKind::Malformed, text).with_format("blit"));
        }
        self.has_surrogates = true;
        Ok(())
    }

    fn check_wtf8(&mut self, text: &[u8]) -> Result<()> {
        if std::str::from_utf8(text).is_ok() {
            return Ok(());
        }
        if !surrogates::is_wtf8(text) {
            return Err(
                Error::new(ErrorKind::Malformed, "text that is not UTF-8").with_format("blit")
            );
        }
        self.surrogate()
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }
}

#[cold]
fn misuse(text: &str) -> Error {
    Error::new(ErrorKind::Usage, text).with_format("blit")
}

fn too_many() -> Error {
    Error::new(ErrorKind::Limit, "more than 2^32 - 1 elements in a list").with_format("blit")
}

fn too_long() -> Error {
    Error::new(ErrorKind::Limit, "a string of 4 GiB or more").with_format("blit")
}

/// Appends what ends every trailer, and the checksum in front of the trailer.
///
/// `drained` is what lies before `out` in the document.
fn seal_behind(
    drained: &Drained,
    mut out: Vec<u8>,
    trailer: usize,
    mut flags: u8,
    checksum: Checksum,
) -> Vec<u8> {
    const FROM: usize = 1024;
    let length = out.len().saturating_sub(trailer).saturating_add(3);
    let size = drained.size.saturating_add(trailer).saturating_add(length);
    let checked = match checksum {
        Checksum::Auto => size >= FROM,
        Checksum::On => true,
        Checksum::Off => false,
    };
    let length = if checked {
        length.saturating_add(8)
    } else {
        length
    };
    if checked {
        flags |= flag::CHECKSUM;
        // The flags lie before the version, which is last so far.
        if let Some(place) = out.len().checked_sub(2).and_then(|at| out.get_mut(at)) {
            *place = flags;
        }
    }
    out.push(u8::try_from(length).unwrap_or(u8::MAX));
    out.extend_from_slice(END_MAGIC);
    if checked {
        let sum = if drained.size == 0 {
            xxhash_rust::xxh3::xxh3_64(&out)
        } else {
            let mut sum = drained.sum.clone();
            sum.update(&out);
            sum.digest()
        };
        out.splice(trailer..trailer, sum.to_le_bytes());
    }
    out
}
