//! What a kernel asks of a GPU beside arithmetic and memory: a table of operations, with LLVM's intrinsic for each
//! (NVVM IR specification; PTX ISA, sections 9.7.9 and 10) and the function of the simulator that stands for it.

use super::Form;

/// An operation of a thread, or of all threads of a warp together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// The thread's number in its block.
    Thread,
    /// The block's number.
    Block,
    /// The number of blocks.
    Blocks,
    /// All threads of the warp arrive, and see what the others have written to memory.
    WarpSync,
    /// All threads of the block arrive, likewise.
    BlockSync,
    /// The value of the thread whose lane differs in these bits.
    ShuffleXor,
    /// The value of the thread of this lane.
    Shuffle,
    /// A bit for each thread of the warp that has the same value.
    Match,
}

/// An operation, its result, its parameters, the intrinsic with constants around the operands, the simulator's function.
type Row = (Operation, &'static str, usize, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: [Row; 8] = [
    (Operation::Thread, "i32", 0, "llvm.nvvm.read.ptx.sreg.tid.x", "", "", "svod_sim_tid"),
    (Operation::Block, "i32", 0, "llvm.nvvm.read.ptx.sreg.ctaid.x", "", "", "svod_sim_ctaid"),
    (Operation::Blocks, "i32", 0, "llvm.nvvm.read.ptx.sreg.nctaid.x", "", "", "svod_sim_nctaid"),
    (Operation::WarpSync, "void", 0, "llvm.nvvm.bar.warp.sync", "i32 -1", "", "svod_sim_warp_sync"),
    (Operation::BlockSync, "void", 0, "llvm.nvvm.barrier0", "", "", "svod_sim_block_sync"),
    (Operation::ShuffleXor, "i32", 2, "llvm.nvvm.shfl.sync.bfly.i32", "i32 -1", "i32 31", "svod_sim_shfl_xor"),
    (Operation::Shuffle, "i32", 2, "llvm.nvvm.shfl.sync.idx.i32", "i32 -1", "i32 31", "svod_sim_shfl"),
    (Operation::Match, "i32", 1, "llvm.nvvm.match.any.sync.i32", "i32 -1", "", "svod_sim_match"),
];

impl Operation {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The call, of operands of type `i32`.
    pub(super) fn call(self, form: Form, operands: &[&str]) -> String {
        let (_, result, _, intrinsic, before, after, simulated) = *self.row();
        let operands = operands.iter().map(|o| format!("i32 {o}"));
        let args: Vec<String> = match form {
            Form::Simulated => operands.collect(),
            _ => {
                let constant = |c: &str| (!c.is_empty()).then(|| c.to_owned());
                constant(before).into_iter().chain(operands).chain(constant(after)).collect()
            }
        };
        let name = if form == Form::Simulated { simulated } else { intrinsic };
        format!("call {result} @{name}({})", args.join(", "))
    }

    /// What the call needs to be declared.
    pub(super) fn declaration(self, form: Form) -> String {
        let (_, result, operands, intrinsic, before, after, simulated) = *self.row();
        let constants = [before, after].iter().filter(|c| !c.is_empty()).count();
        let (name, count) = match form {
            Form::Simulated => (simulated, operands),
            _ => (intrinsic, operands + constants),
        };
        format!("{result} @{name}({})", vec!["i32"; count].join(", "))
    }
}

/// The name of the memory that a block shares.
pub(super) const SHARED: &str = "@shared";

/// Its definition, of so many bytes. A simulator has one of its own for each block that it runs.
pub(super) fn shared(form: Form, bytes: u32) -> String {
    match form {
        Form::Simulated => "declare ptr @svod_sim_shared()".to_owned(),
        _ => format!("{SHARED} = internal addrspace(3) global [{bytes} x i8] undef, align 16"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stand_in_their_rows() {
        for (n, row) in ROWS.iter().enumerate() {
            assert_eq!(row.0 as usize, n);
        }
        assert_eq!(
            Operation::ShuffleXor.call(Form::Kernel, &["%x", "16"]),
            "call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 16, i32 31)"
        );
        assert_eq!(
            Operation::ShuffleXor.declaration(Form::Kernel),
            "i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)"
        );
        assert_eq!(Operation::WarpSync.call(Form::Simulated, &[]), "call void @svod_sim_warp_sync()");
    }
}
