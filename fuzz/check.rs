// What must hold for any bytes given to a decompressor; shared by the fuzz targets and by
// tests/corpora.rs, which replays their corpora.

/// Longest result allowed while fuzzing.
const MAX_BYTES: u64 = 1 << 20;

/// No panic, no result above the limit, and the stream reader agrees with the one-shot one.
fn check(name: &str, data: &[u8]) {
    let compressor = tare::compress::by_name(name).expect("the target names a compressor");
    let whole = compressor.decompress(data, Some(MAX_BYTES));
    let mut reader = compressor.reader(data);
    let mut plain = Vec::new();
    let mut piece = [0; 4099];
    let streamed = loop {
        match reader.pull(&mut piece) {
            Ok(0) => break Ok(()),
            Ok(read) => plain.extend_from_slice(&piece[..read]),
            Err(error) => break Err(error),
        }
        if plain.len() as u64 > MAX_BYTES {
            break Ok(());
        }
    };
    match (whole, streamed) {
        (Ok(whole), Ok(())) => {
            assert!(whole.len() as u64 <= MAX_BYTES, "{name}: above the limit");
            assert!(whole == plain, "{name}: one-shot and stream differ");
            let again = compressor.compress(&whole, None).expect("any bytes can be compressed");
            let back = compressor.decompress(&again, None).expect("own bytes can be read");
            assert!(back == whole, "{name}: no round trip");
        }
        (Ok(_), Err(error)) => panic!("{name}: only the stream refuses: {error}"),
        (Err(error), Ok(())) => {
            let limit = error.kind() == tare::ErrorKind::Limit;
            assert!(limit, "{name}: only one-shot refuses: {error}");
        }
        (Err(error), Err(_)) => {
            let end = data.len() as u64;
            assert!(error.offset().is_none_or(|at| at <= end), "{name}: {error}");
        }
    }
}
