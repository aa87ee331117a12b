//! The runtime's functions, called by name on a copy of the simulator.
//!
//! # Safety
//!
//! Handles and addresses are numbers here; the simulator looks them up and follows none that it did not check.
//! Host memory that is named in a call outlives the work, except where a test is about that.

#![expect(unsafe_code, reason = "functions of a library are called")]
#![expect(clippy::multiple_unsafe_ops_per_block, reason = "a function that was looked up is called")]

use std::env;
use std::ffi::{CStr, c_char, c_void};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::ptr;

use testkit::sim::{Finding, Major, Sim};

pub(crate) const H2D: i32 = 1;
pub(crate) const D2H: i32 = 2;
pub(crate) const D2D: i32 = 3;
pub(crate) const BY_POINTERS: i32 = 4;
pub(crate) const LEGACY: usize = 0;

/// A copy of the simulator and its functions.
pub(crate) struct Cuda(pub(crate) Sim);

macro_rules! functions {
    ($($name:ident = $symbol:ident($($argument:ident: $type:ty),*);)*) => {
        impl Cuda {
            $(pub(crate) fn $name(&self, $($argument: $type),*) -> i32 {
                // SAFETY: an argument is a number or a reference where C has a pointer, which are passed alike.
                let function = unsafe { self.0.symbol::<unsafe extern "C" fn($($type),*) -> i32>(stringify!($symbol)) };
                // SAFETY: see the module's argument.
                unsafe { function($($argument),*) }
            })*
        }
    };
}

functions! {
    runtime_version = cudaRuntimeGetVersion(out: &mut i32);
    driver_version = cudaDriverGetVersion(out: &mut i32);
    device_count = cudaGetDeviceCount(out: &mut i32);
    get_device = cudaGetDevice(out: &mut i32);
    set_device = cudaSetDevice(device: i32);
    attribute = cudaDeviceGetAttribute(out: &mut i32, attribute: i32, device: i32);
    pci_bus_id = cudaDeviceGetPCIBusId(out: *mut u8, room: i32, device: i32);
    device_synchronize = cudaDeviceSynchronize();
    device_reset = cudaDeviceReset();
    last_error = cudaGetLastError();
    peek_error = cudaPeekAtLastError();
    malloc = cudaMalloc(out: &mut usize, bytes: usize);
    free = cudaFree(address: usize);
    malloc_async = cudaMallocAsync(out: &mut usize, bytes: usize, stream: usize);
    free_async = cudaFreeAsync(address: usize, stream: usize);
    malloc_host = cudaMallocHost(out: &mut usize, bytes: usize);
    host_alloc = cudaHostAlloc(out: &mut usize, bytes: usize, flags: u32);
    free_host = cudaFreeHost(address: usize);
    host_register = cudaHostRegister(address: usize, bytes: usize, flags: u32);
    host_unregister = cudaHostUnregister(address: usize);
    host_device_pointer = cudaHostGetDevicePointer(out: &mut usize, host: usize, flags: u32);
    memcpy = cudaMemcpy(to: usize, from: usize, bytes: usize, kind: i32);
    memcpy_async = cudaMemcpyAsync(to: usize, from: usize, bytes: usize, kind: i32, stream: usize);
    memcpy_2d_async = cudaMemcpy2DAsync(to: usize, to_pitch: usize, from: usize, from_pitch: usize, row: usize,
        rows: usize, kind: i32, stream: usize);
    memset = cudaMemset(to: usize, value: i32, bytes: usize);
    memset_async = cudaMemsetAsync(to: usize, value: i32, bytes: usize, stream: usize);
    launch_host = cudaLaunchHostFunc(stream: usize, function: extern "C" fn(*mut c_void), data: *mut c_void);
    stream_create = cudaStreamCreate(out: &mut usize);
    stream_create_with_flags = cudaStreamCreateWithFlags(out: &mut usize, flags: u32);
    stream_destroy = cudaStreamDestroy(stream: usize);
    stream_synchronize = cudaStreamSynchronize(stream: usize);
    stream_query = cudaStreamQuery(stream: usize);
    stream_wait_event = cudaStreamWaitEvent(stream: usize, event: usize, flags: u32);
    stream_device = cudaStreamGetDevice(stream: usize, out: &mut i32);
    is_capturing = cudaStreamIsCapturing(stream: usize, out: &mut i32);
    begin_capture = cudaStreamBeginCapture(stream: usize, mode: i32);
    end_capture = cudaStreamEndCapture(stream: usize, out: &mut usize);
    graph_destroy = cudaGraphDestroy(graph: usize);
    exchange_capture_mode = cudaThreadExchangeStreamCaptureMode(mode: &mut i32);
    event_create = cudaEventCreate(out: &mut usize);
    event_create_with_flags = cudaEventCreateWithFlags(out: &mut usize, flags: u32);
    event_destroy = cudaEventDestroy(event: usize);
    event_record = cudaEventRecord(event: usize, stream: usize);
    event_query = cudaEventQuery(event: usize);
    event_synchronize = cudaEventSynchronize(event: usize);
    destroy_external = cudaDestroyExternalMemory(memory: usize);
    cu_init = cuInit(flags: u32);
    ctx_current = cuCtxGetCurrent(out: &mut usize);
    ctx_push = cuCtxPushCurrent_v2(context: usize);
    ctx_pop = cuCtxPopCurrent_v2(out: &mut usize);
    ctx_device = cuCtxGetDevice(out: &mut i32);
    ctx_id = cuCtxGetId(context: usize, out: &mut u64);
    ctx_create = cuCtxCreate_v2(out: &mut usize, flags: u32, device: i32);
    ctx_destroy = cuCtxDestroy_v2(context: usize);
    stream_ctx = cuStreamGetCtx(stream: usize, out: &mut usize);
    primary_state = cuDevicePrimaryCtxGetState(device: i32, flags: &mut u32, active: &mut i32);
    primary_retain = cuDevicePrimaryCtxRetain(out: &mut usize, device: i32);
    primary_release = cuDevicePrimaryCtxRelease_v2(device: i32);
}

