//! Content hashes: which function, over which bytes, and how they are spelt.

use std::fmt;

use sha1::Digest as _;

use crate::{Error, ErrorKind, Result};

/// A function that names objects. BLAKE3 is Tare's own; the others are what R's storr takes from its
/// package digest.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// BLAKE3, 256 bits.
    Blake3,
    /// MD5, 128 bits.
    Md5,
    /// SHA-1, 160 bits.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// CRC-32 of zlib.
    Crc32,
    /// xxHash, 32 bits, seed 0.
    XxHash32,
    /// xxHash, 64 bits, seed 0.
    XxHash64,
    /// `MurmurHash3` for x86, 32 bits, seed 0.
    Murmur32,
}

impl Algorithm {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Blake3,
        Self::Md5,
        Self::Sha1,
        Self::Sha256,
        Self::Sha512,
        Self::Crc32,
        Self::XxHash32,
        Self::XxHash64,
        Self::Murmur32,
    ];

    /// Its name, as R's package digest spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blake3 => "blake3",
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            Self::Crc32 => "crc32",
            Self::XxHash32 => "xxhash32",
            Self::XxHash64 => "xxhash64",
            Self::Murmur32 => "murmur32",
        }
    }

    /// The function of a name.
    ///
    /// # Errors
    /// `Unsupported` for any other name.
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|algorithm| algorithm.name() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|known| known.name()).collect();
            let text = format!("no hash {name:?}: known are {}", names.join(", "));
            Error::new(ErrorKind::Unsupported, text)
        })
    }

    /// The hash of these bytes, the first `unhashed` of them left out.
    #[must_use]
    pub fn hash(self, bytes: &[u8], unhashed: usize) -> Hash {
        let hashed = bytes.get(unhashed..).unwrap_or_default();
        if self == Self::Blake3 {
            // Without the state that a hash of parts needs, which is larger than most values.
            if let Some(hash) = Hash::new(blake3::hash(hashed).as_bytes()) {
                return hash;
            }
        }
        let mut state = Hasher::new(self, 0);
        state.update(hashed);
        state.finish()
    }

    /// Bytes of a hash.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Crc32 | Self::XxHash32 | Self::Murmur32 => 4,
            Self::XxHash64 => 8,
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Blake3 | Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

/// A content hash: 4 to 64 bytes, shown and parsed as lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash {
    bytes: [u8; 64],
    len: u8,
}

impl Hash {
    /// The hash of these bytes; None if they are none or over 64.
    #[must_use]
    pub fn new(from: &[u8]) -> Option<Self> {
        let mut bytes = [0; 64];
        if from.is_empty() {
            return None;
        }
        bytes.get_mut(..from.len())?.copy_from_slice(from);
        let len = u8::try_from(from.len()).ok()?;
        Some(Self { bytes, len })
    }

    /// The hash that lower-case hex digits spell; None if they spell none.
    ///
    /// # Example
    /// ```
    /// use tare::store::Hash;
    ///
    /// let hash = Hash::parse("d41d8cd98f00b204e9800998ecf8427e").unwrap();
    /// assert_eq!((16, 0xd4), (hash.as_bytes().len(), hash.as_bytes()[0]));
    /// assert!(Hash::parse("D4").is_none() && Hash::parse("d4f").is_none());
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        if text.len() % 2 != 0 || text.len() > 128 {
            return None;
        }
        let pairs = text.as_bytes().chunks_exact(2);
        let bytes: Option<Vec<u8>> = pairs
            .map(|pair| match pair {
                [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
                _ => None,
            })
            .collect();
        Self::new(&bytes?)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Its lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| char::from(DIGITS.get(usize::from(value)).copied().unwrap_or(b'?'));
        let bytes = self.as_bytes().iter();
        bytes
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect()
    }
}

/// Eight of its bytes are as good as all of them.
impl std::hash::Hash for Hash {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let first = self.bytes.first_chunk().copied().unwrap_or_default();
        state.write_u64(u64::from_le_bytes(first));
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({})", self.hex())
    }
}

/// A hash that is being computed, of bytes that come in any parts.
#[derive(Clone)]
pub struct Hasher {
    state: State,
    /// Leading bytes still to be left out.
    skip: usize,
}

#[derive(Clone)]
enum State {
    Blake3(Box<blake3::Hasher>),
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha256(sha2::Sha256),
    Sha512(Box<sha2::Sha512>),
    Crc32(crc32fast::Hasher),
    XxHash32(xxhash_rust::xxh32::Xxh32),
    XxHash64(xxhash_rust::xxh64::Xxh64),
    Murmur32(Murmur32),
}

