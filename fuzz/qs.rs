// What must hold for any bytes that are taken for a file of R's packages qs and qs2, for what lies
// inside their containers, and for R code.

mod qs_files {
    use tare::robject::{dput, qdata, qs, qs2, rds, RObject, ReadOptions, WriteOptions};
    use tare::Result;

    /// Most bytes of an object while fuzzing.
    const BUDGET: u64 = 8 << 20;

    fn options() -> ReadOptions {
        ReadOptions {
            memory_budget: Some(BUDGET),
            threads: Some(1),
            ..ReadOptions::default()
        }
    }

    /// qs2 has version 3 alone, whichever its payload had.
    fn writing(threads: usize) -> WriteOptions {
        WriteOptions {
            version: Some(3),
            threads: Some(threads),
            ..WriteOptions::default()
        }
    }

    /// An error has a format, a place where one is known, and a text of one screen.
    fn checked(result: Result<RObject>) -> Option<RObject> {
        match result {
            Ok(object) => Some(object),
            Err(error) => {
                assert!(error.format().is_some(), "{error}");
                assert!(error.to_string().len() < 1000, "{error}");
                None
            }
        }
    }

    /// A file whose payload is `plain`, in two blocks, without a checksum.
    fn container(code: u8, plain: &[u8]) -> Vec<u8> {
        let mut file = vec![0x0b, 0x0e, 0x0a, code, 1, 1, 2, 1];
        file.extend([0; 16]);
        let (one, two) = plain.split_at(plain.len() / 3);
        for block in [one, two] {
            let mut frame = Vec::with_capacity(zstd_safe::compress_bound(block.len()));
            zstd_safe::compress(&mut frame, block, 1).expect("there is place");
            let size = u32::try_from(frame.len()).expect("a block is short");
            file.extend(size.to_le_bytes());
            file.extend(frame);
        }
        file
    }

    /// The bytes as a file, and as the payload of one; a stream gives what a slice does.
    pub fn qs2(data: &[u8]) {
        for file in [data.to_vec(), container(0xc1, data)] {
            let streamed = checked(qs2::read(&file[..], &options()));
            let Some(object) = checked(qs2::parse(&file, &options())) else {
                assert!(streamed.is_none(), "a stream is read, a slice is not");
                continue;
            };
            assert!(streamed.is_some(), "a slice is read, a stream is not");
            let Ok(plain) = rds::serialize(&object, &writing(1)) else {
                continue;
            };
            let written = qs2::serialize(&object, &writing(1)).expect("it was serialized");
            let again = qs2::parse(&written, &ReadOptions::default()).expect("it was written");
            let again = rds::serialize(&again, &writing(1)).expect("it was read");
            assert!(plain == again, "what is written is not what is read");
        }
    }

    /// As [`qs2`], with both numbers of threads.
    pub fn qdata(data: &[u8]) {
        for file in [data.to_vec(), container(0xcd, data)] {
            let streamed = checked(qdata::read(&file[..], &options()));
            let Some(object) = checked(qdata::parse(&file, &options())) else {
                assert!(streamed.is_none(), "a stream is read, a slice is not");
                continue;
            };
            assert!(streamed.is_some(), "a slice is read, a stream is not");
            let written = qdata::serialize(&object, &writing(1)).expect("data are written");
            let again = qdata::parse(&written, &ReadOptions::default()).expect("it was written");
            let again = qdata::serialize(&again, &writing(2)).expect("data are written");
            assert!(written == again, "what is written is not what is read");
        }
    }

    /// The bytes as a file, and as the payload of one without a compressor, shuffled and not.
    pub fn qs(data: &[u8]) {
        checked(qs::parse(data, &options()));
        for code in [0x40, 0x4f] {
            let mut file = b"\x0b\x0e\x0a\x0c\0\0\0\0\x03\x00".to_vec();
            file.extend([code, 0]);
            file.extend((data.len() as u64).to_le_bytes());
            file.extend(data);
            let whole = checked(qs::parse(&file, &options()));
            let streamed = checked(qs::read(&file[..], &options()));
            assert_eq!(whole.is_some(), streamed.is_some(), "a stream is not a slice");
            let (Some(one), Some(two)) = (whole, streamed) else {
                continue;
            };
            let one = rds::serialize(&one, &writing(1)).ok();
            let two = rds::serialize(&two, &writing(1)).ok();
            assert!(one == two, "a stream gives another value than a slice");
        }
    }

    /// What is read and written once is written the same again.
    pub fn dput(data: &[u8]) {
        let text = String::from_utf8_lossy(data);
        let Some(object) = checked(dput::parse(&text, &options())) else {
            return;
        };
        let Ok((code, losses)) = dput::write(&object) else {
            return;
        };
        let deep = ReadOptions {
            max_depth: 100_000,
            ..ReadOptions::default()
        };
        let again = dput::parse(&code, &deep).expect("it was written");
        if losses.is_empty() {
            let (again, _) = dput::write(&again).expect("it was written before");
            assert_eq!(code, again);
        }
    }
}
