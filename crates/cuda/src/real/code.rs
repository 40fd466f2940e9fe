//! What NVIDIA's driver runs: loaded code, its kernels, and launches that were recorded.

use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::sys;
use smallvec::SmallVec;
use svod_codegen::gpu::{Argument, Call, MapArgument};
use svod_device::{DeviceError, Result};
use svod_dtype::DType;

use super::{Open, RECORDED, RECORDS};
use crate::api::{self, TensorMap};
use crate::driver::{Graph, Kernel, Launch, Module};

/// Launches that were recorded.
pub(super) struct RealGraph {
    pub gpu: Arc<Open>,
    pub instance: sys::CUgraphExec,
    pub kernels: Vec<Arc<str>>,
}

// SAFETY: the handle is the driver's, which takes it from any thread.
unsafe impl Send for RealGraph {}
// SAFETY: as above; the driver orders launches of one graph.
unsafe impl Sync for RealGraph {}

impl Graph for RealGraph {
    unsafe fn launch(&self) -> Result<()> {
        self.gpu.note(&self.kernels);
        // SAFETY: the caller's promise.
        self.gpu.call("cuGraphLaunch", |api| unsafe { (api.launch_graph)(self.instance, self.gpu.stream) })
    }
}

impl Drop for RealGraph {
    fn drop(&mut self) {
        if self.gpu.wait().is_ok() {
            // SAFETY: nobody launches it any more, and it is not running.
            let _ = self.gpu.call("cuGraphExecDestroy", |api| unsafe { (api.free_instance)(self.instance) });
        }
    }
}

impl fmt::Debug for RealGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a graph on {}", self.gpu.spec)
    }
}

/// Code that the driver has loaded.
pub(super) struct RealModule {
    pub gpu: Arc<Open>,
    pub handle: sys::CUmodule,
    pub name: Arc<str>,
}

// SAFETY: the handle is the driver's, which takes it from any thread.
unsafe impl Send for RealModule {}
// SAFETY: as above.
unsafe impl Sync for RealModule {}

impl Module for RealModule {
    fn kernel(self: Arc<Self>, entry: &str, threads: u32) -> Result<Arc<dyn Kernel>> {
        let failed =
            |message| DeviceError::Load { device: self.gpu.spec.clone(), name: self.name.to_string(), message };
        let name = CString::new(entry).map_err(|_| failed("a name has a zero byte".into()))?;
        let mut function = null_mut();
        // SAFETY: the driver writes the handle; module and name live as long as the call.
        let found = self.gpu.try_call("cuModuleGetFunction", |api| unsafe {
            (api.function)(&mut function, self.handle, name.as_ptr())
        })?;
        found.map_err(|code| failed(format!("entry point {entry}: {}", self.gpu.driver.api.text(code))))?;
        let mut most = 0;
        use sys::CUfunction_attribute_enum as Attribute;
        let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK as c_int;
        // SAFETY: a pointer to a number, which the driver writes.
        self.gpu.call("cuFuncGetAttribute", |api| unsafe { (api.function_attribute)(&mut most, which, function) })?;
        if i64::from(threads) > i64::from(most) {
            return Err(failed(format!("its blocks have {threads} threads, but its registers suffice for {most}")));
        }
        Ok(Arc::new(RealKernel {
            function,
            threads,
            name: entry.into(),
            prepared: AtomicBool::new(false),
            module: self,
        }))
    }
}

impl Drop for RealModule {
    fn drop(&mut self) {
        if self.gpu.wait().is_ok() {
            // SAFETY: nobody launches its kernels any more, and none is running.
            let _ = self.gpu.call("cuModuleUnload", |api| unsafe { (api.unload)(self.handle) });
        }
    }
}

impl fmt::Debug for RealModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.name, self.gpu.spec)
    }
}

/// Dimensions that a tensor map has at most.
const MOST_DIMENSIONS: usize = 5;

/// An entry point of it.
struct RealKernel {
    function: sys::CUfunction,
    threads: u32,
    name: Arc<str>,
    /// Whether the driver knows how much shared memory it has, if it is written as a whole.
    prepared: AtomicBool,
    module: Arc<RealModule>,
}

// SAFETY: the handle is the driver's, which takes it from any thread.
unsafe impl Send for RealKernel {}
// SAFETY: as above.
unsafe impl Sync for RealKernel {}

