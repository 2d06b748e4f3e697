//! Collections that were cut, changed or forged, and writers that were stopped: what was committed
//! is read, or an error says why not.

use std::io::{BufRead, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use tare::blit::collection::{compact, repair, Collection, ReadOptions, WriteOptions, Writer};
use tare::blit::JsonOptions;
use tare::compress::Compressor;
use tare::ErrorKind;

use crate::common;

use common::folder::Folder;
use common::soak;

fn document(i: u64) -> String {
    format!(
        r#"{{"id":{i},"name":"name {}","tags":["a",{}]}}"#,
        i % 17,
        i % 5
    )
}

/// Commits of some documents each, and where each ends.
fn commits(path: &Path, options: &WriteOptions, n: u64, each: u64) -> Vec<u64> {
    let mut writer = Collection::create(path, options).unwrap();
    let mut ends = vec![16];
    for i in 0..n * each {
        writer.push_json(document(i).as_bytes()).unwrap();
        if (i + 1) % each == 0 {
            writer.commit().unwrap();
            ends.push(path.metadata().unwrap().len());
        }
    }
    ends
}

/// Reads everything, with and without a map; gives how many documents are right, or the error.
fn read(path: &Path) -> tare::Result<u64> {
    let mut found = 0;
    for mmap in [false, true] {
        let options = ReadOptions {
            mmap,
            ..ReadOptions::default()
        };
        let collection = Collection::open(path, &options)?;
        collection.validate()?;
        for (i, one) in (0..).zip(collection.docs()?.iter()) {
            let json = one?.view().to_json(&JsonOptions::default())?;
            assert_eq!(document(i).as_bytes(), json);
        }
        found = collection.len();
    }
    Ok(found)
}

fn small(compressor: Option<&str>) -> WriteOptions {
    WriteOptions {
        chunk_size: 300,
        compressor: compressor.map(|id| Compressor::parse(id).unwrap()),
        ..WriteOptions::default()
    }
}

#[test]
fn a_file_cut_at_any_byte_keeps_the_earlier_commits() {
    let folder = Folder::new();
    let (whole, path) = (folder.join("whole"), folder.join("cut"));
    let ends = commits(&whole, &small(None), 3, 20);
    let bytes = std::fs::read(&whole).unwrap();
    for end in ends[2]..ends[3] {
        std::fs::write(&path, &bytes[..end as usize]).unwrap();
        if end == ends[2] {
            // Its own last bytes are those of a commit.
            assert_eq!(40, read(&path).unwrap());
        } else {
            let error = read(&path).unwrap_err();
            assert!(error.is_truncated(), "{end}: {error}");
            assert!(error.to_string().contains("repair"), "{error}");
        }
        let repaired = repair(&path).unwrap();
        assert_eq!((40, end - ends[2]), (repaired.documents, repaired.cut));
        assert_eq!(40, read(&path).unwrap(), "{end}");
    }
    // The first commit was never there: there is nothing to keep, and nothing is changed.
    for end in [17, ends[1] - 1] {
        std::fs::write(&path, &bytes[..end as usize]).unwrap();
        repair(&path).unwrap_err();
        assert_eq!(end, path.metadata().unwrap().len());
    }
}

#[test]
fn a_crash_while_appending_loses_what_was_not_committed() {
    let folder = Folder::new();
    let (whole, path) = (folder.join("whole"), folder.join("crashed"));
    let ends = commits(&whole, &small(None), 3, 20);
    let bytes = std::fs::read(&whole).unwrap();
    for end in ends[2]..=ends[3] {
        // The header still says where the second commit ends, as it does until the third is safe.
        let mut left = bytes[..end as usize].to_vec();
        left[8..16].copy_from_slice(&ends[2].to_le_bytes());
        std::fs::write(&path, &left).unwrap();
        let expected = if end == ends[3] { 60 } else { 40 };
        assert_eq!(expected, read(&path).unwrap(), "{end}");
        let mut writer = Collection::append(&path, &small(None)).unwrap();
        assert_eq!(expected, writer.len());
        for i in expected..expected + 5 {
            writer.push_json(document(i).as_bytes()).unwrap();
        }
        writer.commit().unwrap();
        drop(writer);
        assert_eq!(expected + 5, read(&path).unwrap(), "{end}");
    }
    // Before the first commit was safe there are no documents.
    for end in 0..=ends[1] {
        let mut left = bytes.clone();
        left[8..16].copy_from_slice(&16_u64.to_le_bytes());
        left.truncate(end as usize);
        std::fs::write(&path, &left).unwrap();
        let expected = if end == ends[1] { 20 } else { 0 };
        match read(&path) {
            Ok(found) => assert_eq!(expected, found, "{end}"),
            Err(error) => assert!(end < 16 && error.is_truncated(), "{end}: {error}"),
        }
        let writer = Collection::append(&path, &small(None)).unwrap();
        assert_eq!(expected, writer.len(), "{end}");
        drop(writer);
        assert_eq!(expected, read(&path).unwrap(), "{end}");
    }
}

#[test]
fn every_flipped_bit_is_seen() {
    let folder = Folder::new();
    for compressor in [None, Some("zstd:1"), Some("lz4")] {
        let (whole, path) = (folder.join("whole"), folder.join("flipped"));
        commits(&whole, &small(compressor), 2, 12);
        let bytes = std::fs::read(&whole).unwrap();
        for at in 0..bytes.len() {
            let mut left = bytes.clone();
            left[at] ^= 1 << (at % 8);
            std::fs::write(&path, &left).unwrap();
            // What is not needed where the last commit is the end of the file.
            let unused = (8..16).contains(&at);
            match read(&path) {
                Ok(found) => assert!(unused && found == 24, "{at}"),
                Err(error) => {
                    assert!(!unused, "{at}: {error}");
                    assert_eq!(Some("blit"), error.format(), "{at}: {error}");
                    assert!(error.to_string().contains("rule"), "{at}: {error}");
                }
            }
        }
    }
}

/// Changes the only entry of an index or the footer, with checksums that are right.
fn forge(bytes: &[u8], change: impl FnOnce(&mut [u8], &mut [u8])) -> Vec<u8> {
    let mut forged = bytes.to_vec();
    let end = forged.len();
    let number = |at: usize| {
        let field: [u8; 4] = bytes[end - 72 + at..][..4].try_into().unwrap();
        u32::from_le_bytes(field) as usize
    };
    let sections = end - 72 - 32 * number(20) - number(36) - number(40) - number(44);
    let (before, footer) = forged.split_at_mut(end - 72);
    let index = end - 72 - 32;
    change(&mut before[index..], footer);
    let checksum = xxhash_rust::xxh3::xxh3_64(&forged[sections..end - 16]);
    forged[end - 16..end - 8].copy_from_slice(&checksum.to_le_bytes());
    forged
}

#[test]
fn forged_numbers_are_errors() {
    let folder = Folder::new();
    let path = folder.join("forged");
    commits(&path, &WriteOptions::default(), 1, 30);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, forge(&bytes, |_, _| {})).unwrap();
    assert_eq!(30, read(&path).unwrap());
    for value in [0_u8, 1, 2, 15, 17, 0x7F, 0xFF] {
        for at in (0..32).chain(100..149) {
            let forged = forge(&bytes, |entry, footer| match at {
                0..32 => entry[at] = value,
                _ => footer[at - 100] = value,
            });
            if forged == bytes {
                continue; // it had that value
            }
            // The sections may lie elsewhere then, so that any checksum is wrong.
            std::fs::write(&path, &forged).unwrap();
            let error = read(&path).unwrap_err();
            assert_ne!(ErrorKind::Internal, error.kind(), "{at}: {error}");
            assert_eq!(Some("blit"), error.format(), "{at} {value}: {error}");
        }
    }
}