impl Cuda {
    pub(crate) fn open(major: Major) -> Cuda {
        Cuda(Sim::open(major))
    }

    /// A copy that plays 12, after some commands.
    pub(crate) fn with(commands: &str) -> Cuda {
        let cuda = Cuda::open(Major::V12);
        cuda.0.control(commands);
        cuda
    }

    pub(crate) fn allocate(&self, bytes: usize) -> usize {
        let mut address = 0;
        ok(self.malloc(&mut address, bytes));
        address
    }

    pub(crate) fn pinned(&self, bytes: usize) -> usize {
        let mut address = 0;
        ok(self.malloc_host(&mut address, bytes));
        address
    }

    /// A stream that does not wait for the legacy one.
    pub(crate) fn stream(&self) -> usize {
        let mut stream = 0;
        ok(self.stream_create_with_flags(&mut stream, 1));
        stream
    }

    pub(crate) fn blocking_stream(&self) -> usize {
        let mut stream = 0;
        ok(self.stream_create(&mut stream));
        stream
    }

    pub(crate) fn event(&self) -> usize {
        let mut event = 0;
        ok(self.event_create_with_flags(&mut event, 2));
        event
    }

    /// An event that stands for all that the stream has to do now.
    pub(crate) fn mark(&self, stream: usize) -> usize {
        let event = self.event();
        ok(self.event_record(event, stream));
        event
    }

    /// `cudaImportExternalMemory`, with the structure of this major.
    pub(crate) fn import_desc<T>(&self, out: &mut usize, desc: &T) -> i32 {
        // SAFETY: both are pointers for C, and the caller passes the structure of its major.
        let import =
            unsafe { self.0.symbol::<unsafe extern "C" fn(&mut usize, &T) -> i32>("cudaImportExternalMemory") };
        // SAFETY: as before.
        unsafe { import(out, desc) }
    }

