//! Hostile documents and texts: what a few bytes can ask for is refused before it is allocated,
//! and no depth of lists or of text uses up the stack.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::panic,
    clippy::format_collect,
    reason = "a test stops at once; an allocator that counts is unsafe to write"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tare::blit::{from_json, Checksum, JsonOptions, KeyOrder, NonFinite, Options, Value, View};
use tare::ErrorKind;

/// Counts the bytes that each thread has, and the most that it had.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has none of these any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(now.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` gives, and the most bytes that it had beyond those there were.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    MOST.set(before);
    let result = work();
    (result, usize::try_from(MOST.get() - before).unwrap_or(0))
}

const MIB: usize = 1 << 20;
const ARRAY: u8 = 0x0C;
const OBJECT: u8 = 0x0D;

fn rv(value: u64) -> Vec<u8> {
    let mut groups = vec![(value & 0x7F) as u8];
    let mut rest = value >> 7;
    while rest > 0 {
        groups.push((rest & 0x7F) as u8);
        rest >>= 7;
    }
    groups.reverse();
    groups[1..].iter_mut().for_each(|group| *group |= 0x80);
    groups
}

/// A document of a root, of names and of shapes, with how many there are.
fn document(tag: u8, root: &[u8], keys: (&[u8], u64), shapes: (&[u8], u64)) -> Vec<u8> {
    let mut out = [b"BLT1", root, keys.0, shapes.0].concat();
    let start = out.len();
    for field in [shapes.0.len() as u64, shapes.1, keys.0.len() as u64, keys.1] {
        out.extend(rv(field));
    }
    out.extend([tag, 0, 1]);
    out.push(u8::try_from(out.len() - start + 3).unwrap());
    out.extend(b"BT");
    out
}

fn array(parts: &[&[u8]]) -> Vec<u8> {
    document(ARRAY, &parts.concat(), (&[], 0), (&[], 0))
}

/// `KEYS` of the one name "a", and one shape of it.
const ONE_NAME: (&[u8], u64) = (b"a\x09\x81\x1F", 1);
const ONE_SHAPE: (&[u8], u64) = (b"\x00\x00\x80", 1);

fn json(view: &View<'_>, order: KeyOrder, max_output: u64) -> tare::Result<Vec<u8>> {
    view.to_json(&JsonOptions {
        order,
        max_output,
        nan: NonFinite::Literal,
        bytes_as_base64: true,
    })
}

/// Few bytes that say they are many values, all of them valid.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let many = rv(1 << 32);
    let huge = rv(1 << 62);
    let long = "x".repeat(100_000);
    let codes = vec![0_u8; 65_536];
    let unique = [long.as_bytes(), &[0x09], &rv(1), &[0x81]].concat();
    let constants = [&[0x00, 0xA7][..], &many, &[0xA1]].concat();
    let nested = [&constants[..], &rv(1 << 16), &rv(1 << 16), &[0xA6]].concat();
    let column = [0x00, 0xA7, 0xA1];
    let table = [&column[..], &[0x00], &huge, &[0x85]].concat();
    // Literals, then a match of 100 MB.
    let mut block = b"\x1Fx\x01\x00".to_vec();
    block.extend(vec![0xFF; 400_000]);
    block.extend(b"\x00\x50xxxxx");
    let raw = 1 + 4 + 15 + 400_000 * 255 + 5;
    let packed = [&block[..], &rv(raw)].concat();
    vec![
        ("constants", array(&[&constants])),
        ("more constants", array(&[&[0x00, 0xA7], &huge, &[0xA1]])),
        ("empty arrays", array(&[&rv(0), &huge, &[0xA6]])),
        ("arrays of constants", array(&[&nested])),
        (
            "rows of constants",
            document(ARRAY, &table, ONE_NAME, ONE_SHAPE),
        ),
        (
            "one string again and again",
            array(&[
                &unique,
                &codes,
                &rv(unique.len() as u64),
                &rv(65_536),
                &[0x07],
            ]),
        ),
        (
            "a compressed string",
            document(0x0B, &packed, (&[], 0), (&[], 0)),
        ),
    ]
}