#[test]
fn bombs_take_no_memory_that_they_do_not_have() {
    let folder = Folder::new();
    let path = folder.join("bomb");
    let plain = vec![0; 64 << 20];
    let zstd = Compressor::parse("zstd:1").unwrap();
    let bomb =
        tare::compress::compress(&plain, &zstd, &tare::compress::WriteOptions::default()).unwrap();
    commits(&path, &WriteOptions::default(), 1, 3);
    let bytes = std::fs::read(&path).unwrap();
    let tail = bytes.len() - 72 - 32;
    let stored = u32::from_le_bytes(bytes[tail + 8..tail + 12].try_into().unwrap()) as usize;
    let kept = [&bytes[..16], &bomb, &bytes[16 + stored..]].concat();
    for (codec, raw) in [
        (1, 1000),
        (1, 1 << 30),
        (1, u32::MAX),
        (2, u32::MAX),
        (2, 1000),
    ] {
        let forged = forge(&kept, |entry, _| {
            entry[8..12].copy_from_slice(&(bomb.len() as u32).to_le_bytes());
            entry[12..16].copy_from_slice(&u32::to_le_bytes(raw));
            entry[20] = codec;
            let checksum = xxhash_rust::xxh3::xxh3_64(&bomb);
            entry[24..].copy_from_slice(&checksum.to_le_bytes());
        });
        std::fs::write(&path, &forged).unwrap();
        let before = memory();
        let error = read(&path).unwrap_err();
        let kinds = [ErrorKind::Malformed, ErrorKind::Limit];
        assert!(kinds.contains(&error.kind()), "{raw}: {error}");
        assert!(error.to_string().contains("C6"), "{raw}: {error}");
        // The bomb itself, where it says less than it has; never what it says.
        assert!(memory() < before + (300 << 20), "{codec} {raw}");
    }
    repair(&path).unwrap();
}

