//! Our reading of zstd's headers, field by field against that of two others.

use crate::common;
// The module itself: it is not public, and uses nothing of the crate but its error.
#[allow(dead_code, reason = "the test asks for the headers only")]
#[path = "../../src/compress/zstd/header.rs"]
mod header;

use header::{Block, Header};
use serde_json::Value;
use tare::compress::{decompress, ReadOptions};
use tare::ErrorKind;

fn is_zstd(data: &[u8]) -> bool {
    data.starts_with(b"\x28\xb5\x2f\xfd")
}

#[test]
fn headers_are_what_libzstd_says() {
    let Some(path) = common::shared("data/compress/klauspost/headers.zip") else {
        return;
    };
    let files = common::zip::files(&path);
    assert_eq!(7797, files.len());
    let mut agreed = 0;
    for (name, data) in files.iter().filter(|(_, data)| is_zstd(data)) {
        let dictionary = zstd_safe::get_dict_id_from_frame(data);
        match (Header::read(data), zstd_safe::get_frame_content_size(data)) {
            (Ok(Some(header)), Ok(size)) => {
                assert_eq!((size, None), (header.content_size, dictionary), "{name}");
                agreed += 1;
            }
            (Err(error), Ok(_)) => {
                assert_eq!(ErrorKind::Unsupported, error.kind(), "{name}: {error}");
                assert!(dictionary.is_some(), "{name}: {error}");
            }
            // libzstd wants no window above 2 GiB here; ours is held against `max_window`.
            (Ok(Some(header)), Err(_)) => assert!(header.window > 1 << 31, "{name}"),
            (Ok(None) | Err(_), Err(_)) => {}
            (Ok(None), Ok(_)) => panic!("{name}: libzstd needs less of the header"),
        }
    }
    assert!(agreed > 1500, "{agreed}");
}

#[test]
fn headers_are_field_by_field_what_another_reader_says() {
    let folder = "data/compress/klauspost/";
    let zip = common::shared(&format!("{folder}headers.zip"));
    let want = common::shared(&format!("{folder}headers-want.json.zst"));
    let (Some(zip), Some(want)) = (zip, want) else {
        return;
    };
    let want = decompress(&std::fs::read(want).unwrap(), &ReadOptions::default()).unwrap();
    let want: Value = serde_json::from_slice(&want).unwrap();
    let mut compared = 0;
    for (name, data) in common::zip::files(&zip) {
        let Some(want) = want.get(&name) else {
            continue;
        };
        compared += 1;
        let number = |field: &str| want[field].as_u64().unwrap();
        let is = |field: &str| want[field].as_bool().unwrap();
        if is("Skippable") {
            assert!(
                matches!(data[..], [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]),
                "{name}"
            );
            continue;
        }
        let header = match Header::read(&data) {
            Ok(header) => header.unwrap(),
            Err(error) => {
                assert_ne!(0, number("DictionaryID"), "{name}: {error}");
                continue;
            }
        };
        let content_size = is("HasFCS").then(|| number("FrameContentSize"));
        let window = if is("SingleSegment") {
            content_size.unwrap()
        } else {
            number("WindowSize")
        };
        assert_eq!(
            (
                number("HeaderSize"),
                content_size,
                window,
                is("HasCheckSum"),
                0
            ),
            (
                header.bytes as u64,
                header.content_size,
                header.window,
                header.checksum,
                number("DictionaryID")
            ),
            "{name}"
        );
        check_block(&name, &data[header.bytes..], &header, &want["FirstBlock"]);
    }
    assert_eq!(1831, compared);
}

fn check_block(name: &str, rest: &[u8], header: &Header, want: &Value) {
    if want["OK"] != Value::Bool(true) {
        return;
    }
    let Ok(block) = Block::read(rest[..3].try_into().unwrap(), header.most_block()) else {
        // The other reader does not hold a block's size against the window.
        let sizes = [&want["CompressedSize"], &want["DecompressedSize"]];
        let most = sizes.iter().filter_map(|size| size.as_u64()).max();
        assert!(most > Some(header.most_block()), "{name}: {want}");
        return;
    };
    let stored = want["CompressedSize"].as_u64().unwrap();
    let told = (block.last, block.stored as u64);
    assert_eq!((want["Last"].as_bool().unwrap(), stored), told, "{name}");
    if want["Compressed"] == Value::Bool(false) {
        assert_eq!(
            want["DecompressedSize"].as_u64(),
            Some(block.bound),
            "{name}"
        );
    }
}
