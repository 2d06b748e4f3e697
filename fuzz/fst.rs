// What must hold for any bytes that are taken for a file or a blob of R's package fst.

mod fst_files {
    use tare::fst::{self, ReadOptions, Table, WriteOptions};
    use tare::ErrorKind;

    /// Most bytes of a table while fuzzing.
    const BUDGET: u64 = 8 << 20;

    fn options() -> ReadOptions {
        ReadOptions {
            memory_budget: Some(BUDGET),
            threads: Some(1),
            ..ReadOptions::default()
        }
    }

    /// An error has the format and a place; every part of a table can be read, and it comes back when it
    /// is written again. On one thread: the leak detector takes a thread that is ending for a leak.
    pub fn opens(data: &[u8]) {
        let reader = match fst::open_with(data, &options()) {
            Ok(reader) => reader,
            Err(error) => return refused(&error, data),
        };
        let table = match reader.read(None, None) {
            Ok(table) => table,
            Err(error) => return refused(&error, data),
        };
        let middle = table.rows / 2;
        for rows in [0..middle, middle..table.rows] {
            let part = reader
                .read(None, Some(rows.clone()))
                .expect("the whole was read");
            assert_eq!(rows.end - rows.start, part.rows);
        }
        comes_back(&table);
    }

    fn refused(error: &tare::Error, data: &[u8]) {
        assert_eq!(Some("fst"), error.format(), "{error}");
        assert!(error.offset().is_some(), "{error}");
        assert_ne!(ErrorKind::Io, error.kind(), "{error}");
        if error.is_truncated() {
            assert!(
                error
                    .offset()
                    .is_some_and(|offset| offset <= data.len() as u64),
                "{error}"
            );
        }
    }

    fn comes_back(table: &Table) {
        for compress in [0, 50, 51] {
            let how = WriteOptions {
                compress,
                threads: Some(1),
                ..WriteOptions::default()
            };
            let file = match fst::to_vec(table, &how) {
                Ok(file) => file,
                // Keys of rows that are not sorted: a file may say so, and we never do.
                Err(error) => {
                    assert_eq!(ErrorKind::Usage, error.kind(), "{error}");
                    assert!(!table.keys.is_empty(), "{error}");
                    continue;
                }
            };
            let again = fst::open_with(file, &options()).and_then(|reader| reader.read(None, None));
            let again = again.expect("what was written can be read");
            let latin1 = |table: &Table| format!("{:?}", table.columns).contains("Latin1");
            assert!(latin1(table) || *table == again, "written at {compress}");
        }
    }

    /// Errors have a place, and no blob gives more than the budget.
    pub fn blob(data: &[u8]) {
        match fst::blob::decompress(data, &options()) {
            Ok(plain) => assert!(plain.len() as u64 <= BUDGET),
            Err(error) => refused(&error, data),
        }
    }
}
