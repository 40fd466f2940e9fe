//! The compiler of PTX that the driver brings along, a library of its own: where loading makes machine code of one text after
//! the other, it takes one from each thread.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::LazyLock;

use libloading::Library;

const LIBRARY: &str = "libnvidia-ptxjitcompiler.so.1";

type Handle = *mut c_void;

/// Its functions, those of NVIDIA's `nvPTXCompiler.h`.
struct Functions {
    create: unsafe extern "C" fn(*mut Handle, usize, *const c_char) -> c_int,
    compile: unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int,
    size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
    code: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    destroy: unsafe extern "C" fn(*mut Handle) -> c_int,
    /// What they are of.
    _library: Library,
}

/// Found once; drivers that lack it load texts.
static FUNCTIONS: LazyLock<Option<Functions>> = LazyLock::new(Functions::find);

impl Functions {
    fn find() -> Option<Functions> {
        // SAFETY: opening a library runs its initialization, which has no preconditions: the driver opens it the same way.
        let library = unsafe { Library::new(LIBRARY) }.ok()?;
        macro_rules! found {
            ($name:literal) => {
                // SAFETY: the type is that of the function in `nvPTXCompiler.h`.
                *unsafe { library.get($name) }.ok()?
            };
        }
        Some(Functions {
            create: found!(b"nvPTXCompilerCreate"),
            compile: found!(b"nvPTXCompilerCompile"),
            size: found!(b"nvPTXCompilerGetCompiledProgramSize"),
            code: found!(b"nvPTXCompilerGetCompiledProgram"),
            destroy: found!(b"nvPTXCompilerDestroy"),
            _library: library,
        })
    }

    /// The machine code of a text, unless something is wrong with it.
    fn assemble(&self, text: &CStr, processor: &CStr) -> Option<Vec<u8>> {
        let mut handle = null_mut();
        // SAFETY: the function writes a handle, and reads so many bytes, after which a 0 follows.
        if unsafe { (self.create)(&mut handle, text.to_bytes().len(), text.as_ptr()) } != 0 {
            return None;
        }
        let options = [processor.as_ptr()];
        let mut made = Vec::new();
        // SAFETY: the handle was made above and is this thread's alone; options are texts that live as long as the call. The code
        // is written to as many bytes as it has.
        let done = unsafe {
            let mut bytes = 0;
            (self.compile)(handle, options.len() as c_int, options.as_ptr()) == 0
                && (self.size)(handle, &mut bytes) == 0
                && {
                    made = vec![0u8; bytes];
                    (self.code)(handle, made.as_mut_ptr().cast()) == 0
                }
        };
        // SAFETY: nothing uses the handle any more.
        unsafe { (self.destroy)(&mut handle) };
        (done && !made.is_empty()).then_some(made)
    }
}

/// Whether there is one.
pub(super) fn is_there() -> bool {
    FUNCTIONS.is_some()
}

/// The machine code of a text for a processor (`sm_90a`); nothing where there is no compiler, or the text is wrong.
pub(super) fn assemble(text: &[u8], processor: &str) -> Option<Vec<u8>> {
    let (text, processor) = (CString::new(text).ok()?, CString::new(format!("--gpu-name={processor}")).ok()?);
    FUNCTIONS.as_ref()?.assemble(&text, &processor)
}
