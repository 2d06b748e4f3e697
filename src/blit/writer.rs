//! Documents from events: what every source of values is turned into.

mod apart;
mod chunk;
mod long;
mod names;
mod options;
mod seal;
mod spare;
mod values;

pub(super) use apart::{Apart, Known, Made};
pub(super) use chunk::Mark;
pub use names::{Name, Step};
pub use options::{Checksum, Numbers, Options, Surrogates};
pub use values::Number;

use super::emit::Emitter;
use super::layout::{MAGIC, MAX_DEPTH};
use super::node::{Kind, Node, Tape};
use super::shapes::{Sequences, START};
use crate::{Error, ErrorKind, Result};
use long::Long;
use seal::Drained;
pub use spare::Room;
use spare::Spare;

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
#[allow(
    clippy::struct_excessive_bools,
    reason = "what has come so far, each for itself"
)]
pub struct Writer<'s> {
    options: Options,
    /// Many documents one after another, instead of one.
    is_many: bool,
    pub(super) tape: Tape<'s>,
    /// Apart: a writer is moved several times for each document.
    emitter: Box<Emitter>,
    /// Values whose container is open, the innermost last.
    values: Vec<Node>,
    open: Vec<Open>,
    /// The root, once it is complete.
    root: Option<Node>,
    long: Long,
    has_surrogates: bool,
    dropped: Dropped,
    /// Names that had ids when what is on the tape began.
    first_name: usize,
    /// What was taken out.
    drained: Drained,
}

/// Whether objects were dropped with a duplicate name.
#[derive(Default)]
struct Dropped {
    /// Since ids were settled, so that names have ids they should not have.
    now: bool,
    /// Ever, so that names of a sequence that was met have no ids.
    lost: bool,
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

impl Writer<'static> {
    /// Starts a document in the room that another was made in, which
    /// [`finish_for_reuse`](Self::finish_for_reuse) gave; whether the [`Name`]s and [`Step`]s of that
    /// one's writer are this one's too, which need not be looked for again. The bytes are the same.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Example
    /// ```
    /// use tare::blit::{Options, Writer};
    ///
    /// let mut writer = Writer::new(Options::default())?;
    /// writer.begin_object()?;
    /// let (name, _) = writer.intern("station")?;
    /// writer.str("JFK")?;
    /// writer.end()?;
    /// let (first, room) = writer.finish_for_reuse(<[u8]>::to_vec)?;
    /// let (mut writer, knows) = Writer::reusing(Options::default(), room.unwrap())?;
    /// assert!(knows);
    /// writer.begin_object()?;
    /// writer.key_again(name)?;
    /// writer.str("JFK")?;
    /// writer.end()?;
    /// assert_eq!(first, writer.finish()?);
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn reusing(options: Options, room: Room) -> Result<(Self, bool)> {
        let options = options.resolved()?;
        let mut spare = room.0;
        let knows = spare.emitter.with_names(&options);
        if !knows {
            spare.emitter.again(&options);
        }
        Ok((Self::filling(spare, options, &[]), knows))
    }
}

impl<'s> Writer<'s> {
    /// Starts a document.
    ///
    /// # Errors
    /// `Usage` for options that exclude each other.
    pub fn new(options: Options) -> Result<Self> {
        let options = options.resolved()?;
        let mut spare = Spare::take();
        spare.emitter.again(&options);
        Ok(Self::filling(spare, options, &[]))
    }

    /// Starts a document whose text may lie in `source`.
    ///
    /// Names that the last document of this thread had are not looked for again.
    pub(super) fn over(options: Options, source: &'s [u8]) -> Result<Self> {
        let options = options.resolved()?;
        let mut spare = Spare::take();
        if !spare.emitter.with_names(&options) {
            spare.emitter.again(&options);
        }
        Ok(Self::filling(spare, options, source))
    }

    /// Starts a document in what is empty.
    fn filling(spare: Spare, options: Options, source: &'s [u8]) -> Self {
        let Spare {
            mut emitter,
            tape,
            values,
            open,
        } = spare;
        emitter.out.extend_from_slice(MAGIC);
        Self {
            options,
            is_many: false,
            tape: tape.over(source),
            emitter,
            values,
            open,
            root: None,
            long: Long::default(),
            has_surrogates: false,
            dropped: Dropped::default(),
            first_name: 0,
            drained: Drained::default(),
        }
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

    /// A value as JSON text, of which a copy is kept until it is written.
    ///
    /// # Errors
    /// As [`null`](Self::null) and [`from_json`](super::from_json). What came of a text that is
    /// wrong is part of the document: begin a new one.
    pub fn json(&mut self, text: &[u8]) -> Result<()> {
        super::json_in::push_json(text, self)
    }

    /// Refuses a call that goes `depth` calls deep, for which the stack of this thread may have no
    /// room: for those who call themselves without arrays or objects between.
    ///
    /// # Errors
    /// `Limit`.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{Options, Writer};
    ///
    /// Writer::new(Options::default())?.check_stack(15)?;
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn check_stack(&self, depth: usize) -> Result<()> {
        super::stack::check(depth)
    }

    /// Bytes that are taken while writing, about.
    #[must_use]
    pub fn memory(&self) -> usize {
        let values = self.values.capacity().saturating_mul(size_of::<Node>());
        [self.tape.memory(), values, self.emitter.memory()]
            .iter()
            .sum()
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

    /// Starts a container where a value belongs.
    #[inline]
    pub(super) fn open(&mut self, is_object: bool) -> Result<()> {
        self.check_depth()?;
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

    /// Whether there may be one level more.
    #[inline]
    fn check_depth(&self) -> Result<()> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
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
    fn check_complete(&self, open: Open) -> Result<()> {
        if self.values.len().wrapping_sub(open.values) != open.names {
            return Err(misuse("a name without a value"));
        }
        Ok(())
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }
}

#[cold]
fn misuse(text: &str) -> Error {
    Error::new(ErrorKind::Usage, text).with_format("blit")
}

#[cold]
fn too_deep() -> Error {
    let text = format!("more than {MAX_DEPTH} levels");
    Error::new(ErrorKind::Limit, text).with_format("blit")
}

fn too_many() -> Error {
    Error::new(ErrorKind::Limit, "more than 2^32 - 1 elements in a list").with_format("blit")
}

fn too_long() -> Error {
    Error::new(ErrorKind::Limit, "a string of 4 GiB or more").with_format("blit")
}