    /// `cudaExternalMemoryGetMappedBuffer`, with the structure of this major.
    pub(crate) fn map_desc<T>(&self, out: &mut usize, memory: usize, desc: &T) -> i32 {
        type Map<T> = unsafe extern "C" fn(&mut usize, usize, &T) -> i32;
        // SAFETY: as for the import.
        let map = unsafe { self.0.symbol::<Map<T>>("cudaExternalMemoryGetMappedBuffer") };
        // SAFETY: as before.
        unsafe { map(out, memory, desc) }
    }

    /// A structure that a call fills.
    pub(crate) fn filled<T: Copy, A>(&self, symbol: &str, argument: A) -> Result<T, i32> {
        let mut out = [0u64; 512];
        assert!(size_of::<T>() <= size_of_val(&out));
        // SAFETY: the symbols that tests name here take an output and one argument.
        let function = unsafe { self.0.symbol::<unsafe extern "C" fn(*mut u64, A) -> i32>(symbol) };
        // SAFETY: the buffer is larger than every structure.
        let code = unsafe { function(out.as_mut_ptr(), argument) };
        // SAFETY: the structures are numbers only, and the buffer is aligned for them.
        if code == 0 { Ok(unsafe { ptr::read(out.as_ptr().cast()) }) } else { Err(code) }
    }

    /// A text that a call gives for a code.
    pub(crate) fn text(&self, symbol: &str, code: i32) -> String {
        // SAFETY: the two symbols that tests name here have this signature.
        let function = unsafe { self.0.symbol::<unsafe extern "C" fn(i32) -> *const c_char>(symbol) };
        // SAFETY: the text is static.
        let text = unsafe { CStr::from_ptr(function(code)) };
        text.to_string_lossy().into_owned()
    }

    /// Host memory that the runtime allocated, to look at.
    pub(crate) fn bytes(&self, address: usize, bytes: usize) -> Vec<u8> {
        // SAFETY: tests call this for memory of `cudaMallocHost` that lives, with no work pending on it.
        unsafe { std::slice::from_raw_parts(ptr::with_exposed_provenance(address), bytes) }.to_vec()
    }

    /// Writes host memory that the runtime allocated.
    pub(crate) fn write(&self, address: usize, bytes: &[u8]) {
        let to = ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: as for `bytes`.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// What device memory holds, by a copy that waits.
    pub(crate) fn contents(&self, address: usize, bytes: usize) -> Vec<u8> {
        let host = vec![0u8; bytes];
        ok(self.memcpy(host.as_ptr().addr(), address, bytes, D2H));
        host
    }

    /// The kinds of the findings so far, which then count as dealt with.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.0.take_findings().into_iter().map(|finding| finding.kind).collect()
    }

    /// Exactly one finding was made, of this kind; it is taken.
    #[track_caller]
    pub(crate) fn found(&self, kind: &str) -> Finding {
        let findings = self.0.take_findings();
        let [finding] = findings.as_slice() else {
            panic!("one finding `{kind}` expected: {findings:#?}");
        };
        assert_eq!(finding.kind, kind, "{finding:?}");
        finding.clone()
    }

    /// Nothing is pending any more, and nothing is left.
    pub(crate) fn finish(self) {
        self.0.finish();
    }
}

#[track_caller]
pub(crate) fn ok(code: i32) {
    assert_eq!(code, 0);
}

/// The address of host memory, as a call takes it.
pub(crate) fn at<T>(memory: &[T]) -> usize {
    memory.as_ptr().expose_provenance()
}

/// Page-aligned memory of a test's own.
pub(crate) struct Pages {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
}

impl Pages {
    pub(crate) fn new(bytes: usize) -> Pages {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping touches no memory that exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Pages { address: start.expose_provenance(), bytes }
    }

    pub(crate) fn read_only(self) -> Pages {
        // SAFETY: the range is this value's own.
        let result = unsafe { libc::mprotect(self.pointer(), self.bytes, libc::PROT_READ) };
        assert_eq!(result, 0);
        self
    }