/// The most memory of this process so far; 0 where it does not say.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[test]
fn the_second_writer_is_refused() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let mut first = Collection::append(&path, &WriteOptions::default()).unwrap();
    first.push_json(document(0).as_bytes()).unwrap();
    let refused = |error: Option<tare::Error>| {
        let error = error.unwrap();
        assert_eq!(ErrorKind::Usage, error.kind());
        assert!(error.to_string().contains("another writer"), "{error}");
    };
    let options = WriteOptions::default();
    refused(Collection::append(&path, &options).err());
    refused(Collection::create(&path, &options).err());
    refused(repair(&path).err());
    refused(compact(&path, &options, |_, _| true).err());
    first.commit().unwrap();
    drop(first);
    assert_eq!(1, Collection::append(&path, &options).unwrap().len());
    assert_eq!(1, read(&path).unwrap());
}

/// Fails from so many bytes on.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let n = bytes.len().min(self.0);
        self.0 -= n;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_pipe_ends_writing() {
    for room in [0, 10, 16, 500, 1500] {
        let Ok(mut writer) = Writer::to(Full(room), &small(None)) else {
            assert!(room < 16);
            continue;
        };
        let mut failed = 0;
        for i in 0..100 {
            if let Err(error) = writer.push_json(document(i).as_bytes()) {
                let kind = if failed == 0 {
                    ErrorKind::Io
                } else {
                    ErrorKind::Usage
                };
                assert_eq!(kind, error.kind(), "{error}");
                failed += 1;
            }
        }
        assert!(failed > 0 || room > 500);
        writer.commit().unwrap_err();
    }
}

