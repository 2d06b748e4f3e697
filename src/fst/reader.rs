//! Opening a file and reading what is wanted of it.

use std::ops::Range;

use super::fault::{malformed, FORMAT};
use super::gather::Gather;
use super::kind::{ColumnKind, Form, TimeScale};
use super::layout::{self, text, Layout, Place};
use super::numeric::{self, Numeric};
use super::options::ReadOptions;
use super::source::{u32_at, u64_at, Source};
use super::strings;
use super::table::Table;
use super::texts::TextEncoding;
use crate::compress::ReadAt;
use crate::{Error, ErrorKind, Result};

/// What a column is, without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// What it is in R.
    pub kind: ColumnKind,
    /// The unit of times.
    pub scale: TimeScale,
    /// The time zone of a `POSIXct`; None where R's attribute `tzone` is absent.
    pub zone: Option<String>,
    /// Bytes that it takes in the file, its index included.
    pub stored_bytes: u64,
}

/// An open file.
pub struct Reader<S> {
    source: Source<S>,
    layout: Layout,
    schema: Vec<ColumnInfo>,
    options: ReadOptions,
}

impl<S> std::fmt::Debug for Reader<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("schema", &self.schema)
            .field("rows", &self.layout.rows)
            .field("keys", &self.layout.keys)
            .finish_non_exhaustive()
    }
}

/// Reads the headers of a file: a `File`, a slice, or anything that can be read at an offset.
///
/// # Errors
/// `Truncated` where the file ends early; `ChecksumMismatch`, `Malformed` or `Unsupported` for
/// headers that are not those of a known version, files of fst before 0.8 among them; `Io`. Each
/// names the format `fst` and the byte.
///
/// # Example
/// ```no_run
/// use tare::fst;
///
/// let reader = fst::open(std::fs::File::open("flights.fst")?)?;
/// let some = reader.read(Some(&["carrier", "distance"]), Some(0..1000))?;
/// assert_eq!(1000, some.rows);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open<S: ReadAt + Sync>(source: S) -> Result<Reader<S>> {
    open_with(source, &ReadOptions::default())
}

/// The same with limits, threads and a token of its own.
///
/// # Errors
/// As [`open`]; `Limit` for more columns than `memory_budget` holds.
pub fn open_with<S: ReadAt + Sync>(source: S, options: &ReadOptions) -> Result<Reader<S>> {
    let source = Source::new(source)?;
    let layout = layout::read(&source, options.memory_budget)?;
    let mut schema = Vec::new();
    for place in &layout.columns {
        let mut zone = None;
        if place.kind.has_zone() {
            let (bytes, _) = numeric::annotation(&source, place.at)?;
            zone = bytes.map(|bytes| text(&bytes, TextEncoding::Native));
        }
        schema.push(ColumnInfo {
            name: place.name.clone(),
            kind: place.kind,
            scale: place.scale,
            zone,
            stored_bytes: place.end.saturating_sub(place.at),
        });
    }
    // A file that is cut within its last column is known as soon as it is opened.
    if let Some(last) = layout.columns.last() {
        Parts::open(&source, last, layout.rows)?;
    }
    Ok(Reader {
        source,
        layout,
        schema,
        options: options.clone(),
    })
}

/// Where the parts of a column lie.
pub(super) struct Parts {
    pub(super) numeric: Option<Numeric>,
    /// The strings: of the column, or of a factor's levels.
    pub(super) texts: Option<strings::Place>,
    /// How many levels a factor has.
    pub(super) levels: u64,
}

impl Parts {
    /// Reads the heads of a column; its parts must fill the place between it and the next.
    pub(super) fn open<S: ReadAt>(source: &Source<S>, place: &Place, rows: u64) -> Result<Self> {
        let mut parts = Self {
            numeric: None,
            texts: None,
            levels: 0,
        };
        let mut at = place.at;
        match place.kind.form() {
            Form::Text if rows > 0 => {
                let texts = strings::Place::open(source, at, rows)?;
                at = texts.end;
                parts.texts = Some(texts);
            }
            Form::Text => {}
            Form::Factor => at = parts.open_factor(source, place, rows)?,
            form => {
                let numbers = Numeric::open(source, form, at, rows)?;
                at = numbers.end;
                parts.numeric = Some(numbers);
            }
        }
        if at != place.end {
            let text = format!("a column that ends at byte {at}, expected {}", place.end);
            return Err(malformed(text, place.at));
        }
        Ok(parts)
    }

