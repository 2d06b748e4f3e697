//! Vectors of strings that lie one behind another in blocks.

use super::account::Account;
use super::plain::Plain;
use super::Strings;
use crate::Result;

/// `count` strings, counted by `account` while they are read.
///
/// `whole` takes those that lie whole in the bytes at hand, as many as it is told at most, and
/// gives how many they were and their bytes; `one` takes the next one, wherever it lies.
pub(super) fn read(
    plain: &mut Plain<'_>,
    count: u64,
    account: &mut Account,
    whole: impl Fn(&[u8], u64, &mut Strings) -> (u64, usize),
    mut one: impl FnMut(&mut Plain<'_>, &mut Strings) -> Result<()>,
) -> Result<Strings> {
    plain.expect(count)?;
    let believed = usize::try_from(count.min(1 << 20)).unwrap_or_default();
    let mut strings = Strings::with_capacity(believed, 0);
    let mut left = count;
    while left > 0 {
        let known = strings.bytes().len();
        let (read, used) = whole(plain.run()?, left, &mut strings);
        plain.advance(used);
        left = left.saturating_sub(read);
        if left > 0 {
            // The end of the block cuts the next one, or it is of a sort that `whole` leaves.
            one(plain, &mut strings)?;
            left = left.saturating_sub(1);
        }
        account.take(strings.bytes().len().saturating_sub(known) as u64, 1)?;
    }
    Ok(strings)
}
