/// Names and small files of R's stores.
mod store_names {
    use tare::store::drivers::storr::{mangle, parse_key, parse_setting, unmangle};
    use tare::store::Algorithm;

    /// What is a key leads back to itself; what is a hash stands in the file; a setting is one line.
    pub fn parsed(data: &[u8]) {
        for algorithm in Algorithm::ALL {
            if let Some(hash) = parse_key(data, *algorithm) {
                assert_eq!(algorithm.bytes(), hash.as_bytes().len());
                assert!(data.starts_with(hash.hex().as_bytes()));
            }
        }
        if let Some(setting) = parse_setting(data) {
            assert!(!setting.is_empty() && !setting.contains(['\n', '\r', '\0']));
        }
        let Ok(text) = std::str::from_utf8(data) else {
            return;
        };
        for pad in [false, true] {
            let name = mangle(text, pad);
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte)));
            assert_eq!(Some(text), unmangle(&name).as_deref());
        }
        if let Some(key) = unmangle(text) {
            assert_eq!(text.trim_end_matches('='), mangle(&key, false));
        }
    }
}
