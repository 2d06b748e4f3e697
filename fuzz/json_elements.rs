// What must hold of lines that become an array and arrays that become lines, for any bytes; a part of check.rs.

mod json_elements {
    use serde_json::Value;
    use tare::ndjson::{elements, ArrayLines};

    /// The first byte says how an array is cut into pieces; the others are lines, and an array if one begins there.
    pub fn agrees(data: &[u8]) {
        let Some((&how, text)) = data.split_first() else {
            return;
        };
        let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.iter().all(|byte| b" \t\r".contains(byte)));
        let values = lines.map(|line| serde_json::from_slice::<Value>(line).ok());
        let values = values.collect::<Option<Vec<_>>>();
        let made = joined(text);
        if values.is_some() {
            assert_eq!(values, made.as_deref().and_then(read), "{}", String::from_utf8_lossy(text));
        }
        let whole = cut(text, text.len().max(1));
        assert_eq!(whole, cut(text, usize::from(how % 9) + 1), "in pieces");
        let of_lines = whole.as_deref().and_then(joined);
        if let Some(values) = read(text) {
            assert_eq!(Some(values), of_lines.as_deref().and_then(read));
        } else if let Some(of_lines) = of_lines {
            // Numbers, levels and halves of surrogate pairs that the parser refuses are copied all the same.
            assert_eq!(None, read(&of_lines), "{}", String::from_utf8_lossy(text));
        }
    }

    fn read(text: &[u8]) -> Option<Vec<Value>> {
        match serde_json::from_slice(text).ok()? {
            Value::Array(values) => Some(values),
            _ => None,
        }
    }

    /// Lines as the text of an array; what was made of them stays what it is when it is made again.
    fn joined(lines: &[u8]) -> Option<Vec<u8>> {
        let (text, count) = match elements(lines, b",") {
            Ok(made) => made,
            Err(error) => {
                assert!(error.offset().is_some_and(|at| at <= lines.len() as u64), "{error}");
                return None;
            }
        };
        assert!(text.len() <= lines.len());
        let again = elements(lines, b"\n").expect("they were read");
        assert_eq!(again, elements(&again.0, b"\n").expect("they were written"));
        assert_eq!(count, again.1);
        Some([b"[", &text[..], b"]"].concat())
    }

    /// The lines of an array; none if the text is invalid, of which the error names a byte.
    fn cut(text: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut array = ArrayLines::default();
        let mut lines = Vec::new();
        for piece in text.chunks(size) {
            match array.pass(piece) {
                Ok(more) => lines.extend(more),
                Err(error) => {
                    assert!(error.offset().is_some_and(|at| at < text.len() as u64), "{error}");
                    return None;
                }
            }
        }
        array.end().ok()?;
        Some(lines)
    }
}
