//! Drivers, devices, versions, errors.

use edgefirst_cuda_sim::abi::{v11, v12, v13};
use testkit::sim::Major;

use crate::support::{Cuda, is_child, ok, run_child};

/// Calls that need a driver, each with untouched outputs.
fn probe(cuda: &Cuda) -> Vec<i32> {
    let (mut number, mut handle) = (77, 77);
    let codes = vec![
        cuda.device_count(&mut number),
        cuda.get_device(&mut number),
        cuda.set_device(0),
        cuda.stream_create(&mut handle),
        cuda.malloc(&mut handle, 16),
        cuda.host_register(4096, 4096, 0),
        cuda.event_create(&mut handle),
    ];
    assert_eq!((number, handle), (77, 77), "outputs are untouched");
    codes
}

#[test]
fn each_kind_of_missing_driver_has_its_code() {
    let cases = [
        ("driver none", 35),
        ("driver too-old", 35),
        ("driver no-device", 100),
        ("driver stub", 34),
        ("driver code:803", 803),
        ("devices 0", 100),
        ("driver-version 11080", 35),
    ];
    for (commands, code) in cases {
        assert_eq!(probe(&Cuda::with(commands)), [code; 7], "{commands}");
    }
}

#[test]
fn without_a_driver_the_last_error_rests_at_35() {
    let cuda = Cuda::with("driver none");
    for _ in 0..2 {
        assert_eq!(cuda.peek_error(), 35);
        assert_eq!(cuda.last_error(), 35);
    }
    let cuda = Cuda::with("driver no-device");
    assert_eq!(cuda.peek_error(), 0);
    assert_eq!(cuda.device_count(&mut 0), 100);
    assert_eq!((cuda.peek_error(), cuda.last_error(), cuda.last_error()), (100, 100, 0));
}

#[test]
fn versions_are_those_of_the_major() {
    let expected = [(Major::V11, 11080), (Major::V12, 12090), (Major::V13, 13050)];
    for (major, version) in expected {
        let (cuda, mut runtime, mut driver) = (Cuda::open(major), 0, 0);
        ok(cuda.runtime_version(&mut runtime));
        ok(cuda.driver_version(&mut driver));
        assert_eq!((runtime, driver), (version, version));
        cuda.0.control("driver none");
        ok(cuda.driver_version(&mut driver));
        assert_eq!(driver, 0);
        let without = cuda.runtime_version(&mut runtime);
        assert_eq!(without, if major == Major::V11 { 35 } else { 0 });
    }
}

#[test]
fn newer_driver_serves_an_older_runtime() {
    let cuda = Cuda::with("driver-version 13000");
    let mut version = 0;
    ok(cuda.driver_version(&mut version));
    assert_eq!(version, 13000);
    ok(cuda.device_count(&mut 0));
}

#[test]
fn last_error_is_the_threads_own_and_not_ready_counts() {
    let cuda = Cuda::with("schedule late");
    assert_eq!(cuda.host_register(0, 0, 0), 1);
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(cuda.peek_error(), 0));
    });
    ok(cuda.device_synchronize());
    assert_eq!(cuda.peek_error(), 1, "success clears nothing");
    assert_eq!((cuda.last_error(), cuda.last_error()), (1, 0));
    assert_eq!(cuda.ctx_push(0xdead), 201);
    assert_eq!(cuda.peek_error(), 0, "driver calls leave it alone");
}

#[test]
fn names_and_texts_of_codes() {
    let cuda = Cuda::with("schedule late");
    assert_eq!(cuda.text("cudaGetErrorName", 2), "cudaErrorMemoryAllocation");
    assert_eq!(cuda.text("cudaGetErrorString", 2), "out of memory");
    assert_eq!(cuda.text("cudaGetErrorName", 12345), "unrecognized error code");
}

