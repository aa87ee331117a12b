//! The application's side: its own CUDA calls, made on a simulator copy as its own code would make them.
//!
//! # Safety
//! The signatures are those of NVIDIA's headers. Handles and addresses come from the tests, which make wrong ones on
//! purpose: the simulator checks them.

#![expect(unsafe_code, reason = "functions of a library are called")]
#![expect(clippy::not_unsafe_ptr_arg_deref, reason = "the simulator checks what it is given")]
#![expect(clippy::missing_panics_doc, reason = "every call here fails the test if it fails")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use crate::sim::Sim;

/// Work in a stream that does not end before it is let go.
#[derive(Debug)]
pub struct Gate {
    open: Sender<()>,
}

impl Gate {
    /// Lets the stream go on.
    pub fn open(self) {
        let _ = self.open.send(());
    }
}

/// A gate that nobody opens opens by itself, so that no test hangs.
const LONGEST: Duration = Duration::from_secs(20);

extern "C" fn wait_at_gate(opened: *mut c_void) {
    // SAFETY: the box that `Sim::gate` gave away, once.
    let opened = unsafe { Box::from_raw(opened.cast::<Receiver<()>>()) };
    let _ = opened.recv_timeout(LONGEST);
}

impl Sim {
    /// Calls one of the runtime's functions and answers its code.
    fn call<F: Copy>(&self, symbol: &str, call: impl FnOnce(F) -> c_int) -> c_int {
        // SAFETY: each caller below names the type of its symbol.
        call(unsafe { self.symbol::<F>(symbol) })
    }

    /// The error pending on this thread; it stays pending.
    #[must_use]
    pub fn pending_error(&self) -> c_int {
        // SAFETY: takes nothing.
        self.call("cudaPeekAtLastError", |f: unsafe extern "C" fn() -> c_int| unsafe { f() })
    }

    /// Takes the error pending on this thread.
    pub fn take_error(&self) -> c_int {
        // SAFETY: takes nothing.
        self.call("cudaGetLastError", |f: unsafe extern "C" fn() -> c_int| unsafe { f() })
    }

    /// `cudaSetDevice`; answers its code.
    pub fn set_device(&self, device: c_int) -> c_int {
        // SAFETY: takes a number.
        self.call("cudaSetDevice", |f: unsafe extern "C" fn(c_int) -> c_int| unsafe { f(device) })
    }

    /// The device that is current on this thread.
    #[must_use]
    pub fn current_device(&self) -> c_int {
        let mut device = -1;
        // SAFETY: writes one number.
        let code =
            self.call("cudaGetDevice", |f: unsafe extern "C" fn(*mut c_int) -> c_int| unsafe { f(&raw mut device) });
        assert_eq!(code, 0, "cudaGetDevice");
        device
    }

    /// The context that is current on this thread.
    #[must_use]
    pub fn current_context(&self) -> *mut c_void {
        let mut context = null_mut();
        type F = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
        // SAFETY: writes one handle.
        let code = self.call("cuCtxGetCurrent", |f: F| unsafe { f(&raw mut context) });
        assert_eq!(code, 0, "cuCtxGetCurrent");
        context
    }

    /// Makes a context of its own for this thread, and makes it current.
    pub fn push_new_context(&self, device: c_int) -> *mut c_void {
        let mut context = null_mut();
        type F = unsafe extern "C" fn(*mut *mut c_void, c_uint, c_int) -> c_int;
        // SAFETY: writes one handle.
        let code = self.call("cuCtxCreate_v2", |f: F| unsafe { f(&raw mut context, 0, device) });
        assert_eq!(code, 0, "cuCtxCreate");
        context
    }

    /// Destroys a context of [`Self::push_new_context`].
    pub fn destroy_context(&self, context: *mut c_void) {
        // SAFETY: the simulator checks it.
        let code = self.call("cuCtxDestroy_v2", |f: unsafe extern "C" fn(*mut c_void) -> c_int| unsafe { f(context) });
        assert_eq!(code, 0, "cuCtxDestroy");
    }