impl Hasher {
    /// Begins a hash that leaves out the first `unhashed` bytes.
    ///
    /// # Example
    /// ```
    /// use tare::store::{Algorithm, Hasher};
    ///
    /// let mut hasher = Hasher::new(Algorithm::Md5, 0);
    /// hasher.update(b"a");
    /// assert_eq!("0cc175b9c0f1b6a831c399e269772661", hasher.finish().hex());
    /// ```
    #[must_use]
    pub fn new(algorithm: Algorithm, unhashed: usize) -> Self {
        let state = match algorithm {
            Algorithm::Blake3 => State::Blake3(Box::default()),
            Algorithm::Md5 => State::Md5(md5::Md5::new()),
            Algorithm::Sha1 => State::Sha1(sha1::Sha1::new()),
            Algorithm::Sha256 => State::Sha256(sha2::Sha256::new()),
            Algorithm::Sha512 => State::Sha512(Box::default()),
            Algorithm::Crc32 => State::Crc32(crc32fast::Hasher::new()),
            Algorithm::XxHash32 => State::XxHash32(xxhash_rust::xxh32::Xxh32::new(0)),
            Algorithm::XxHash64 => State::XxHash64(xxhash_rust::xxh64::Xxh64::new(0)),
            Algorithm::Murmur32 => State::Murmur32(Murmur32::default()),
        };
        let skip = unhashed;
        Self { state, skip }
    }

    /// Takes further bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let (left, bytes) = bytes.split_at(self.skip.min(bytes.len()));
        self.skip = self.skip.saturating_sub(left.len());
        match &mut self.state {
            State::Blake3(state) => {
                state.update(bytes);
            }
            State::Md5(state) => state.update(bytes),
            State::Sha1(state) => state.update(bytes),
            State::Sha256(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
            State::Crc32(state) => state.update(bytes),
            State::XxHash32(state) => state.update(bytes),
            State::XxHash64(state) => state.update(bytes),
            State::Murmur32(state) => state.update(bytes),
        }
    }

    /// The hash of all that came.
    #[must_use]
    pub fn finish(self) -> Hash {
        let made = match self.state {
            State::Blake3(state) => Hash::new(state.finalize().as_bytes()),
            State::Md5(state) => Hash::new(&state.finalize()),
            State::Sha1(state) => Hash::new(&state.finalize()),
            State::Sha256(state) => Hash::new(&state.finalize()),
            State::Sha512(state) => Hash::new(&state.finalize()),
            State::Crc32(state) => Hash::new(&network_order(state.finalize())),
            State::XxHash32(state) => Hash::new(&network_order(state.digest())),
            State::XxHash64(state) => {
                let sum = state.digest();
                let halves = [high_half(sum), low_half(sum)];
                Hash::new(&halves.map(network_order).concat())
            }
            State::Murmur32(state) => Hash::new(&network_order(state.finish())),
        };
        made.unwrap_or(Hash {
            bytes: [0; 64],
            len: 1,
        })
    }
}

/// Most significant byte first, as numbers are spelt.
fn network_order(sum: u32) -> [u8; 4] {
    [24, 16, 8, 0].map(|shift| u8::try_from(sum >> shift & 0xff).unwrap_or_default())
}

fn high_half(sum: u64) -> u32 {
    u32::try_from(sum >> 32).unwrap_or_default()
}

fn low_half(sum: u64) -> u32 {
    u32::try_from(sum & 0xffff_ffff).unwrap_or_default()
}

/// `MurmurHash3_x86_32` by Austin Appleby, in the public domain: <https://github.com/aappleby/smhasher>.
#[derive(Clone, Default)]
struct Murmur32 {
    sum: u32,
    /// Bytes of a block that is not whole yet.
    rest: [u8; 4],
    rests: usize,
    bytes: u64,
}

impl Murmur32 {
    fn update(&mut self, mut bytes: &[u8]) {
        self.bytes = self.bytes.wrapping_add(bytes.len() as u64);
        while self.rests > 0 || bytes.len() < 4 {
            let Some((&first, behind)) = bytes.split_first() else {
                return;
            };
            if let Some(place) = self.rest.get_mut(self.rests) {
                *place = first;
            }
            bytes = behind;
            self.rests += 1;
            if self.rests == 4 {
                self.block(u32::from_le_bytes(self.rest));
                self.rests = 0;
            }
        }
        let (blocks, rest) = bytes.split_at(bytes.len() / 4 * 4);
        let blocks: &[[u8; 4]] = bytemuck::cast_slice(blocks);
        for block in blocks {
            self.block(u32::from_le_bytes(*block));
        }
        for (place, byte) in self.rest.iter_mut().zip(rest) {
            *place = *byte;
        }
        self.rests = rest.len();
    }

    fn block(&mut self, block: u32) {
        self.sum ^= mixed(block);
        self.sum = self.sum.rotate_left(13);
        self.sum = self.sum.wrapping_mul(5).wrapping_add(0xe654_6b64);
    }

    fn finish(mut self) -> u32 {
        if self.rests > 0 {
            let rest = self.rest.get(..self.rests).unwrap_or_default();
            let tail = rest
                .iter()
                .rev()
                .fold(0, |tail, byte| tail << 8 | u32::from(*byte));
            self.sum ^= mixed(tail);
        }
        let mut sum = self.sum ^ low_half(self.bytes);
        sum = (sum ^ sum >> 16).wrapping_mul(0x85eb_ca6b);
        sum = (sum ^ sum >> 13).wrapping_mul(0xc2b2_ae35);
        sum ^ sum >> 16
    }
}

fn mixed(block: u32) -> u32 {
    block
        .wrapping_mul(0xcc9e_2d51)
        .rotate_left(15)
        .wrapping_mul(0x1b87_3593)
}
