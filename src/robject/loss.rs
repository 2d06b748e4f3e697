//! What a conversion did not keep, said value by value: nothing is lost in silence.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// What kind of thing a conversion changed or left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossKind {
    /// An attribute has no place in the result.
    AttributeDropped,
    /// A class has none.
    ClassDropped,
    /// A NaN lost the bits that told it from others.
    NanPayload,
    /// A missing value became NaN.
    NaToNan,
    /// A string was recoded to UTF-8.
    EncodingChanged,
    /// A number has fewer digits.
    Precision,
    /// A length of time is counted in another unit.
    UnitsChanged,
    /// The names of rows are gone.
    RowNamesDropped,
    /// Several values share a name, or have none.
    DuplicateNames,
    /// What was told apart, or was one and the same, no longer is.
    IdentityLost,
    /// A deferred vector was made; information, not a loss.
    AltrepExpanded,
    /// A promise is not evaluated.
    PromiseOpaque,
    /// Code, an environment or an address has no value outside R.
    CodeOpaque,
    /// A string that is no text became bytes.
    BytesString,
    /// The values are the same in another type; information, not a loss.
    TypeChanged,
    /// A value that the result cannot hold became missing.
    ValueDropped,
    /// An address that its package makes anew is gone; information, not a loss.
    AddressDropped,
}

impl LossKind {
    /// All of them, in the order of the documentation.
    pub const ALL: [LossKind; 17] = [
        Self::AttributeDropped,
        Self::ClassDropped,
        Self::NanPayload,
        Self::NaToNan,
        Self::EncodingChanged,
        Self::Precision,
        Self::UnitsChanged,
        Self::RowNamesDropped,
        Self::DuplicateNames,
        Self::IdentityLost,
        Self::AltrepExpanded,
        Self::PromiseOpaque,
        Self::CodeOpaque,
        Self::BytesString,
        Self::TypeChanged,
        Self::ValueDropped,
        Self::AddressDropped,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AttributeDropped => "attribute_dropped",
            Self::ClassDropped => "class_dropped",
            Self::NanPayload => "nan_payload",
            Self::NaToNan => "na_to_nan",
            Self::EncodingChanged => "encoding_changed",
            Self::Precision => "precision",
            Self::UnitsChanged => "units_changed",
            Self::RowNamesDropped => "row_names_dropped",
            Self::DuplicateNames => "duplicate_names",
            Self::IdentityLost => "identity_lost",
            Self::AltrepExpanded => "altrep_expanded",
            Self::PromiseOpaque => "promise_opaque",
            Self::CodeOpaque => "code_opaque",
            Self::BytesString => "bytes_string",
            Self::TypeChanged => "type_changed",
            Self::ValueDropped => "value_dropped",
            Self::AddressDropped => "address_dropped",
        }
    }

    /// Whether every value is still there, so that a strict conversion goes on.
    #[must_use]
    pub fn is_information(self) -> bool {
        matches!(
            self,
            Self::AltrepExpanded | Self::TypeChanged | Self::AddressDropped
        )
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One entry of the report: where, what kind, what R has, what was kept of it, how many values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where, as R would write it: `$df$time_hour@tzone`; empty for the object itself.
    pub path: String,
    /// What kind of thing.
    pub kind: LossKind,
    /// What R has.
    pub r: String,
    /// What the result has; empty for nothing.
    pub kept: String,
    /// How many values it concerns.
    pub count: u64,
}

impl fmt::Display for Loss {
    /// `$x@units: units_changed: mins, kept s (3 values)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "."
        } else {
            &self.path
        };
        write!(f, "{path}: {}: {}", self.kind, self.r)?;
        if !self.kept.is_empty() {
            write!(f, ", kept {}", self.kept)?;
        }
        match self.count {
            1 => Ok(()),
            count => write!(f, " ({count} values)"),
        }
    }
}

/// The report of a conversion, and the path it is at.
///
/// A strict one ends the conversion at the first loss.
///
/// # Example
/// ```
/// use tare::robject::{LossKind, Losses};
///
/// let mut losses = Losses::new(false);
/// losses.enter_name("time");
/// losses.add_at("@tzone", LossKind::AttributeDropped, "UTC", "", 1)?;
/// losses.leave();
/// assert_eq!("$time@tzone: attribute_dropped: UTC", losses.list()[0].to_string());
/// # Ok::<(), tare::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Losses {
    strict: bool,
    path: String,
    /// Where each step of the path begins.
    steps: Vec<usize>,
    list: Vec<Loss>,
    /// How many there are beyond [`Losses::MOST`].
    more: u64,
}

impl Losses {
    /// The entries that are kept; more are counted alone, so that a file cannot fill memory.
    pub const MOST: usize = 10_000;

    /// No losses yet.
    #[must_use]
    pub fn new(strict: bool) -> Self {
        Self {
            strict,
            ..Self::default()
        }
    }

