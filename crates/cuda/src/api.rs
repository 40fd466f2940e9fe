//! The functions of the driver that are used, found by name at run time.
//!
//! They are called through pointers that were looked up together, so that a driver that lacks one is refused before
//! anything else is asked of it, and give their result as a number, since a driver may know more of them than this program.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;

use cudarc::driver::sys;

/// The result of a function of the driver, where that is no success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub c_int);

impl Code {
    pub const OUT_OF_MEMORY: Code = Code(2);
    pub const NO_DEVICE: Code = Code(100);
    pub const UNSUPPORTED_PTX_VERSION: Code = Code(222);

    /// Whether the context is lost with it: what a kernel did that traps, or the hardware.
    pub fn is_sticky(self) -> bool {
        // ECC; NVLink; then CUDA_ERROR_ILLEGAL_ADDRESS (700), LAUNCH_TIMEOUT (702), ASSERT (710), HARDWARE_STACK_ERROR,
        // ILLEGAL_INSTRUCTION, MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED (714 to 719).
        matches!(self.0, 214 | 220 | 700 | 702 | 710 | 714..=719)
    }
}

type Address = sys::CUdeviceptr;
type Device = sys::CUdevice;
type Context = sys::CUcontext;
type Stream = sys::CUstream;
type Module = sys::CUmodule;
type Function = sys::CUfunction;

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// Pointers to the functions.
        pub(crate) struct Api {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Api {
            /// Finds all functions, or gives the name of one that is missing.
            fn find() -> Result<Api, &'static str> {
                // SAFETY: the library was found, and its initialization has no preconditions.
                let library = unsafe { sys::culib() };
                Ok(Api {
                    $($field: {
                        // SAFETY: the type is that of the function in the driver's header `cuda.h`.
                        let found = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) -> c_int>($symbol.as_bytes())
                        };
                        *found.map_err(|_| $symbol)?
                    },)*
                })
            }
        }
    };
}

functions! {
    init = "cuInit" (c_uint);
    driver_version = "cuDriverGetVersion" (*mut c_int);
    error_name = "cuGetErrorName" (c_int, *mut *const c_char);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device = "cuDeviceGet" (*mut Device, c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, Device);
    device_memory = "cuDeviceTotalMem_v2" (*mut usize, Device);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, Device);
    retain = "cuDevicePrimaryCtxRetain" (*mut Context, Device);
    current = "cuCtxGetCurrent" (*mut Context);
    set_current = "cuCtxSetCurrent" (Context);
    free_memory = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    alloc = "cuMemAlloc_v2" (*mut Address, usize);
    free = "cuMemFree_v2" (Address);
    alloc_host = "cuMemAllocHost_v2" (*mut *mut c_void, usize);
    copy_in = "cuMemcpyHtoDAsync_v2" (Address, *const c_void, usize, Stream);
    copy_out = "cuMemcpyDtoHAsync_v2" (*mut c_void, Address, usize, Stream);
    copy_within = "cuMemcpyDtoDAsync_v2" (Address, Address, usize, Stream);
    copy_peer = "cuMemcpyPeerAsync" (Address, Context, Address, Context, usize, Stream);
    enable_peer = "cuCtxEnablePeerAccess" (Context, c_uint);
    stream = "cuStreamCreate" (*mut Stream, c_uint);
    synchronize = "cuStreamSynchronize" (Stream);
    begin_capture = "cuStreamBeginCapture_v2" (Stream, c_int);
    end_capture = "cuStreamEndCapture" (Stream, *mut sys::CUgraph);
    instantiate = "cuGraphInstantiateWithFlags" (*mut sys::CUgraphExec, sys::CUgraph, u64);
    launch_graph = "cuGraphLaunch" (sys::CUgraphExec, Stream);
    free_graph = "cuGraphDestroy" (sys::CUgraph);
    free_instance = "cuGraphExecDestroy" (sys::CUgraphExec);
    synchronize_all = "cuCtxSynchronize" ();
    event = "cuEventCreate" (*mut sys::CUevent, c_uint);
    record = "cuEventRecord" (sys::CUevent, Stream);
    wait_event = "cuStreamWaitEvent" (Stream, sys::CUevent, c_uint);
    free_event = "cuEventDestroy_v2" (sys::CUevent);
    await_event = "cuEventSynchronize" (sys::CUevent);
    load = "cuModuleLoadDataEx" (*mut Module, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    unload = "cuModuleUnload" (Module);
    function = "cuModuleGetFunction" (*mut Function, Module, *const c_char);
    function_attribute = "cuFuncGetAttribute" (*mut c_int, c_int, Function);
    set_attribute = "cuFuncSetAttribute" (Function, c_int, c_int);
    launch = "cuLaunchKernel"
        (Function, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Stream, *mut *mut c_void, *mut *mut c_void);
    launch_clusters = "cuLaunchKernelEx"
        (*const sys::CUlaunchConfig, Function, *mut *mut c_void, *mut *mut c_void);
}

/// Why the driver cannot be used.
#[derive(Clone, Debug)]
pub(crate) enum Missing {
    Library,
    Function(&'static str),
}

impl Api {
    /// The driver's functions.
    pub fn load() -> Result<Api, Missing> {
        // SAFETY: opening a library runs its initialization, which has no preconditions. Asked before anything else, since
        // the functions of `sys` panic without it.
        if !unsafe { sys::is_culib_present() } {
            return Err(Missing::Library);
        }
        Api::find().map_err(Missing::Function)
    }

    /// What the driver calls a result, with its number.
    pub fn text(&self, code: Code) -> String {
        let mut name = std::ptr::null();
        // SAFETY: the function takes any number, and writes a pointer.
        let status = unsafe { (self.error_name)(code.0, &mut name) };
        if status != 0 || name.is_null() {
            return format!("error {} of the driver", code.0);
        }
        // SAFETY: the driver gave a text that lives as long as it does.
        let name = unsafe { CStr::from_ptr(name) };
        format!("{} ({})", name.to_string_lossy(), code.0)
    }
}

/// A tensor map.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorMap(pub [u64; 16]);

/// `cuTensorMapEncodeTiled`: map, type, dimensions, address, sizes, strides, region, steps, interleave, swizzle, promotion, fill.
pub(crate) type EncodeTiled = unsafe extern "C" fn(
    *mut TensorMap,
    c_int,
    u32,
    *mut c_void,
    *const u64,
    *const u64,
    *const u32,
    *const u32,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// The function that makes tensor maps, which drivers before CUDA 12 lack. [`Api::load`] has found the library.
pub(crate) fn encode_tiled() -> Option<EncodeTiled> {
    // SAFETY: the library was found, and its initialization has no preconditions.
    let library = unsafe { sys::culib() };
    // SAFETY: the type is that of the function in the driver's header `cuda.h`.
    unsafe { library.get::<EncodeTiled>(b"cuTensorMapEncodeTiled") }.ok().map(|found| *found)
}

/// A result as a number.
pub(crate) fn check(status: c_int) -> Result<(), Code> {
    if status == 0 { Ok(()) } else { Err(Code(status)) }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the driver's functions")
    }
}
