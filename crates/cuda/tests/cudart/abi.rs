//! Sizes, offsets and constants: ours against those that abi.c prints from the headers of each version.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::process::Command;

use edgefirst_cuda::Code;
use edgefirst_cuda::sys::types::*;
use edgefirst_cuda_sim::abi::{self, v11, v12, v13};

use super::cc;
use super::wheels::{ALL, Major, need_wheels};

/// Name and value of each line.
type Lines = BTreeMap<String, i64>;

/// The size and the offsets of a structure; `renamed` where the header nests what we do not, or names it differently.
macro_rules! structure {
    ($lines:ident, $name:ident = $ours:ty [$($($field:ident).+),*] $(renamed [$($($theirs:ident).+ = $own:ident),*])?) => {
        $lines.insert(concat!("sizeof(", stringify!($name), ")").to_owned(), bytes(size_of::<$ours>()));
        $($lines.insert(field(stringify!($name.$($field).+)), bytes(offset_of!($ours, $($field).+)));)*
        $($($lines.insert(field(stringify!($name.$($theirs).+)), bytes(offset_of!($ours, $own)));)*)?
    };
    ($lines:ident, $name:ident $($rest:tt)*) => { structure!($lines, $name = $name $($rest)*) };
}

/// The structures that the simulator declares in the module of a major.
macro_rules! simulated_structures {
    ($lines:ident, $major:ident) => {
        structure!($lines, cudaExternalMemoryHandleDesc = $major::ExternalMemoryHandleDesc [size, flags]
            renamed [r#type = kind, handle.fd = fd, handle.win32.name = name]);
        structure!($lines, cudaExternalMemoryBufferDesc = $major::ExternalMemoryBufferDesc [offset, size, flags]);
        structure!($lines, cudaPointerAttributes = $major::PointerAttributes [device]
            renamed [r#type = kind, devicePointer = device_pointer, hostPointer = host_pointer]);
        device_properties!($lines, $major::DeviceProp);
    };
}

macro_rules! device_properties {
    ($lines:ident, $type:ty) => {
        structure!($lines, cudaDeviceProp = $type [name, uuid, luid, major, minor]
            renamed [luidDeviceNodeMask = luid_device_node_mask, totalGlobalMem = total_global_mem]);
    };
}

macro_rules! values {
    ($lines:ident, $($name:ident)*) => { $($lines.insert(stringify!($name).to_owned(), i64::try_from($name).expect("a constant"));)* };
}

#[test]
fn every_line_of_every_version_is_ours() {
    need_wheels!();
    for major in ALL {
        compare(major, &headers(major), &ours(major), &simulated(major));
    }
}

/// The plain name of 12 serves programs that were built for 11.
#[test]
fn properties_under_the_plain_name_of_12_are_those_of_11() {
    need_wheels!();
    let mut lines = Lines::new();
    device_properties!(lines, v12::DevicePropV1);
    let theirs = headers(Major::V11);
    for (name, value) in lines {
        assert_eq!(theirs.get(&name), Some(&value), "{name}");
    }
}

/// The buffer for `cudaDeviceProp` and the structure for pointer attributes hold what any version writes.
#[test]
fn outputs_have_room_for_every_version() {
    need_wheels!();
    for major in ALL {
        let theirs = headers(major);
        assert!(theirs["sizeof(cudaDeviceProp)"] <= bytes(size_of::<DeviceProperties>()), "{major:?}");
        assert!(theirs["sizeof(cudaPointerAttributes)"] <= bytes(size_of::<cudaPointerAttributes>()), "{major:?}");
    }
}

/// Fails the test with all lines of which the crate's or the simulator's declaration differs, and with those that only the
/// headers or only we have.
fn compare(major: Major, theirs: &Lines, crates: &Lines, simulators: &Lines) {
    let names: BTreeSet<_> = [theirs, crates, simulators].into_iter().flat_map(Lines::keys).collect();
    let differs = |name: &String| {
        let ours = [crates.get(name), simulators.get(name)];
        let declared: Vec<_> = ours.into_iter().flatten().collect();
        let right = !declared.is_empty() && declared.iter().all(|value| Some(*value) == theirs.get(name));
        (!right).then(|| format!("{name}: headers {:?}, crate and simulator {ours:?}", theirs.get(name)))
    };
    let different: Vec<_> = names.into_iter().filter_map(differs).collect();
    assert!(different.is_empty(), "{major:?}\n{}", different.join("\n"));
}

fn headers(major: Major) -> Lines {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("abi");
    let mut compiler = cc::to(&program);
    for include in major.includes() {
        compiler.arg("-isystem").arg(include);
    }
    cc::compile(compiler.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cudart/abi.c")));
    let output = Command::new(&program).output().expect("it was made");
    let text = String::from_utf8(output.stdout).expect("it prints names and numbers");
    text.lines().map(line).collect()
}

fn line(text: &str) -> (String, i64) {
    let (name, value) = text.split_once(' ').expect("a name and a value");
    (name.to_owned(), value.parse().expect("a number"))
}

fn ours(major: Major) -> Lines {
    let mut lines = Lines::new();
    imports(&mut lines);
    semaphores(&mut lines);
    plain_structures(&mut lines);
    handle_types(&mut lines);
    flags_and_kinds(&mut lines);
    error_codes(&mut lines);
    as_in(major, &mut lines);
    lines
}

/// The differences between the versions, as the rule "pass the layout of 13, zeroed" needs them: older ones read a prefix.
fn as_in(major: Major, lines: &mut Lines) {
    const DEVICE_PROPERTIES: [i64; 3] = [728, 1032, 1008];
    const SHORTER: [(&str, i64); 5] = [
        ("cudaExternalMemoryHandleDesc", 40),
        ("cudaExternalMemoryBufferDesc", 24),
        ("cudaExternalMemoryMipmappedArrayDesc", 64),
        ("cudaExternalSemaphoreHandleDesc", 32),
        ("cudaPointerAttributes", 24),
    ];
    const ONLY_BEFORE_13: [(&str, i64); 4] = [
        ("sizeof(cudaExternalSemaphoreSignalParams_v1)", 32),
        ("cudaExternalSemaphoreSignalParams_v1.flags", 24),
        ("sizeof(cudaExternalSemaphoreWaitParams_v1)", 40),
        ("cudaExternalSemaphoreWaitParams_v1.flags", 32),
    ];
    lines.insert("sizeof(cudaDeviceProp)".to_owned(), DEVICE_PROPERTIES[major as usize]);
    if major == Major::V13 {
        return;
    }
    for (name, size) in SHORTER {
        lines.insert(format!("sizeof({name})"), size);
        lines.remove(&format!("{name}.reserved"));
    }
    lines.extend(ONLY_BEFORE_13.map(|(name, value)| (name.to_owned(), value)));
    lines.remove("cudaErrorContained");
}

fn bytes(count: usize) -> i64 {
    i64::try_from(count).expect("a size")
}

/// A path as C writes it.
fn field(path: &str) -> String {
    path.replace("r#", "").replace(' ', "")
}

fn imports(lines: &mut Lines) {
    structure!(lines, cudaExternalMemoryHandleDesc [r#type, handle.fd, handle.win32.handle, handle.win32.name, size, flags, reserved]);
    structure!(lines, cudaExternalMemoryBufferDesc [offset, size, flags, reserved]);
    structure!(lines, cudaExternalMemoryMipmappedArrayDesc [offset, formatDesc, extent, flags, numLevels, reserved]);
    structure!(lines, CUDA_EXTERNAL_MEMORY_HANDLE_DESC = cudaExternalMemoryHandleDesc
        [r#type, handle.fd, handle.win32.name, size, flags, reserved]);
    structure!(lines, CUDA_EXTERNAL_MEMORY_BUFFER_DESC = cudaExternalMemoryBufferDesc [offset, size, flags, reserved]);
}

fn semaphores(lines: &mut Lines) {
    structure!(lines, cudaExternalSemaphoreHandleDesc [r#type, handle.fd, handle.win32.handle, handle.win32.name, flags, reserved]);
    structure!(lines, cudaExternalSemaphoreSignalParams [flags, reserved] renamed [
        params.fence.value = fence_value,
        params.nvSciSync = nvSciSync,
        params.keyedMutex.key = keyedMutex_key,
        params.reserved = params_reserved
    ]);
    structure!(lines, cudaExternalSemaphoreWaitParams [flags, reserved] renamed [
        params.fence.value = fence_value,
        params.nvSciSync = nvSciSync,
        params.keyedMutex.key = keyedMutex_key,
        params.keyedMutex.timeoutMs = keyedMutex_timeoutMs
    ]);
}

fn plain_structures(lines: &mut Lines) {
    structure!(lines, cudaPointerAttributes [r#type, device, devicePointer, hostPointer]);
    structure!(lines, cudaChannelFormatDesc [x, y, z, w, f]);
    structure!(lines, cudaExtent [width, height, depth]);
    structure!(lines, cudaPos = cudaExtent [] renamed [x = width, y = height, z = depth]);
    structure!(lines, cudaPitchedPtr [ptr, pitch, xsize, ysize]);
    structure!(lines, cudaMemcpy3DParms [srcArray, srcPos, srcPtr, dstArray, dstPos, dstPtr, extent, kind]);
    structure!(lines, cudaIpcMemHandle_t []);
    structure!(lines, cudaDeviceProp = DeviceProperties [name, uuid, luid, luidDeviceNodeMask, totalGlobalMem]);
}

fn handle_types(lines: &mut Lines) {
    values!(lines,
        cudaExternalMemoryHandleTypeOpaqueFd cudaExternalMemoryHandleTypeOpaqueWin32
        cudaExternalMemoryHandleTypeOpaqueWin32Kmt cudaExternalMemoryHandleTypeD3D12Heap
        cudaExternalMemoryHandleTypeD3D12Resource cudaExternalMemoryHandleTypeD3D11Resource
        cudaExternalMemoryHandleTypeD3D11ResourceKmt cudaExternalMemoryHandleTypeNvSciBuf
        cudaExternalSemaphoreHandleTypeOpaqueFd cudaExternalSemaphoreHandleTypeOpaqueWin32
        cudaExternalSemaphoreHandleTypeOpaqueWin32Kmt cudaExternalSemaphoreHandleTypeD3D12Fence
        cudaExternalSemaphoreHandleTypeD3D11Fence cudaExternalSemaphoreHandleTypeNvSciSync
        cudaExternalSemaphoreHandleTypeKeyedMutex cudaExternalSemaphoreHandleTypeKeyedMutexKmt
        cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32
    );
}

fn flags_and_kinds(lines: &mut Lines) {
    values!(lines,
        cudaExternalMemoryDedicated cudaArrayColorAttachment
        cudaHostRegisterDefault cudaHostRegisterPortable cudaHostRegisterMapped cudaHostRegisterReadOnly
        cudaStreamNonBlocking cudaStreamLegacy cudaStreamPerThread cudaEventDisableTiming
        cudaMemcpyHostToHost cudaMemcpyHostToDevice cudaMemcpyDeviceToHost cudaMemcpyDeviceToDevice cudaMemcpyDefault
        cudaChannelFormatKindSigned cudaChannelFormatKindUnsigned cudaChannelFormatKindFloat
        cudaMemoryTypeUnregistered cudaMemoryTypeHost cudaMemoryTypeDevice cudaMemoryTypeManaged
        cudaStreamCaptureModeGlobal cudaStreamCaptureModeThreadLocal cudaStreamCaptureModeRelaxed
        cudaStreamCaptureStatusNone cudaStreamCaptureStatusActive cudaStreamCaptureStatusInvalidated
        cudaDevAttrHostRegisterSupported cudaDevAttrHostRegisterReadOnlySupported cudaDevAttrMemoryPoolsSupported
    );
}

fn error_codes(lines: &mut Lines) {
    lines.extend(Code::KNOWN.iter().map(|(code, name)| ((*name).to_owned(), i64::from(code.0))));
}

/// What the simulator declares; in a version of its own for every major.
fn simulated(major: Major) -> Lines {
    let mut lines = Lines::new();
    match major {
        Major::V11 => {
            simulated_structures!(lines, v11);
        }
        Major::V12 => {
            simulated_structures!(lines, v12);
        }
        Major::V13 => {
            simulated_structures!(lines, v13);
            structure!(lines, cudaExternalMemoryHandleDesc = v13::ExternalMemoryHandleDesc[reserved]);
            structure!(lines, cudaExternalMemoryBufferDesc = v13::ExternalMemoryBufferDesc[reserved]);
            structure!(lines, cudaPointerAttributes = v13::PointerAttributes [] renamed [localityDomainOrdinal = locality_domain_ordinal]);
        }
    }
    simulated_constants(&mut lines);
    lines
}

fn simulated_constants(lines: &mut Lines) {
    let constants = [
        ("cudaMemoryTypeUnregistered", i64::from(abi::MEMORY_TYPE_UNREGISTERED)),
        ("cudaMemoryTypeHost", i64::from(abi::MEMORY_TYPE_HOST)),
        ("cudaMemoryTypeDevice", i64::from(abi::MEMORY_TYPE_DEVICE)),
        ("cudaExternalMemoryHandleTypeOpaqueFd", i64::from(abi::HANDLE_TYPE_OPAQUE_FD)),
        ("cudaExternalMemoryDedicated", i64::from(abi::EXTERNAL_MEMORY_DEDICATED)),
        ("cudaHostRegisterReadOnly", i64::from(abi::HOST_REGISTER_READ_ONLY)),
        ("cudaStreamNonBlocking", i64::from(abi::STREAM_NON_BLOCKING)),
    ];
    lines.extend(constants.map(|(name, value)| (name.to_owned(), value)));
}