    /// Whether a device's primary context exists.
    #[must_use]
    pub fn has_context(&self, device: c_int) -> bool {
        let (mut flags, mut active) = (0, 0);
        type F = unsafe extern "C" fn(c_int, *mut c_uint, *mut c_int) -> c_int;
        // SAFETY: writes two numbers.
        let code =
            self.call("cuDevicePrimaryCtxGetState", |f: F| unsafe { f(device, &raw mut flags, &raw mut active) });
        assert_eq!(code, 0, "cuDevicePrimaryCtxGetState");
        active != 0
    }

    /// `cudaDeviceReset`; answers its code.
    pub fn reset_device(&self) -> c_int {
        // SAFETY: takes nothing.
        self.call("cudaDeviceReset", |f: unsafe extern "C" fn() -> c_int| unsafe { f() })
    }

    /// `cudaDeviceSynchronize`; answers its code.
    pub fn synchronize_device(&self) -> c_int {
        // SAFETY: takes nothing.
        self.call("cudaDeviceSynchronize", |f: unsafe extern "C" fn() -> c_int| unsafe { f() })
    }

    /// Waits until the device is idle, whatever an injected fault says meanwhile.
    pub fn quiesce(&self) {
        while self.synchronize_device() != 0 {
            self.take_error();
        }
    }

    /// `cudaHostRegister` with the default flags; answers its code.
    pub fn host_register(&self, memory: *mut u8, bytes: usize) -> c_int {
        type F = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> c_int;
        // SAFETY: the simulator checks the range.
        self.call("cudaHostRegister", |f: F| unsafe { f(memory.cast(), bytes, 0) })
    }

    /// `cudaHostUnregister`; answers its code.
    pub fn host_unregister(&self, memory: *mut u8) -> c_int {
        // SAFETY: the simulator checks the range.
        self.call("cudaHostUnregister", |f: unsafe extern "C" fn(*mut c_void) -> c_int| unsafe { f(memory.cast()) })
    }

    /// A stream of the application's.
    #[must_use]
    pub fn stream_create(&self) -> *mut c_void {
        let mut stream = null_mut();
        type F = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
        // SAFETY: writes one handle.
        let code = self.call("cudaStreamCreateWithFlags", |f: F| unsafe { f(&raw mut stream, 1) });
        assert_eq!(code, 0, "cudaStreamCreateWithFlags");
        stream
    }

    /// Ends a stream of the application's.
    pub fn stream_destroy(&self, stream: *mut c_void) {
        // SAFETY: the simulator checks it.
        let code = self.call("cudaStreamDestroy", |f: unsafe extern "C" fn(*mut c_void) -> c_int| unsafe { f(stream) });
        assert_eq!(code, 0, "cudaStreamDestroy");
    }

    /// Begins a capture with the given mode (0 global, 1 of this thread, 2 relaxed).
    pub fn begin_capture(&self, stream: *mut c_void, mode: c_int) {
        type F = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
        // SAFETY: the simulator checks it.
        let code = self.call("cudaStreamBeginCapture", |f: F| unsafe { f(stream, mode) });
        assert_eq!(code, 0, "cudaStreamBeginCapture");
    }

    /// Ends a capture and drops its graph; answers the code, which tells whether the capture was broken.
    pub fn end_capture(&self, stream: *mut c_void) -> c_int {
        let mut graph = null_mut::<c_void>();
        type F = unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int;
        // SAFETY: writes one handle.
        let code = self.call("cudaStreamEndCapture", |f: F| unsafe { f(stream, &raw mut graph) });
        if !graph.is_null() {
            // SAFETY: the graph just given.
            self.call("cudaGraphDestroy", |f: unsafe extern "C" fn(*mut c_void) -> c_int| unsafe { f(graph) });
        }
        code
    }

    /// Lets the stream wait until the gate is opened.
    #[must_use]
    pub fn gate(&self, stream: *mut c_void) -> Gate {
        let (open, opened) = mpsc::channel::<()>();
        let opened = Box::into_raw(Box::new(opened));
        type F = unsafe extern "C" fn(*mut c_void, extern "C" fn(*mut c_void), *mut c_void) -> c_int;
        // SAFETY: the function takes the box, and is called once.
        let code = self.call("cudaLaunchHostFunc", |f: F| unsafe { f(stream, wait_at_gate, opened.cast()) });
        assert_eq!(code, 0, "cudaLaunchHostFunc");
        Gate { open }
    }
}
