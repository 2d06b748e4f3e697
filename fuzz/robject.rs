// What must hold of R's files for any bytes; a part of check.rs.

mod robject {
    use tare::robject::arrow::read_r_key;
    use tare::robject::{rds, Body, Encoding, RObject, ReadOptions, WriteOptions};
    use tare::{Error, ErrorKind};

    /// Most bytes of memory for one input.
    const BUDGET: u64 = 64 << 20;

    fn limits() -> ReadOptions {
        ReadOptions {
            memory_budget: Some(BUDGET),
            threads: Some(1),
            ..ReadOptions::default()
        }
    }

    /// An error names its format and a place that is not behind the end.
    fn explained(error: &Error, format: &str, size: usize) {
        assert_ne!(ErrorKind::Internal, error.kind(), "{error}");
        assert_eq!(Some(format), error.format(), "{error}");
        if let Some(offset) = error.offset() {
            assert!(offset <= size as u64, "{error}: of {size} bytes");
        }
    }

    fn written(object: &RObject, encoding: Encoding) -> Vec<u8> {
        // Version 2 has no deferred vectors, and not all can be made: 3 has them all.
        let options = WriteOptions {
            version: Some(3),
            encoding: Some(encoding),
            ..WriteOptions::default()
        };
        rds::serialize(object, &options).expect("what was read can be written")
    }

    fn read(bytes: &[u8]) -> RObject {
        let options = ReadOptions {
            max_depth: usize::MAX,
            ..ReadOptions::default()
        };
        rds::parse(bytes, &options).expect("what was written can be read")
    }

    /// Every deferred vector is made, or an error says why not.
    fn expands(object: &RObject) {
        let arena = object.arena();
        for id in arena.ids() {
            let length = arena.length(id);
            match arena.data(id, Some(BUDGET)) {
                Ok(_) => assert_eq!(length, arena.length(id), "made longer or shorter"),
                Err(error) => assert!(matches!(error.kind(), ErrorKind::Limit | ErrorKind::Unsupported), "{error}"),
            }
        }
    }

    /// A serialization of any bytes: refused with a reason, or read. What is read is written in
    /// every encoding, and stays what it is.
    pub fn serialization(data: &[u8]) {
        let object = match rds::parse(data, &limits()) {
            Ok(object) => object,
            Err(error) => return explained(&error, "rds", data.len()),
        };
        let xdr = written(&object, Encoding::Xdr);
        for encoding in [Encoding::Xdr, Encoding::Ascii, Encoding::AsciiHex, Encoding::Native] {
            let one = written(&object, encoding);
            let again = read(&one);
            // Text has 16 digits, and one NaN.
            if matches!(encoding, Encoding::Xdr | Encoding::Native) {
                assert!(written(&again, Encoding::Xdr) == xdr, "{encoding:?} is not the same");
            }
            assert!(written(&again, encoding) == one, "{encoding:?} is not stable");
        }
        expands(&object);
    }

    /// Half of the inputs are text already; the others get the header that they need.
    pub fn text(data: &[u8]) {
        if data.starts_with(b"A\n") {
            return serialization(data);
        }
        let header = b"A\n3\n262658\n197888\n5\nUTF-8\n";
        serialization(&[&header[..], data].concat());
    }

    /// The same for XDR; what has a header already keeps it.
    pub fn xdr(data: &[u8]) {
        if [&b"X\n"[..], b"B\n", b"A\n"].iter().any(|start| data.starts_with(start)) {
            return serialization(data);
        }
        let header = b"X\n\0\0\0\x03\0\x04\x02\x02\0\x03\x05\0\0\0\0\x05UTF-8";
        serialization(&[&header[..], data].concat());
    }

    /// A key `r` of a schema: the text itself, or a raw vector that holds it compressed.
    pub fn key(data: &[u8]) {
        let Ok(text) = std::str::from_utf8(data) else {
            return;
        };
        match read_r_key(text) {
            Ok(object) => {
                let ascii = written(&object, Encoding::Ascii);
                let ascii = std::str::from_utf8(&ascii).expect("text of R is ASCII");
                let again = read_r_key(ascii).expect("what was written can be read");
                // A raw vector is what stands for a packed key.
                if !matches!(object.node().body, Body::Raw(_)) {
                    assert!(written(&again, Encoding::Ascii) == ascii.as_bytes(), "not stable");
                }
            }
            Err(error) => {
                assert_ne!(ErrorKind::Internal, error.kind(), "{error}");
                assert!(error.format().is_some(), "{error}");
            }
        }
    }
}
