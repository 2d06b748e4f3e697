//! R's serialization made by hand, byte by byte: what no writer would write.

#![allow(dead_code, reason = "each test file uses some of it")]

/// Bytes of an XDR serialization.
#[derive(Clone, Default)]
pub struct Xdr(pub Vec<u8>);

impl Xdr {
    /// The header of version 3.
    pub fn new() -> Self {
        let mut xdr = Self(b"X\n".to_vec());
        xdr.ints(&[3, 0x0004_0202, 0x0003_0500, 5]);
        xdr.0.extend_from_slice(b"UTF-8");
        xdr
    }

    /// The header of version 2.
    pub fn version_2() -> Self {
        let mut xdr = Self(b"X\n".to_vec());
        xdr.ints(&[2, 0x0004_0202, 0x0002_0300]);
        xdr
    }

    pub fn int(&mut self, value: i32) -> &mut Self {
        self.0.extend_from_slice(&value.swap_bytes().to_le_bytes());
        self
    }

    pub fn ints(&mut self, values: &[i32]) -> &mut Self {
        for value in values {
            self.int(*value);
        }
        self
    }

    pub fn double(&mut self, value: f64) -> &mut Self {
        self.0
            .extend_from_slice(&value.to_bits().swap_bytes().to_le_bytes());
        self
    }

    /// A CHARSXP marked ASCII.
    pub fn char(&mut self, text: &str) -> &mut Self {
        self.ints(&[0x0004_0009, i32::try_from(text.len()).unwrap_or(-7)]);
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// A symbol, not by reference.
    pub fn symbol(&mut self, name: &str) -> &mut Self {
        self.int(1).char(name)
    }

    /// A deferred vector: class, package, type, and what `state` writes; no attributes.
    pub fn altrep(&mut self, class: &str, code: i32, state: impl FnOnce(&mut Self)) -> &mut Self {
        self.ints(&[238, 2]).symbol(class);
        self.int(2).symbol("base");
        self.ints(&[2, 13, 1, code, 254]);
        state(self);
        self.int(254)
    }
}