/// Appends for ever, and says on standard output what is committed; run by the tests below.
#[test]
fn child_that_appends() {
    let Some(path) = std::env::var_os("TARE_TEST_APPEND") else {
        return;
    };
    let mut writer = Collection::append(&path, &small(None)).unwrap();
    for i in writer.len().. {
        if let Err(error) = writer.push_json(document(i).as_bytes()) {
            println!("failed {error}");
            let committed = writer.committed();
            writer.rollback().unwrap();
            assert_eq!(committed, writer.len());
            return;
        }
        if i % 37 == 0 {
            match writer.commit() {
                Ok(committed) => println!("committed {committed}"),
                Err(error) => {
                    println!("failed {error}");
                    return;
                }
            }
        }
    }
}

fn child(path: &Path, limit: Option<&str>) -> Command {
    let program = std::env::current_exe().unwrap();
    let arguments = [
        "--exact",
        "collection_faults::child_that_appends",
        "--nocapture",
    ];
    let mut command = if let Some(blocks) = limit {
        // Files beyond the limit fail to be written, once the signal for it is ignored.
        let mut shell = Command::new("sh");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        shell.args(["-c", &script]).arg(program);
        shell
    } else {
        Command::new(program)
    };
    command.args(arguments).env("TARE_TEST_APPEND", path);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
#[cfg(unix)]
fn a_killed_writer_loses_nothing_that_it_committed() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let mut committed = 0;
    let rounds = soak::scaled(28, 500);
    for round in 0..rounds {
        // Each round reads what those before wrote, so that a file must not grow for ever.
        if round > 0 && round % 40 == 0 {
            std::fs::remove_file(&path).unwrap();
        }
        let mut child = child(&path, None).spawn().unwrap();
        let output = std::io::BufReader::new(child.stdout.take().unwrap());
        let lines = output.lines().map_while(Result::ok);
        let mut said = lines.filter_map(|line| line.strip_prefix("committed ")?.parse().ok());
        // At another moment each time.
        for _ in 0..=round % 7 {
            committed = said.next().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_micros(
            (round * 7919 % 3000) as u64,
        ));
        child.kill().unwrap();
        child.wait().unwrap();
        let last: Option<u64> = said.last();
        committed = last.unwrap_or(committed);
        let found = read(&path).unwrap();
        // The last commit may have been safe before that was said.
        assert!(
            (committed..=committed + 37).contains(&found),
            "{committed} {found}"
        );
    }
    soak::count("kills", rounds);
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_an_error_and_keeps_what_was_committed() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    let output = child(&path, Some("40")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("failed "), "{text}");
    let mut committed = text
        .lines()
        .filter_map(|line| line.strip_prefix("committed "));
    let committed: u64 = committed.next_back().unwrap().parse().unwrap();
    assert!(committed > 30);
    assert_eq!(committed, read(&path).unwrap());
    let mut writer = Collection::append(&path, &small(None)).unwrap();
    writer.push_json(document(committed).as_bytes()).unwrap();
    writer.commit().unwrap();
    assert_eq!(committed + 1, read(&path).unwrap());
}

#[test]
fn what_is_no_collection_is_refused() {
    let folder = Folder::new();
    let path = folder.join("a.blits");
    for bytes in [
        &b""[..],
        b"BLS1",
        b"BLT1\0\0\0\0\0\0\0\0\0\0\0\0",
        &[0; 200],
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.to_string().contains("C1"), "{error}");
        repair(&path).unwrap_err();
        assert_eq!(bytes, std::fs::read(&path).unwrap());
    }
    let missing = Collection::open(folder.join("none"), &ReadOptions::default());
    assert_eq!(ErrorKind::Io, missing.unwrap_err().kind());
    // Many footers that are none, each of which claims the whole file: repair gives up in time.
    let mut slow = b"BLS1\x01\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    let mut footer = [0_u8; 72];
    footer[0] = 16;
    footer[64..].copy_from_slice(b"BLS1-end");
    footer[48] = 1;
    for i in 0..20_000_u32 {
        footer[36..40].copy_from_slice(&(i * 72).to_le_bytes());
        slow.write_all(&footer).unwrap();
    }
    std::fs::write(&path, &slow).unwrap();
    let error = repair(&path).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
}