    /// Goes into the value of a name: `$name`, in backticks where R needs them.
    pub fn enter_name(&mut self, name: &str) {
        self.steps.push(self.path.len());
        self.path.push('$');
        let plain = name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '.');
        let first = name.chars().next();
        if plain && first.is_some_and(|c| c.is_alphabetic() || c == '.') {
            self.path.push_str(name);
        } else {
            self.path.push('`');
            self.path
                .extend(name.chars().take(80).flat_map(char::escape_debug));
            self.path.push('`');
        }
    }

    /// Goes into a value by position from 0 on: `[[1]]`, as R counts.
    pub fn enter_index(&mut self, index: usize) {
        self.steps.push(self.path.len());
        self.path.push_str("[[");
        self.path.push_str(&index.saturating_add(1).to_string());
        self.path.push_str("]]");
    }

    /// Goes into an attribute or slot: `@name`.
    pub fn enter_attribute(&mut self, name: &str) {
        self.steps.push(self.path.len());
        self.path.push('@');
        self.path
            .extend(name.chars().take(80).flat_map(char::escape_debug));
    }

    /// Goes back one step.
    pub fn leave(&mut self) {
        let length = self.steps.pop().unwrap_or_default();
        self.path.truncate(length);
    }

    /// Where the conversion is.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds a loss of the value that the conversion is at.
    ///
    /// # Errors
    /// `Unsupported` in a strict conversion, for any kind but those that are information alone.
    pub fn add(&mut self, kind: LossKind, r: &str, kept: &str, count: u64) -> Result<()> {
        self.add_at("", kind, r, kept, count)
    }

    /// Adds a loss of a part of it: `behind` is put behind the path.
    ///
    /// # Errors
    /// As [`Losses::add`].
    pub fn add_at(
        &mut self,
        behind: &str,
        kind: LossKind,
        r: &str,
        kept: &str,
        count: u64,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if self.list.len() >= Self::MOST && !self.strict {
            self.more = self.more.saturating_add(1);
            return Ok(());
        }
        let loss = Loss {
            path: format!("{}{behind}", self.path),
            kind,
            r: shown(r),
            kept: shown(kept),
            count,
        };
        if self.strict && !kind.is_information() {
            let text =
                format!("this conversion would lose something, which strict refuses: {loss}");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.list.push(loss);
        Ok(())
    }

    /// Adds the address that data.table keeps in an attribute and makes anew by itself.
    ///
    /// # Errors
    /// None: it is information alone.
    pub(super) fn add_selfref(&mut self) -> Result<()> {
        let (kind, r) = (
            LossKind::AddressDropped,
            "address, which data.table makes anew",
        );
        self.add_at("@.internal.selfref", kind, r, "", 1)
    }

    /// The entries so far, in the order of the values.
    #[must_use]
    pub fn list(&self) -> &[Loss] {
        &self.list
    }

    /// How many entries are more than information.
    pub(super) fn real(&self) -> usize {
        let real = |loss: &&Loss| !loss.kind.is_information();
        self.list.iter().filter(real).count()
    }

    /// The entries.
    #[must_use]
    pub fn into_list(self) -> Vec<Loss> {
        self.list
    }

    /// How many entries there were beyond [`Losses::MOST`].
    #[must_use]
    pub fn more(&self) -> u64 {
        self.more
    }
}

/// A text of a file, cut to 80 characters and escaped.
fn shown(text: &str) -> String {
    let mut kept: String = text
        .chars()
        .take(80)
        .flat_map(|c| {
            let plain = !c.is_control();
            plain
                .then_some(c)
                .into_iter()
                .chain((!plain).then(|| c.escape_default()).into_iter().flatten())
        })
        .collect();
    if text.chars().nth(80).is_some() {
        kept.push_str("...");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_r() {
        let mut losses = Losses::new(false);
        losses.enter_name("df");
        losses.enter_name("a column");
        losses.enter_index(2);
        losses.enter_attribute("tzone");
        assert_eq!("$df$`a column`[[3]]@tzone", losses.path());
        losses.leave();
        losses.leave();
        assert_eq!("$df$`a column`", losses.path());
        losses.leave();
        losses.leave();
        assert_eq!("", losses.path());
    }

    #[test]
    fn strict_refuses_a_loss_and_lets_information_pass() {
        let mut losses = Losses::new(true);
        losses
            .add(LossKind::TypeChanged, "int", "double", 3)
            .unwrap();
        let error = losses
            .add(LossKind::Precision, "1e300", "inf", 2)
            .unwrap_err();
        assert_eq!(ErrorKind::Unsupported, error.kind());
        assert!(error
            .to_string()
            .contains("precision: 1e300, kept inf (2 values)"));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = LossKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(LossKind::ALL.len(), names.len());
    }

    #[test]
    fn what_a_file_holds_is_cut_and_escaped() {
        let mut losses = Losses::new(false);
        losses
            .add(LossKind::ClassDropped, &"x\n".repeat(60), "", 1)
            .unwrap();
        assert_eq!(3 + 40 * 3, losses.list()[0].r.len());
    }

    #[test]
    fn entries_beyond_the_most_are_counted() {
        let mut losses = Losses::new(false);
        for _ in 0..Losses::MOST + 5 {
            losses.add(LossKind::ClassDropped, "a", "", 1).unwrap();
        }
        assert_eq!((Losses::MOST, 5), (losses.list().len(), losses.more()));
    }
}
