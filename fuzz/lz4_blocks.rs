// What must hold of raw blocks of LZ4; a part of check.rs.

/// Blocks that liblz4 takes hold the same here.
fn blocks_are_liblz4(data: &[u8]) {
    let Some((&[low, high], block)) = data.split_first_chunk::<2>() else {
        return;
    };
    let size = u16::from_le_bytes([low, high]);
    let mut ours = vec![0; usize::from(size)];
    let mut theirs = ours.clone();
    let ours_made = lz4_flex::block::decompress_into(block, &mut ours);
    let theirs_made = lz4::block::decompress_to_buffer(block, Some(i32::from(size)), &mut theirs);
    match (ours_made, theirs_made) {
        (Ok(ours_made), Ok(theirs_made)) => {
            assert_eq!(theirs[..theirs_made], ours[..ours_made]);
        }
        (Err(error), Ok(_)) => {
            // The block format forbids an offset of 0, which liblz4 takes.
            let zero = lz4_flex::block::DecompressError::OffsetZero;
            assert_eq!(
                zero.to_string(),
                error.to_string(),
                "liblz4 takes the block"
            );
        }
        // lz4_flex does not insist on five literals at the end.
        (Ok(_) | Err(_), Err(_)) => {}
    }
}

/// A block above 64 KiB, which is written without liblz4, holds the same there and here.
fn large_blocks_are_whole(data: &[u8]) {
    let plain = grown(data);
    let compressor = Compressor::parse("lz4:1,chunk=256KiB").expect("an id");
    let packed = compress(&plain, &compressor, &WriteOptions::default()).expect("memory takes it");
    let mut theirs = Vec::new();
    let mut decoder = lz4::Decoder::new(&packed[..]).expect("liblz4 takes it");
    decoder.read_to_end(&mut theirs).expect("liblz4 reads it");
    assert!(theirs == plain, "liblz4 reads other bytes");
    let ours = streamed(&packed[..], options(Some(Kind::Lz4), 1), 65_536);
    assert!(ours.end.is_ok() && ours.plain == plain, "not what was written");
}

/// Up to 132 KiB, of bytes as they are, runs, copies from anywhere before, and records.
fn grown(data: &[u8]) -> Vec<u8> {
    let mut plain = vec![0];
    let mut steps = data.chunks_exact(4).cycle().take(data.len().min(2000));
    while plain.len() <= 66_000 {
        let Some(&[kind, low, high, byte]) = steps.next() else {
            plain.resize(66_000 + usize::from(plain[0]), 0);
            break;
        };
        let number = usize::from(u16::from_le_bytes([low, high]));
        let bytes = usize::from(kind >> 2) * 17 + 1;
        match kind % 4 {
            0 => plain.extend_from_slice(&data[number % data.len()..]),
            1 => plain.extend(vec![byte; bytes]),
            2 => {
                let from = plain.len().saturating_sub(number + 1);
                (from..from + bytes).for_each(|at| plain.push(plain[at]));
            }
            _ => (0..bytes as u64).for_each(|row| {
                plain.extend(row.wrapping_mul(number as u64).to_le_bytes());
            }),
        }
    }
    plain
}