/// A backend opens millions of documents: neither that nor a look at a field takes memory.
#[test]
fn opening_and_looking_allocate_nothing() {
    let text = br#"{"user": {"name": "a", "tags": [1, 2, 3]}, "rows": [{"id": 1}, {"id": 2}]}"#;
    let document = from_json(text, &Options::default()).unwrap();
    let (found, most) = measured(|| {
        let view = View::open(&document).unwrap();
        view.pointer("/rows/1/id").unwrap().is_some()
    });
    assert_eq!((true, 0), (found, most));
}

#[test]
fn few_bytes_that_say_many_values_are_limited_before_they_are_made() {
    for (name, document) in bombs() {
        let view = View::open(&document).unwrap();
        let (valid, most) = measured(|| view.validate());
        valid.unwrap_or_else(|error| panic!("{name}: {error}"));
        let packed = name == "a compressed string";
        // Validation has to look at compressed text; 255 bytes for one are the most it can be.
        let limit = if packed { 256 * document.len() } else { MIB };
        assert!(most < limit, "{name}: {most} bytes to validate");
        for order in [KeyOrder::Insertion, KeyOrder::Lexical] {
            let (text, most) = measured(|| json(&view, order, MIB as u64));
            assert_eq!(ErrorKind::Limit, text.unwrap_err().kind(), "{name}");
            assert!(most < 8 * MIB, "{name}: {most} bytes of text");
        }
        let (read, most) = measured(|| match view.root() {
            Ok(Value::Array(array)) => {
                let last = array.len() - 1;
                for i in [0, 1, 65_535, last / 2, last] {
                    array.get(i).unwrap();
                }
                true
            }
            _ => packed,
        });
        assert!(read && most < limit, "{name}: {most} bytes to read some");
    }
}

#[test]
fn forged_counts_make_errors_and_nothing_else() {
    let huge = rv((1 << 62) - 1);
    let run = [&huge[..], &rv(0), &[0x01, 0x80]].concat();
    let swapped = [&rv(0)[..], &huge, &[0x01, 0x80]].concat();
    let constants = b"\x00\xA7\xA1\x00";
    let forged = [
        // A dictionary of so many empty strings, and an object of so many names.
        array(&[
            &rv(0),
            &[0x09],
            &huge,
            &[0xA1],
            &[0],
            &rv(12),
            &rv(1),
            &[0x07],
        ]),
        document(OBJECT, constants, ONE_NAME, (&run, 1)),
        document(OBJECT, constants, ONE_NAME, (&swapped, 1)),
        array(&[&rv(0), &[0x09], &huge, &[0xAB]]),
        array(&[&[1, 2], &huge, &[0x02]]),
        array(&[&[1, 2], &huge, &[0x08]]),
        array(&[&[1, 2], &huge, &[0x80]]),
        array(&[&[1, 2, 0, 1, 0], &huge, &[0x09]]),
        array(&[&[1, 2], &huge, &rv(2), &[0x8B]]),
        array(&[&[1, 2, 1], &huge, &[0x8A]]),
        document(
            ARRAY,
            b"\x01\x02\x02\x02",
            (b"a\x09\x81\x1F", 1 << 62),
            (&[], 0),
        ),
        document(ARRAY, b"\x01\x02\x02\x02", (&[], 0), (b"\x00\xA0", 1 << 62)),
    ];
    for (which, document) in forged.iter().enumerate() {
        let (valid, most) = measured(|| View::open(document).and_then(|view| view.validate()));
        assert!(valid.is_err() && most < MIB, "{which}: {valid:?} {most}");
        let Ok(view) = View::open(document) else {
            continue;
        };
        for order in [KeyOrder::Insertion, KeyOrder::Lexical] {
            let (_, most) = measured(|| json(&view, order, MIB as u64));
            assert!(most < 8 * MIB, "{which}: {most} bytes of text");
        }
    }
}

