//! How a kernel that is written as a whole is launched, and what it is given.

use std::fmt;
use svod_dtype::DType;

/// A tensor map of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapArgument {
    /// Position of the argument; none where it is of scratch memory.
    pub param: Option<usize>,
    /// Bytes from its start.
    pub offset: u64,
    /// Type of elements.
    pub dtype: DType,
    /// Elements of each dimension, the one side by side first.
    pub sizes: Vec<u64>,
    /// Bytes from one to the next, of all dimensions but the first.
    pub strides: Vec<u64>,
    /// Elements of a copy along each.
    pub region: Vec<u32>,
}

/// What a kernel is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A tensor map of 128 bytes with 128-byte swizzle and zeros outside.
    Map(MapArgument),
    /// The address of an argument, and bytes from its start.
    Pointer(usize, u64),
    /// A number, of 4 or 8 bytes.
    Number(i64),
    /// The address of scratch memory, and bytes from its start.
    Scratch(u64),
}

/// The launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Number of blocks; 0 for no launch.
    pub blocks: u32,
    /// Those of a cluster.
    pub cluster: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// Bytes of scratch memory, of this launch and those that follow it.
    pub scratch: u64,
    /// Whether it goes on with what the launch before it has left in scratch memory.
    pub follows: bool,
    /// What the kernel is given, in order.
    pub arguments: Vec<Argument>,
}

/// Words: `blocks cluster shared scratch follows`, then `map …`, `pointer …`, `number …` and `scratch …`, separated by
/// semicolons.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { blocks, cluster, shared, scratch, follows, arguments } = self;
        write!(f, "{blocks} {cluster} {shared} {scratch} {}", u32::from(*follows))?;
        for argument in arguments {
            match argument {
                Argument::Pointer(param, offset) => write!(f, ";pointer {param} {offset}")?,
                Argument::Number(number) => write!(f, ";number {number}")?,
                Argument::Scratch(offset) => write!(f, ";scratch {offset}")?,
                Argument::Map(MapArgument { param, offset, dtype, sizes, strides, region }) => {
                    let from = param.map_or("scratch".to_owned(), |n| n.to_string());
                    write!(f, ";map {} {from} {offset}", dtype.short())?;
                    let region = region.iter().map(|n| u64::from(*n));
                    sizes.iter().chain(strides).copied().chain(region).try_for_each(|n| write!(f, " {n}"))?;
                }
            }
        }
        Ok(())
    }
}

impl Call {
    /// No launch.
    pub fn nothing() -> Call {
        Call { blocks: 0, cluster: 1, shared: 0, scratch: 0, follows: false, arguments: Vec::new() }
    }

    /// Reads what is printed.
    pub fn parse(text: &str) -> Option<Call> {
        let mut parts = text.split(';');
        let numbers = |words: &[&str]| words.iter().map(|w| w.parse().ok()).collect::<Option<Vec<u64>>>();
        let narrow = |n: u64| u32::try_from(n).ok();
        let head = numbers(&parts.next()?.split(' ').collect::<Vec<_>>())?;
        let [blocks, cluster, shared, scratch, follows] = <[u64; 5]>::try_from(head).ok()?;
        let argument = |part: &str| {
            let words: Vec<&str> = part.split(' ').collect();
            match words[..] {
                ["scratch", offset] => Some(Argument::Scratch(offset.parse().ok()?)),
                ["pointer", param, offset] => Some(Argument::Pointer(param.parse().ok()?, offset.parse().ok()?)),
                ["number", number] => Some(Argument::Number(number.parse().ok()?)),
                ["map", dtype, param, offset, ref rest @ ..] => {
                    let dtype = *DType::ALL.iter().find(|d| d.short() == dtype)?;
                    let rest = numbers(rest)?;
                    // As many sizes and extents of a region as dimensions, and a stride less.
                    let rank = (rest.len() + 1) / 3;
                    (rank > 0 && rest.len() + 1 == 3 * rank).then_some(())?;
                    let (sizes, rest) = rest.split_at(rank);
                    let (strides, region) = rest.split_at(rank - 1);
                    let region = region.iter().map(|n| narrow(*n)).collect::<Option<Vec<u32>>>()?;
                    let param = if param == "scratch" { None } else { Some(param.parse().ok()?) };
                    let offset = offset.parse().ok()?;
                    let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
                    Some(Argument::Map(MapArgument { param, offset, dtype, sizes, strides, region }))
                }
                _ => None,
            }
        };
        let arguments = parts.map(argument).collect::<Option<Vec<_>>>()?;
        let (cluster, follows) = (narrow(cluster).filter(|n| *n > 0)?, follows == 1);
        Some(Call { blocks: narrow(blocks)?, cluster, shared: narrow(shared)?, scratch, follows, arguments })
    }
}