#[test]
fn devices_differ_in_what_identifies_them() {
    for major in Major::ALL {
        let cuda = Cuda::open(major);
        cuda.0.control("devices 2");
        let (first, second) = (identity(&cuda, major, 0), identity(&cuda, major, 1));
        assert_eq!(first.0, "Simulated GPU 0");
        assert_eq!(second.0, "Simulated GPU 1");
        assert_ne!(first.1, second.1);
        assert_ne!(first.2, second.2);
        let mut bus = [b'x'; 32];
        ok(cuda.pci_bus_id(bus.as_mut_ptr(), 32, 1));
        assert_eq!(&bus[..14], b"0000:02:00.0\0x");
        assert_eq!(cuda.pci_bus_id(bus.as_mut_ptr(), 12, 1), 1);
        assert_eq!(cuda.attribute(&mut 0, 33, 2), 101);
        assert_eq!(cuda.set_device(2), 101);
        assert_eq!(cuda.set_device(-1), 101);
    }
}

/// Name, UUID and LUID out of the structure of the major.
fn identity(cuda: &Cuda, major: Major, device: i32) -> (String, [u8; 16], [u8; 8]) {
    let name = |name: &[u8]| String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    match major {
        Major::V11 => {
            let got: v11::DeviceProp = cuda.filled("cudaGetDeviceProperties", device).unwrap();
            (name(&got.name), got.uuid, got.luid)
        }
        Major::V12 => {
            let got: v12::DeviceProp = cuda.filled("cudaGetDeviceProperties_v2", device).unwrap();
            let old: v12::DevicePropV1 = cuda.filled("cudaGetDeviceProperties", device).unwrap();
            assert_eq!((old.name, old.uuid, old.luid), (got.name, got.uuid, got.luid));
            (name(&got.name), got.uuid, got.luid)
        }
        Major::V13 => {
            let got: v13::DeviceProp = cuda.filled("cudaGetDeviceProperties", device).unwrap();
            (name(&got.name), got.uuid, got.luid)
        }
    }
}

#[test]
fn symbols_of_a_major_are_there_and_others_are_not() {
    for major in Major::ALL {
        let cuda = Cuda::open(major);
        let has = |name: &str| cuda.0.find(name).is_some();
        assert!(has("edgefirst_cuda_sim") && has("cudaMalloc") && has("cuInit"));
        assert_eq!(has("cudaStreamGetDevice"), major != Major::V11);
        assert_eq!(has("cudaGetDeviceProperties_v2"), major == Major::V12);
    }
}

#[test]
fn visible_devices_are_those_of_the_environment() {
    if is_child() {
        let cuda = Cuda::with("devices 4");
        let mut count = -1;
        let code = cuda.device_count(&mut count);
        let first = cuda.filled::<v12::DeviceProp, _>("cudaGetDeviceProperties_v2", 0);
        let name = first.map_or("none".into(), |first| String::from_utf8_lossy(&first.name[..15]).into_owned());
        println!("<{code} {count} {name}>");
        return;
    }
    let uuid = "GPU-65646765-6669-7273-742d-73696d000003";
    let cases = [
        ("-1", "<100 -1 none>"),
        ("", "<100 -1 none>"),
        ("2,0", "<0 2 Simulated GPU 2>"),
        ("1,9,0", "<0 1 Simulated GPU 1>"),
        (uuid, "<0 1 Simulated GPU 3>"),
    ];
    for (visible, says) in cases {
        let output =
            run_child("devices::visible_devices_are_those_of_the_environment", &[("CUDA_VISIBLE_DEVICES", visible)]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(says), "`{visible}`: {text}");
    }
}

#[test]
fn objects_belong_to_the_device_that_was_current() {
    let cuda = Cuda::with("devices 2");
    let (first, mut device) = (cuda.stream(), -1);
    ok(cuda.set_device(1));
    let (second, event, buffer) = (cuda.stream(), cuda.event(), cuda.allocate(64));
    ok(cuda.stream_device(first, &mut device));
    assert_eq!(device, 0);
    ok(cuda.stream_device(second, &mut device));
    assert_eq!(device, 1);
    assert_eq!(cuda.event_record(event, first), 400, "event and stream of different contexts");
    ok(cuda.event_record(event, second));
    ok(cuda.stream_wait_event(first, event, 0));
    ok(cuda.set_device(0));
    ok(cuda.event_synchronize(event));
    ok(cuda.memset_async(buffer, 0, 64, second));
    cuda.found("foreign-device");
    ok(cuda.stream_synchronize(second));
    ok(cuda.free(buffer));
    ok(cuda.stream_destroy(second));
    ok(cuda.stream_destroy(first));
    ok(cuda.event_destroy(event));
    cuda.finish();
}