/// Documents in which any number can be overwritten.
fn samples() -> Vec<Vec<u8>> {
    let rows: Vec<String> = (0..40)
        .map(|i| {
            format!(
                "{{\"id\":{i},\"x\":{i}.25,\"w\":\"{}\",\"n\":[{i}],\"m\":{{\"k\":null}}}}",
                i % 3
            )
        })
        .collect();
    let texts = [
        format!("[{}]", rows.join(",")),
        "{\"a\":[null,1,null,2,3,4,5,6,7],\"b\":[true,false],\"c\":{\"a\":\"\u{e9}\"}}".to_string(),
        "[[1,\"a\"],[2,\"b\"],[3,\"c\"],[4,\"d\"],[5,\"e\"],[6,\"f\"],[7,\"g\"],[8,\"h\"]]"
            .to_string(),
    ];
    let plain = Options {
        checksum: Checksum::Off,
        ..Options::default()
    };
    texts
        .iter()
        .map(|text| from_json(text.as_bytes(), &plain).unwrap())
        .collect()
}

#[test]
fn no_overwritten_byte_takes_more_memory_than_its_limit() {
    // Twice the most text, and the bytes of the document some times over.
    const TEXT: u64 = 1 << 16;
    let runs: [&[u8]; 4] = [
        &[0xFF],
        &[0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        &[0x01, 0x80, 0x80, 0x80, 0x80],
        &[0x00],
    ];
    for document in samples() {
        for at in 0..document.len() {
            for run in runs {
                let mut forged = document.clone();
                let end = forged.len().min(at + run.len());
                forged[at..end].copy_from_slice(&run[..end - at]);
                let Ok(view) = View::open(&forged) else {
                    continue;
                };
                let (_, most) = measured(|| view.validate());
                assert!(most < 64 * document.len(), "{most} bytes to validate");
                for order in [KeyOrder::Insertion, KeyOrder::Lexical] {
                    let (_, most) = measured(|| json(&view, order, TEXT));
                    assert!(most < MIB, "byte {at}: {most} bytes of text");
                }
            }
        }
    }
}

/// Runs on a stack of 2 MiB, the least that threads of Rust have unless told otherwise, and on a
/// small one.
fn on_a_thread(work: impl Fn() + Clone + Send + 'static) {
    for size in [2 * MIB, MIB / 4] {
        let thread = std::thread::Builder::new().stack_size(size);
        thread.spawn(work.clone()).unwrap().join().unwrap();
    }
}

#[test]
fn lists_inside_each_other_are_read_or_refused_whatever_their_depth() {
    // One more of each kind around what was there: n = 1, or 2 where the lists must have gaps.
    let kinds: [(&str, &[u8], &[u8]); 5] = [
        ("PARTIAL", b"\x01\x02\x02\x02", b"\x03\x00\x02\x09"),
        ("NESTED", b"\x01\x01\x02", b"\x01\x86"),
        ("arrays", b"", b"\x0C\x01\x81"),
        ("TUPLES", b"\x01\x02", b"\x01\x81"),
        ("DICT", b"a\x09\x01\x81", b""),
    ];
    for (name, inner, around) in kinds {
        for depth in [1000, 1030, 2040, 2050, 100_000] {
            let mut root = inner.to_vec();
            for _ in 0..depth {
                match name {
                    "DICT" => {
                        let size = rv(root.len() as u64);
                        root.extend(b"\x00");
                        root.extend(size);
                        root.extend(b"\x01\x07");
                    }
                    "TUPLES" => root.extend(b"\x01\x01\x8B"),
                    _ => root.extend(around),
                }
                if name == "DICT" && root.len() > 300_000 {
                    break;
                }
            }
            let document = array(&[&root]);
            on_a_thread(move || {
                let view = View::open(&document).unwrap();
                let valid = view.validate();
                let texts = [KeyOrder::Insertion, KeyOrder::Lexical]
                    .map(|order| json(&view, order, 1 << 24));
                if let Ok(Value::Array(array)) = view.root() {
                    let _ = array.get(0);
                    let _ = array.get(1);
                }
                let _ = view.pointer(&"/0".repeat(500));
                if valid.is_ok() {
                    assert!(
                        texts.iter().all(Result::is_ok),
                        "{name} {depth}: {:?}",
                        texts[0]
                    );
                }
                assert!(valid.is_err() || depth < 2100, "{name}");
            });
        }
    }
}

#[test]
fn the_deepest_texts_are_taken_and_deeper_ones_refused() {
    on_a_thread(|| {
        for (open, close) in [
            ("[", "]"),
            ("{\"a\":", "}"),
            ("[1,", "]"),
            ("[{\"a\":", ",\"b\":2}]"),
        ] {
            let levels = open.matches(['[', '{']).count();
            let text =
                |n: usize| format!("{}1{}", open.repeat(n / levels), close.repeat(n / levels));
            let document = from_json(text(1024).as_bytes(), &Options::default()).unwrap();
            let view = View::open(&document).unwrap();
            view.validate().unwrap();
            for order in [KeyOrder::Insertion, KeyOrder::Lexical] {
                assert_eq!(text(1024).as_bytes(), json(&view, order, 1 << 24).unwrap());
            }
            for deep in [1026, 100_000] {
                let error = from_json(text(deep).as_bytes(), &Options::default()).unwrap_err();
                assert_eq!(ErrorKind::Limit, error.kind(), "{open} {deep}");
                assert!(error.offset().is_some());
            }
            // Not closed, and not ended.
            let error =
                from_json(open.repeat(100_000).as_bytes(), &Options::default()).unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind(), "{open}");
        }
    });
}