    fn open_factor<S: ReadAt>(
        &mut self,
        source: &Source<S>,
        place: &Place,
        rows: u64,
    ) -> Result<u64> {
        let mut head = [0; 16];
        source.fill("a factor", place.at, &mut head)?;
        let (version, codes) = (u32_at(&head, 0), u64_at(&head, 8));
        if version != layout::VERSION {
            let text = format!(
                "version {version} of a factor, expected {}",
                layout::VERSION
            );
            return Err(Error::new(ErrorKind::Unsupported, text)
                .with_format(FORMAT)
                .with_offset(place.at));
        }
        self.levels = u64::from(u32_at(&head, 4));
        let mut at = place.at.saturating_add(16);
        if self.levels > 0 {
            let texts = strings::Place::open(source, at, self.levels)?;
            at = texts.end;
            self.texts = Some(texts);
        }
        if codes != at {
            let text = format!("codes of a factor at byte {codes}, expected {at}");
            return Err(malformed(text, place.at.saturating_add(8)));
        }
        // Without levels every row is NA, and whether codes are there too differs.
        if rows == 0 || (self.levels == 0 && at == place.end) {
            return Ok(at);
        }
        let numbers = Numeric::open(source, Form::Factor, at, rows)?;
        at = numbers.end;
        self.numeric = Some(numbers);
        Ok(at)
    }
}

impl<S: ReadAt + Sync> Reader<S> {
    /// What the columns are, in order.
    pub fn schema(&self) -> &[ColumnInfo] {
        &self.schema
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.layout.rows
    }

    /// The columns by which the rows are sorted, by position, the first sorting first.
    pub fn keys(&self) -> &[usize] {
        &self.layout.keys
    }

    /// How many bytes the file has.
    pub fn file_bytes(&self) -> u64 {
        self.source.size
    }

    /// Reads columns by name (None for all) and a range of rows (None for all).
    ///
    /// Columns come in the order asked for; a name that stands more than once in the file means
    /// the first. Only the blocks that hold the rows are read, and all levels of factors. The
    /// keys of the result are those of the file as far as their columns were asked for.
    ///
    /// # Errors
    /// `NotFound` for a name that is not there; `Usage` for rows behind the last; `Limit` for a
    /// result beyond `memory_budget` or `max_ratio`; `Truncated`, `Malformed` and `Io` as the
    /// file has it.
    pub fn read(&self, columns: Option<&[&str]>, rows: Option<Range<u64>>) -> Result<Table> {
        let Some(names) = columns else {
            return self.read_at(None, rows);
        };
        let mut positions = Vec::new();
        for name in names {
            let found = self.schema.iter().position(|column| column.name == *name);
            let Some(found) = found else {
                return Err(self.unknown(name));
            };
            positions.push(found);
        }
        self.read_at(Some(&positions), rows)
    }

    /// The same by the positions of the columns, from 0 on.
    ///
    /// # Errors
    /// As [`read`](Self::read); `Usage` for a position behind the last column.
    pub fn read_at(&self, columns: Option<&[usize]>, rows: Option<Range<u64>>) -> Result<Table> {
        let all: Vec<usize>;
        let columns = if let Some(columns) = columns {
            columns
        } else {
            all = (0..self.schema.len()).collect();
            &all
        };
        let rows = rows.unwrap_or(0..self.layout.rows);
        if rows.start > rows.end || rows.end > self.layout.rows {
            let text = format!(
                "rows {} to {} of a table with {} rows",
                rows.start, rows.end, self.layout.rows
            );
            return Err(Error::new(ErrorKind::Usage, text).with_format(FORMAT));
        }
        let mut gather = Gather::new(&self.source, &self.options, self.layout.rows, rows.clone());
        for position in columns {
            let found = self
                .layout
                .columns
                .get(*position)
                .zip(self.schema.get(*position));
            let Some((place, info)) = found else {
                let text = format!("column {position} of {}", self.schema.len());
                return Err(Error::new(ErrorKind::Usage, text).with_format(FORMAT));
            };
            gather.add(place, info)?;
        }
        let position = |key: &usize| columns.iter().position(|column| column == key);
        Ok(Table {
            columns: gather.finish()?,
            rows: rows.end.saturating_sub(rows.start),
            keys: self.layout.keys.iter().map_while(position).collect(),
        })
    }

    fn unknown(&self, name: &str) -> Error {
        let cut = |name: &str| name.chars().take(80).collect::<String>();
        let names = self.schema.iter().take(20).map(|column| cut(&column.name));
        let names = names.collect::<Vec<_>>().join(", ");
        let text = format!("no column {:?}; there are {names}", cut(name));
        Error::new(ErrorKind::NotFound, text).with_format(FORMAT)
    }
}
