//! What a device needs of a driver.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use svod_codegen::gpu::{Call, Runner};
use svod_device::Result;

/// What a GPU is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its product name.
    pub name: String,
    /// Bytes of its memory.
    pub memory: usize,
    /// Compute capability: major and minor number.
    pub capability: (u32, u32),
    /// Number of multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of its second-level cache.
    pub l2: usize,
    /// Bytes of shared memory that a block has at most.
    pub shared: usize,
    /// Cycles of its multiprocessors a second; 0 where that is not known.
    pub clock: usize,
    /// Bytes a second to and from its memory; 0 where that is not known.
    pub bandwidth: usize,
}

/// The GPUs of a machine.
pub trait Driver: Debug + Send + Sync {
    /// What its kernels are compiled for.
    fn runner(&self) -> Runner;

    /// Number of GPUs that this process may use.
    fn count(&self) -> Result<u32>;

    /// What a GPU is, without opening it.
    fn info(&self, number: u32) -> Result<Info>;

    /// Opens a GPU.
    fn open(&self, number: u32) -> Result<Arc<dyn Gpu>>;
}

/// An open GPU: its memory, and one stream of work.
pub trait Gpu: Debug + Send + Sync {
    /// Bytes that are free, of all processes, and bytes that there are.
    fn free_memory(&self) -> Result<(usize, usize)>;

    /// The address of fresh memory, aligned to 256 bytes; `None` where there is not as much.
    fn alloc(&self, bytes: usize) -> Result<Option<u64>>;

    /// Takes memory back, once the work that was handed over is done.
    ///
    /// # Safety
    /// `address` comes from [`Gpu::alloc`], and no work that is still to come uses it.
    unsafe fn free(&self, address: u64);

    /// Copies host memory to the GPU; `src` may be changed when this returns.
    ///
    /// # Safety
    /// Both ranges are valid, and nobody else accesses them meanwhile but for work in the stream.
    unsafe fn copy_in(&self, dst: u64, src: *const u8, bytes: usize) -> Result<()>;

    /// Copies memory of the GPU to the host, and waits for it.
    ///
    /// # Safety
    /// As for [`Gpu::copy_in`].
    unsafe fn copy_out(&self, dst: *mut u8, src: u64, bytes: usize) -> Result<()>;

    /// Copies between two ranges of the GPU's memory that do not overlap.
    ///
    /// # Safety
    /// As for [`Gpu::copy_in`].
    unsafe fn copy_within(&self, dst: u64, src: u64, bytes: usize) -> Result<()>;

    /// Copies from the memory of another GPU, and has what either is given later wait for it; `None` where that is a GPU of
    /// another driver.
    ///
    /// # Safety
    /// As for [`Gpu::copy_in`].
    unsafe fn copy_across(&self, dst: u64, from: &dyn Gpu, src: u64, bytes: usize) -> Option<Result<()>>;

    /// The driver's own type.
    fn as_any(&self) -> &dyn Any;

    /// Remembers the launches that this thread makes until [`Gpu::end_recording`] instead of handing them over.
    fn begin_recording(&self) -> Result<()>;

    /// What was launched, as one; it is for nothing but to be dropped where something failed meanwhile.
    fn end_recording(&self) -> Result<Box<dyn Graph>>;

    /// What machine code depends on beside the text that it is made of; `None` where only loading makes some.
    fn assembler(&self) -> Option<String> {
        None
    }

    /// The machine code of a text, which [`Gpu::load`] takes as well; `None` where that has to say what is wrong with it.
    fn assemble(&self, text: &[u8]) -> Option<Vec<u8>> {
        let _ = text;
        None
    }

    /// Loads the code of a kernel.
    fn load(&self, name: &str, code: &[u8]) -> Result<Arc<dyn Module>>;

    /// Waits for all work that was handed over.
    fn synchronize(&self) -> Result<()>;

    /// Waits for all work in the context, also that of other libraries.
    fn await_all(&self) -> Result<()> {
        self.synchronize()
    }

    /// Has what another stream gets from now on wait for what was handed over before; `stream` is the driver's handle of it.
    fn precede(&self, stream: usize) -> Result<()> {
        let _ = stream;
        self.synchronize()
    }

    /// Has what is handed over from now on wait for what another stream, the driver's handle of it, got before.
    fn follow(&self, stream: usize) -> Result<()> {
        let _ = stream;
        self.await_all()
    }

    /// The driver's handle of the stream; 0 where there is no driver.
    fn stream(&self) -> usize {
        0
    }
}

/// Launches that were recorded.
pub trait Graph: Debug + Send + Sync {
    /// Hands all of them to the stream.
    ///
    /// # Safety
    /// As for [`Kernel::launch`], of each of them; the kernels are loaded.
    unsafe fn launch(&self) -> Result<()>;
}

/// Code that is loaded.
pub trait Module: Debug + Send + Sync {
    /// The kernel of this name, for blocks of this many threads.
    fn kernel(self: Arc<Self>, entry: &str, threads: u32) -> Result<Arc<dyn Kernel>>;
}

/// An entry point of code that is loaded.
pub trait Kernel: Debug + Send + Sync {
    /// Hands a launch to the stream.
    ///
    /// # Safety
    /// The arguments are those that the code asks for, and what they point at stays allocated until
    /// the stream is done with it.
    unsafe fn launch(&self, launch: &Launch) -> Result<()>;

    /// Hands the launch of a kernel that is written as a whole to the stream; with the address of its scratch memory.
    ///
    /// # Safety
    /// As for [`Kernel::launch`].
    unsafe fn launch_whole(&self, call: &Call, buffers: &[*mut u8], scratch: u64) -> Result<()>;
}

/// Sizes and arguments of a launch: the pointers, the values, and the scratch memory, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Number of blocks.
    pub blocks: u32,
    /// Addresses of the buffers.
    pub buffers: &'a [*mut u8],
    /// The values of the variables, and the number of tasks.
    pub values: &'a [i64],
    /// Address of the scratch memory of all tasks that run at once; 0 for none.
    pub memory: u64,
}
