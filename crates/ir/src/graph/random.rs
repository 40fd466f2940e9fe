//! The reference of [`super::Op::Rand`]: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and
//! Shaw, Parallel random numbers: as easy as 1, 2, 3; SC 2011).

const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
const PARITY: u32 = 0x1bd1_1bda;

/// Element number `counter` of the stream of `key`: the first word of the generator's block.
/// Low words come first.
pub fn random_bits(key: u64, counter: u64) -> u32 {
    let halves = |v: u64| [v as u32, (v >> 32) as u32];
    let [k0, k1] = halves(key);
    let keys = [k0, k1, k0 ^ k1 ^ PARITY];
    let [mut x0, mut x1] = halves(counter);
    x0 = x0.wrapping_add(k0);
    x1 = x1.wrapping_add(k1);
    for group in 0..5 {
        for r in ROTATIONS[group % 2] {
            x0 = x0.wrapping_add(x1);
            x1 = x1.rotate_left(r) ^ x0;
        }
        x0 = x0.wrapping_add(keys[(group + 1) % 3]);
        x1 = x1.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    x0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // The test vectors that come with the paper's implementation.
        assert_eq!(random_bits(0, 0), 0x6b20_0159);
        assert_eq!(random_bits(u64::MAX, u64::MAX), 0x1cb9_96fc);
        assert_eq!(random_bits(0x0370_7344_1319_8a2e, 0x85a3_08d3_243f_6a88), 0xc492_3a9c);
    }
}
