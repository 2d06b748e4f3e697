//! Structure of JSON text without parsing it: where its bytes go, how deep it is, what is open at its end.

/// What stands in a text of one value of JSON or many, which is passed over in pieces.
///
/// Strings are found by their quotes: of a text that is not JSON it says what it can.
///
/// # Example
/// ```
/// use tare::ndjson::Structure;
///
/// let mut found = Structure::default();
/// found.pass(b"{\"a\": [1, \"");
/// found.pass(b"x\"]}");
/// let counts = found.counts();
/// assert_eq!((2, 1, 2, 3, 3), (counts.depth, counts.key_count, counts.values, counts.keys, counts.strings));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Structure {
    counts: Counts,
    /// Whether the last byte was one of a number or word, and which.
    token: Option<Token>,
    /// Within a string: whether the last byte was a backslash that escapes the next.
    escaped: bool,
    in_string: bool,
    /// Bytes of the strings whose kind what follows tells, and how many they are.
    string_bytes: u64,
    strings: u64,
    /// Whether the line so far has more than white space.
    line: bool,
}

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Bytes seen.
    pub length: u64,
    /// The deepest level of arrays and objects, and where the first bracket of it is.
    pub depth: i64,
    /// Where it opens.
    pub depth_at: u64,
    /// Levels that are open.
    pub open_levels: i64,
    /// Whether the text ends within a string.
    pub in_string: bool,
    /// Bytes of strings that are values, and of those that are keys; with quotes.
    pub strings: u64,
    /// Bytes of keys.
    pub keys: u64,
    /// Bytes of numbers.
    pub numbers: u64,
    /// Bytes of true, false and null.
    pub words: u64,
    /// Bytes of brackets, commas and colons.
    pub structure: u64,
    /// Bytes of white space.
    pub space: u64,
    /// Strings, numbers and words that are values.
    pub values: u64,
    /// Keys.
    pub key_count: u64,
    /// Lines that are not blank, up to the last line feed.
    pub lines: u64,
    /// Whether there is more behind that than white space.
    pub in_line: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Number,
    Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Space,
    Structure,
    Quote,
    Number,
    Word,
}

const CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [Class::Word; 256];
    let mut byte = 0;
    #[allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "within 256"
    )]
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation, reason = "within 256")]
        let class = match byte as u8 {
            b' ' | b'\t' | b'\r' | b'\n' => Class::Space,
            b'[' | b']' | b'{' | b'}' | b',' | b':' => Class::Structure,
            b'"' => Class::Quote,
            b'+' | b'-' | b'.' | b'0'..=b'9' | b'e' | b'E' => Class::Number,
            _ => Class::Word,
        };
        classes[byte] = class;
        byte += 1;
    }
    classes
}

impl Structure {
    /// Passes over more of the text.
    pub fn pass(&mut self, text: &[u8]) {
        self.count_lines(text);
        let mut at = 0;
        while at < text.len() {
            at = if self.in_string {
                self.string(text, at)
            } else {
                self.outside(text, at)
            };
        }
        self.counts.length = self.counts.length.wrapping_add(text.len() as u64);
    }

    /// What was counted so far, a string at the end too.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts;
        counts.in_string = self.in_string;
        counts.strings = counts.strings.wrapping_add(self.string_bytes);
        counts.values = counts.values.wrapping_add(self.strings);
        counts.in_line = self.line;
        counts
    }

    fn count_lines(&mut self, text: &[u8]) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text) {
            let line = text.get(start..end).unwrap_or_default();
            let is_line = self.line || !is_blank(line);
            self.counts.lines = self.counts.lines.wrapping_add(u64::from(is_line));
            self.line = false;
            start = end.wrapping_add(1);
        }
        self.line |= !is_blank(text.get(start..).unwrap_or_default());
    }

    /// Within a string; gives where it goes on behind it, or behind a backslash and what that escapes.
    fn string(&mut self, text: &[u8], at: usize) -> usize {
        let mut end = at;
        if std::mem::take(&mut self.escaped) {
            end = end.wrapping_add(1);
        }
        let rest = text.get(end..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => end = text.len(),
            Some(found) => {
                let is_quote = rest.get(found) == Some(&b'"');
                end = end.wrapping_add(found).wrapping_add(1);
                self.in_string = !is_quote;
                self.escaped = !is_quote;
            }
        }
        self.string_bytes = self.string_bytes.wrapping_add(end.wrapping_sub(at) as u64);
        end
    }

    /// Outside of strings; gives where the next one goes on, or the end.
    fn outside(&mut self, text: &[u8], from: usize) -> usize {
        let mut at = from;
        let counts = &mut self.counts;
        while let Some(&byte) = text.get(at) {
            let class = CLASSES.get(usize::from(byte)).copied();
            match class.unwrap_or(Class::Word) {
                Class::Space => {
                    counts.space = counts.space.wrapping_add(1);
                    self.token = None;
                }
                Class::Structure => {
                    counts.structure = counts.structure.wrapping_add(1);
                    self.token = None;
                    if self.strings > 0 {
                        if byte == b':' {
                            counts.keys = counts.keys.wrapping_add(self.string_bytes);
                            counts.key_count = counts.key_count.wrapping_add(self.strings);
                        } else {
                            counts.strings = counts.strings.wrapping_add(self.string_bytes);
                            counts.values = counts.values.wrapping_add(self.strings);
                        }
                        (self.string_bytes, self.strings) = (0, 0);
                    }
                    match byte {
                        b'[' | b'{' => {
                            counts.open_levels = counts.open_levels.wrapping_add(1);
                            if counts.open_levels > counts.depth {
                                counts.depth = counts.open_levels;
                                counts.depth_at = counts.length.wrapping_add(at as u64);
                            }
                        }
                        b']' | b'}' => counts.open_levels = counts.open_levels.wrapping_sub(1),
                        _ => {}
                    }
                }
                Class::Quote => {
                    self.token = None;
                    self.in_string = true;
                    self.string_bytes = self.string_bytes.wrapping_add(1);
                    self.strings = self.strings.wrapping_add(1);
                    return at.wrapping_add(1);
                }
                class => {
                    let token = self.token.unwrap_or_else(|| {
                        counts.values = counts.values.wrapping_add(1);
                        if class == Class::Number {
                            Token::Number
                        } else {
                            Token::Word
                        }
                    });
                    self.token = Some(token);
                    match token {
                        Token::Number => counts.numbers = counts.numbers.wrapping_add(1),
                        Token::Word => counts.words = counts.words.wrapping_add(1),
                    }
                }
            }
            at = at.wrapping_add(1);
        }
        at
    }
}

/// As Python's `bytes.strip` has it.
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| b" \t\r\x0b\x0c".contains(byte))
}