    fn pointer(&self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.address)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is this value's own.
        unsafe { libc::munmap(self.pointer(), self.bytes) };
    }
}

/// Set in the re-executed test.
pub(crate) const CHILD: &str = "EDGEFIRST_TEST_CHILD";

/// Whether this is the re-executed test.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// Whether this is the re-executed test, in the variant of that name.
pub(crate) fn child_is(variant: &str) -> bool {
    env::var_os(CHILD).is_some_and(|value| value == variant)
}

/// Runs a test of this program again, alone, in a process of its own.
pub(crate) fn run_child(test: &str, environment: &[(&str, &str)]) -> Output {
    let program = env::current_exe().expect("path of the test program");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    command.env_remove("CUDA_VISIBLE_DEVICES").env_remove("EDGEFIRST_CUDA_SIM");
    // A sanitizer is to leave the signals alone that tests wait for.
    let sanitizer = env::var("ASAN_OPTIONS").unwrap_or_default() + ":handle_segv=0:handle_abort=0";
    command.env("ASAN_OPTIONS", sanitizer).envs(environment.iter().copied());
    // A child may end without clearing up; its copies of the simulator go with this folder.
    let folder = tempfile::tempdir().expect("a temporary folder");
    command.env("TMPDIR", folder.path()).output().expect("run the test program")
}

/// What a process wrote to stderr.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a test that looks at the whole process in one that has no other test in it.
pub(crate) fn alone(test: &str, run: impl FnOnce()) {
    if is_child() {
        run();
        return;
    }
    let output = run_child(test, &[]);
    assert!(output.status.success(), "{output:?}");
}

/// Runs a wrong program, which must end by the signal after it printed the finding. In the child: runs it.
pub(crate) fn dies(test: &str, signal: i32, says: &str, wrong: impl FnOnce()) {
    if is_child() {
        wrong();
        return;
    }
    let output = run_child(test, &[]);
    assert_eq!(output.status.signal(), Some(signal), "{output:?}");
    assert!(stderr(&output).contains(says), "{}", stderr(&output));
}

/// The program must abort with this finding.
pub(crate) fn aborts(test: &str, kind: &str, wrong: impl FnOnce()) {
    dies(test, libc::SIGABRT, &format!("finding {kind}: "), wrong);
}

/// Reads a byte at an address.
pub(crate) fn follow(address: usize) -> u8 {
    // SAFETY: none: a device address is to fault, which the parent process checks.
    unsafe { ptr::with_exposed_provenance::<u8>(address).read_volatile() }
}

/// A file's bytes, mapped as its exporter would.
pub(crate) struct Shared {
    pub(crate) address: usize,
    bytes: usize,
}

impl Shared {
    pub(crate) fn new(file: &impl std::os::fd::AsRawFd, bytes: usize) -> Shared {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping touches no memory that exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(start, libc::MAP_FAILED);
        Shared { address: start.expose_provenance(), bytes }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the range is this value's own.
        unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.address), self.bytes) };
    }
}

/// Forks; the child runs the call and exits with what it returned, which is given back here.
pub(crate) fn fork_and_wait(call: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the test process has one thread besides the harness's, and the child calls the simulator only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child without running what belongs to its parent.
        unsafe { libc::_exit(call()) };
    }
    let mut status = 0;
    // SAFETY: the child was made above.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(waited == child && libc::WIFEXITED(status), "the child ended with {status:#x}");
    libc::WEXITSTATUS(status)
}

/// What the marker of a copy says.
pub(crate) fn marker(sim: &Sim) -> String {
    // SAFETY: the signature is that of the table of symbols.
    let marker = unsafe { sim.symbol::<extern "C" fn() -> *const c_char>("edgefirst_cuda_sim") };
    // SAFETY: the text is static.
    unsafe { CStr::from_ptr(marker()) }.to_string_lossy().into_owned()
}