impl RealKernel {
    /// Hands over a launch of so many blocks, in clusters of some of them, with these arguments.
    ///
    /// # Safety
    /// As for [`Kernel::launch`]; each pointer is to an argument of the kernel.
    unsafe fn hand_over(&self, blocks: u32, cluster: u32, shared: u32, arguments: &mut [*mut c_void]) -> Result<()> {
        let gpu = &*self.module.gpu;
        let recording = RECORDS.get();
        let stream = if recording == gpu.recording {
            RECORDED.with_borrow_mut(|kernels| kernels.push(self.name.clone()));
            recording
        } else {
            gpu.note(std::slice::from_ref(&self.name));
            gpu.stream
        };
        let threads = self.threads;
        if cluster > 1 {
            let mut attribute = sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { pad: [0; 64] },
            };
            attribute.value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: cluster, y: 1, z: 1 };
            let config = sys::CUlaunchConfig {
                gridDimX: blocks,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: threads,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: shared,
                hStream: stream,
                attrs: &mut attribute,
                numAttrs: 1,
            };
            // SAFETY: as below; configuration and attribute live as long as the call.
            return gpu.call(&self.name, |api| unsafe {
                (api.launch_clusters)(&config, self.function, arguments.as_mut_ptr(), null_mut())
            });
        }
        // SAFETY: the caller's promise; the arguments are copied before the call returns.
        gpu.call(&self.name, |api| unsafe {
            (api.launch)(self.function, blocks, 1, 1, threads, 1, 1, shared, stream, arguments.as_mut_ptr(), null_mut())
        })
    }

    /// A tensor map of an argument.
    fn map(&self, map: &MapArgument, buffers: &[*mut u8], scratch: u64) -> Result<TensorMap> {
        let gpu = &*self.module.gpu;
        let failed = |message| DeviceError::Execute { device: gpu.spec.clone(), name: self.name.to_string(), message };
        let encode = api::encode_tiled().ok_or_else(|| failed("the driver makes no tensor maps".into()))?;
        use sys::CUtensorMapDataType_enum as Type;
        let dtype = match map.dtype {
            DType::BF16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            DType::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            // What lies outside is zeros of any of these.
            dtype if dtype.bytes() == 1 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            _ => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        };
        let swizzle = sys::CUtensorMapSwizzle_enum::CU_TENSOR_MAP_SWIZZLE_128B as c_int;
        let promotion = sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_128B as c_int;
        let (mut made, steps) = (TensorMap([0; 16]), [1u32; MOST_DIMENSIONS]);
        let rank = map.sizes.len();
        if rank > MOST_DIMENSIONS || map.strides.len() + 1 != rank || map.region.len() != rank {
            return Err(failed(format!("tensor map {map:?} has no {rank} dimensions")));
        }
        let start = map.param.map_or(std::ptr::without_provenance_mut(scratch as usize), |param| buffers[param]);
        let address = start.wrapping_add(map.offset as usize).cast();
        let (sizes, strides, region) = (map.sizes.as_ptr(), map.strides.as_ptr(), map.region.as_ptr());
        // SAFETY: all pointers are to as many numbers as there are dimensions; the address is only noted.
        let status = gpu.try_call("cuTensorMapEncodeTiled", |_| unsafe {
            let steps: *const u32 = steps.as_ptr();
            encode(
                &mut made,
                dtype as c_int,
                rank as u32,
                address,
                sizes,
                strides,
                region,
                steps,
                0,
                swizzle,
                promotion,
                0,
            )
        })?;
        status.map_err(|code| failed(format!("tensor map {map:?}: {}", gpu.driver.api.text(code))))?;
        Ok(made)
    }
}

impl Kernel for RealKernel {
    unsafe fn launch(&self, launch: &Launch) -> Result<()> {
        // Every argument has eight bytes: the driver copies as many as the kernel's parameter has.
        let mut words: SmallVec<[u64; 16]> = launch.buffers.iter().map(|b| b.addr() as u64).collect();
        words.extend(launch.values.iter().map(|v| *v as u64));
        words.push(launch.memory);
        let mut arguments: SmallVec<[*mut c_void; 16]> = words.iter_mut().map(|w| (w as *mut u64).cast()).collect();
        // SAFETY: the caller's promise.
        unsafe { self.hand_over(launch.blocks, 1, 0, &mut arguments) }
    }

    unsafe fn launch_whole(&self, call: &Call, buffers: &[*mut u8], scratch: u64) -> Result<()> {
        let gpu = &*self.module.gpu;
        if !self.prepared.load(Ordering::Relaxed) {
            use sys::CUfunction_attribute_enum as Attribute;
            let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_int;
            // SAFETY: a number for a function.
            gpu.call("cuFuncSetAttribute", |api| unsafe {
                (api.set_attribute)(self.function, which, call.shared as c_int)
            })?;
            self.prepared.store(true, Ordering::Relaxed);
        }
        let mut maps: SmallVec<[TensorMap; 4]> = SmallVec::new();
        let mut words: SmallVec<[u64; 16]> = SmallVec::new();
        for argument in &call.arguments {
            match argument {
                Argument::Map(map) => maps.push(self.map(map, buffers, scratch)?),
                Argument::Pointer(param, offset) => words.push(buffers[*param].addr() as u64 + offset),
                Argument::Number(number) => words.push(*number as u64),
                Argument::Scratch(offset) => words.push(scratch + offset),
            }
        }
        let (mut maps, mut words) = (maps.iter_mut(), words.iter_mut());
        let pointer = |argument: &Argument| match argument {
            Argument::Map(_) => maps.next().map_or(null_mut(), |map| (map as *mut TensorMap).cast()),
            _ => words.next().map_or(null_mut(), |word| (word as *mut u64).cast()),
        };
        let mut arguments: SmallVec<[*mut c_void; 16]> = call.arguments.iter().map(pointer).collect();
        // SAFETY: the caller's promise; maps and words live as long as the call.
        unsafe { self.hand_over(call.blocks, call.cluster, call.shared, &mut arguments) }
    }
}

impl fmt::Debug for RealKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.name, self.module.gpu.spec)
    }
}