#[test]
fn numbers_of_any_size_are_exact() {
    let digits = "7".repeat(1_000_000);
    let texts = [
        "1e999999999".to_string(),
        "-1e-999999999".to_string(),
        digits.clone(),
        format!("-{digits}.{digits}E+{digits}"),
        format!("0.{}1", "0".repeat(1_000_000)),
        format!("1{}", "0".repeat(308)),
        format!("1e{}", "0".repeat(100_000)),
    ];
    for text in texts {
        let (document, most) =
            measured(|| from_json(text.as_bytes(), &Options::default()).unwrap());
        assert!(
            most < 16 * text.len() + MIB,
            "{most} bytes for {}",
            text.len()
        );
        let view = View::open(&document).unwrap();
        view.validate().unwrap();
        let back = json(&view, KeyOrder::Insertion, 1 << 30).unwrap();
        let kept = back == text.as_bytes();
        assert!(kept || text.starts_with("1e0"), "{text:.40}");
    }
}

#[test]
fn text_is_read_in_memory_that_its_length_bounds() {
    let texts = [
        "[".repeat(MIB),
        format!("[{}1]", "1,".repeat(MIB)),
        format!("[{}[]]", "[],".repeat(MIB / 2)),
        format!("[{}0]", "{},".repeat(MIB / 2)),
        format!("[{}0]", "{\"a\":0},".repeat(MIB / 8)),
        format!(
            "{{{}\"z\":0}}",
            (0..100_000)
                .map(|i| format!("\"{i}\":{i},"))
                .collect::<String>()
        ),
        format!("\"{}\"", "\\n".repeat(MIB)),
    ];
    for text in texts {
        let (_, most) = measured(|| from_json(text.as_bytes(), &Options::default()));
        assert!(
            most < 48 * text.len() + MIB,
            "{most} bytes for {} of {:.10}",
            text.len(),
            text
        );
    }
}
