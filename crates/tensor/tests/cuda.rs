//! Tensors and the simulated CUDA: one memory for both sides, and who waits for whom.
//!
//! # Safety argument
//!
//! Device pointers are used for the length that their map says, while the map lives or until the
//! stream on which it was released has finished; buffers outlive the streams that copy to them.
//! Functions of the simulator are called with the signatures of CUDA's headers.

#![expect(clippy::unwrap_used, reason = "what a test sets up must work")]
#![expect(unsafe_code, reason = "a CUDA consumer uses raw pointers")]

use std::time::{Duration, Instant};

use edgefirst_tensor::cuda::{self, CopyKind, Runtime, Stream};
use edgefirst_tensor::{Access, CudaMap, CudaMapMut, Error, PixelFormat, Tensor, Use};
use testkit::sim::{Major, Sim};

const SCHEDULES: [&str; 5] =
    ["schedule late", "schedule early", "schedule random:1", "schedule random:2", "schedule random:3"];
const SOON: Duration = Duration::from_secs(5);

/// A simulated CUDA of its own, and a stream in it.
struct Rig {
    sim: Sim,
    runtime: Runtime,
}

impl Rig {
    fn new(commands: &str) -> Self {
        let sim = Sim::open(Major::V12);
        sim.control(commands);
        let runtime = Runtime::load_from(sim.path()).unwrap();
        Self { sim, runtime }
    }

    fn stream(&self) -> Stream {
        Stream::new(&self.runtime, 0).unwrap()
    }

    /// A picture whose rows are no multiple of four, and whose size is none of a page.
    fn picture(&self) -> Tensor<u8> {
        Tensor::image(341, 256, PixelFormat::Rgb)
            .serves(&[Use::Host, Use::Cuda])
            .runtime(self.runtime.clone())
            .build()
            .unwrap()
    }

    /// What a host consumer does, known to the checker of order.
    fn host_reads(&self, tensor: &Tensor<u8>) -> Vec<u8> {
        let map = tensor.map().unwrap();
        self.sim.host_access(map.as_slice().as_ptr(), map.as_slice().len(), false);
        map.as_slice().to_vec()
    }

    fn host_fills(&self, tensor: &mut Tensor<u8>, value: u8) {
        let mut map = tensor.map_mut().unwrap();
        self.sim.host_access(map.as_slice().as_ptr(), map.as_slice().len(), true);
        map.as_mut_slice().fill(value);
    }

    fn count(&self, symbol: &str) -> usize {
        self.sim.calls().iter().filter(|call| call.symbol == symbol).count()
    }

    /// Everything is freed, and nothing was wrong.
    fn finish(self) {
        self.runtime.flush(SOON).unwrap();
        self.sim.finish();
    }
}

/// A device's writer.
fn fill(stream: &Stream, map: &CudaMapMut<'_>, value: u8) {
    // SAFETY: the pointer is the map's, for its length.
    unsafe { stream.fill(map.device_ptr(), value, map.len()) }.unwrap();
}

/// A device's reader.
fn copy(stream: &Stream, map: &CudaMap<'_>, to: &mut [u8]) {
    assert_eq!(map.len(), to.len());
    let (from, to) = (map.device_ptr(), to.as_mut_ptr().cast());
    // SAFETY: the pointers are good for the length; the caller keeps the buffer.
    unsafe { stream.copy(to, from, map.len(), CopyKind::DeviceToHost) }.unwrap();
}

#[test]
fn host_and_device_see_the_same_bytes_in_both_kinds_of_pinned_memory() {
    for (mode, same) in [("pinned same", true), ("pinned different", false)] {
        let rig = Rig::new(mode);
        let (mut tensor, stream) = (rig.picture(), rig.stream());
        for (row, value) in tensor.map_mut().unwrap().rows_mut().zip((0..=255).cycle()) {
            row.fill(value);
        }
        let expected = rig.host_reads(&tensor);

        let mut seen = vec![0; tensor.bytes()];
        let map = tensor.try_cuda_map().unwrap();
        assert_eq!(map.device_ptr().addr() == tensor.map().unwrap().as_slice().as_ptr().addr(), same, "{mode}");
        copy(&stream, &map, &mut seen);
        stream.synchronize(SOON).unwrap();
        assert_eq!(seen, expected, "{mode}");
        drop(map);
        drop((tensor, stream));
        rig.finish();
    }
}

#[test]
fn a_device_map_describes_the_picture() {
    let rig = Rig::new("");
    let tensor = rig.picture();
    let map = tensor.cuda_map().unwrap();
    assert_eq!((map.len(), map.row_pitch(), map.shape()), (261_888, 1023, &[256, 341, 3][..]));
    assert_eq!((map.device(), map.dtype(), map.is_empty()), (0, edgefirst_tensor::DType::U8, false));
    assert!(map.alignment() >= 256, "TensorRT demands as much: {}", map.alignment());
    drop(map);
    drop(tensor);
    rig.finish();
}

#[test]
fn a_host_reader_waits_for_the_stream_that_wrote() {
    for schedule in SCHEDULES {
        let rig = Rig::new(schedule);
        let (mut tensor, stream) = (rig.picture(), rig.stream());
        let map = tensor.try_cuda_map_mut().unwrap();
        fill(&stream, &map, 9);
        map.finish_on(&stream).unwrap();
        assert!(rig.host_reads(&tensor).iter().all(|&byte| byte == 9), "{schedule}");
        drop((tensor, stream));
        rig.finish();
    }
}

#[test]
fn a_host_writer_waits_for_the_stream_that_reads() {
    for schedule in SCHEDULES {
        let rig = Rig::new(schedule);
        let (mut tensor, stream) = (rig.picture(), rig.stream());
        rig.host_fills(&mut tensor, 5);
        let mut seen = vec![0; tensor.bytes()];
        let map = tensor.try_cuda_map().unwrap();
        copy(&stream, &map, &mut seen);
        map.release_on(&stream).unwrap();
        rig.host_fills(&mut tensor, 6);
        stream.synchronize(SOON).unwrap();
        assert!(seen.iter().all(|&byte| byte == 5), "{schedule}");
        drop((tensor, stream));
        rig.finish();
    }
}

#[test]
fn a_device_writer_waits_for_the_other_stream() {
    for schedule in SCHEDULES {
        let rig = Rig::new(schedule);
        let (mut tensor, first, second) = (rig.picture(), rig.stream(), rig.stream());
        for (stream, value) in [(&first, 1), (&second, 2), (&first, 3)] {
            let map = tensor.try_cuda_map_mut().unwrap();
            fill(stream, &map, value);
            map.finish_on(stream).unwrap();
        }
        assert!(rig.host_reads(&tensor).iter().all(|&byte| byte == 3), "{schedule}");
        drop((tensor, first, second));
        rig.finish();
    }
}

#[test]
fn readers_wait_for_no_reader_and_a_writer_for_one_second() {
    let rig = Rig::new("");
    let (mut tensor, stream) = (rig.picture(), rig.stream());
    let gate = rig.sim.gate(stream.as_raw());
    tensor.try_cuda_map().unwrap().release_on(&stream).unwrap();

    assert!(tensor.map().is_ok());
    assert!(tensor.try_cuda_map().is_ok());
    let start = Instant::now();
    let refused = tensor.map_mut().unwrap_err();
    assert!(matches!(refused, Error::Timeout { after } if after == Duration::from_secs(1)), "{refused}");
    assert!((900..3000).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());

    gate.open();
    stream.synchronize(SOON).unwrap();
    assert!(tensor.map_mut().is_ok(), "a map that timed out holds nothing");
    drop((tensor, stream));
    rig.finish();
}

#[test]
fn nothing_pending_means_no_call() {
    let rig = Rig::new("");
    let mut tensor = rig.picture();
    drop(tensor.try_cuda_map().unwrap());
    let before = rig.sim.calls().len();
    drop(tensor.try_cuda_map().unwrap());
    tensor.try_cuda_map_mut().unwrap().finish().unwrap();
    drop(tensor.map_mut().unwrap());
    assert_eq!(rig.sim.calls().len(), before);
    drop(tensor);
    rig.finish();
}

#[test]
fn many_released_readers_leave_few_events() {
    let rig = Rig::new("schedule early");
    let (tensor, stream) = (rig.picture(), rig.stream());
    for _ in 0..100 {
        tensor.try_cuda_map().unwrap().release_on(&stream).unwrap();
    }
    let events = rig.sim.ledger().iter().filter(|live| live.what == "event").count();
    assert!(events < 10, "{events} events live");
    drop((tensor, stream));
    rig.finish();
}

#[test]
fn maps_that_conflict_are_refused_before_cuda_hears_of_it() {
    let rig = Rig::new("");
    let mut tensor = rig.picture();
    let device = tensor.try_cuda_map_mut().unwrap().into_owned();
    let before = rig.sim.calls().len();
    assert!(matches!(tensor.map(), Err(Error::Mapped { held: Access::Write, wanted: Access::Read })));
    assert!(matches!(tensor.try_cuda_map(), Err(Error::Mapped { .. })));
    drop(device);

    let host = tensor.map().unwrap().into_owned();
    assert!(tensor.try_cuda_map().is_ok(), "readers of both sides go together");
    assert!(matches!(tensor.try_cuda_map_mut(), Err(Error::Mapped { held: Access::Read, wanted: Access::Write })));
    drop(host);
    assert!(tensor.try_cuda_map_mut().is_ok());
    assert_eq!(rig.sim.calls().len(), before);
    drop(tensor);
    rig.finish();
}

#[test]
fn pages_stay_registered_until_the_stream_is_done_with_a_dropped_tensor() {
    let rig = Rig::new("");
    let (mut tensor, stream) = (rig.picture(), rig.stream());
    let gate = rig.sim.gate(stream.as_raw());
    let map = tensor.try_cuda_map_mut().unwrap();
    fill(&stream, &map, 1);
    map.finish_on(&stream).unwrap();

    let start = Instant::now();
    drop(tensor);
    assert!(start.elapsed() < Duration::from_millis(500), "a drop does not wait: {:?}", start.elapsed());
    assert!(matches!(rig.runtime.flush(Duration::from_millis(200)), Err(cuda::Error::Timeout { .. })));
    assert_eq!(rig.count("cudaHostUnregister"), 0);

    gate.open();
    rig.runtime.flush(SOON).unwrap();
    assert_eq!(rig.count("cudaHostUnregister"), 1);
    drop(stream);
    rig.finish();
}

#[test]
fn an_owned_map_outlives_its_tensor() {
    let rig = Rig::new("");
    let (mut tensor, stream) = (rig.picture(), rig.stream());
    let map = tensor.try_cuda_map_mut().unwrap().into_owned();
    drop(tensor);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fill(&stream, &map, 3);
            map.finish_on(&stream).unwrap();
        });
    });
    drop(stream);
    rig.finish();
}

#[test]
fn a_refused_registration_leaves_a_host_tensor_that_knows_why_and_can_be_pinned_later() {
    let rig = Rig::new("fault cudaHostRegister 1 2");
    let mut tensor = rig.picture();
    rig.host_fills(&mut tensor, 4);
    for _ in 0..2 {
        let why = tensor.try_cuda_map().unwrap_err();
        assert!(matches!(why, Error::Cuda(cuda::Error::Call(_))), "{why:?}");
        assert!(why.to_string().starts_with("cudaHostRegister failed with 2 cudaErrorMemoryAllocation"), "{why}");
    }
    assert_eq!(rig.count("cudaHostRegister"), 1, "a map registers nothing");

    tensor.pin().unwrap();
    assert_eq!(rig.host_reads(&tensor)[1000], 4);
    assert!(tensor.cuda_map_mut().is_some());
    drop(tensor);
    rig.finish();
}

#[test]
fn a_plain_tensor_keeps_its_bytes_when_it_is_pinned() {
    let rig = Rig::new("");
    let mut tensor = Tensor::<u16>::of_shape(&[3, 5]).runtime(rig.runtime.clone()).build().unwrap();
    assert!(matches!(tensor.try_cuda_map(), Err(Error::NotDeviceVisible)));
    tensor.map_mut().unwrap().as_mut_slice().fill(0x1234);
    let reader = tensor.map().unwrap().into_owned();
    assert!(matches!(tensor.pin(), Err(Error::Mapped { .. })));
    assert_eq!(rig.sim.calls().len(), 0, "a tensor for the host makes no CUDA call");
    drop(reader);

    tensor.pin().unwrap();
    tensor.pin().unwrap();
    assert_eq!(rig.count("cudaHostRegister"), 1);
    assert_eq!(tensor.map().unwrap().as_slice(), [0x1234; 15]);
    assert_eq!(tensor.try_cuda_map().unwrap().len(), 30);
    drop(tensor);
    rig.finish();
}

#[test]
fn an_empty_tensor_has_a_null_pointer_and_no_registration() {
    let rig = Rig::new("");
    let empty = Tensor::<f32>::of_shape(&[4, 0]).serves(&[Use::Cuda]).runtime(rig.runtime.clone()).build().unwrap();
    let map = empty.try_cuda_map().unwrap();
    assert!(map.is_empty() && map.device_ptr().is_null());
    assert_eq!(rig.count("cudaHostRegister"), 0);
    drop(map);
    drop(empty);
    rig.finish();
}

#[test]
fn without_a_device_the_host_goes_on() {
    let rig = Rig::new("driver no-device");
    let mut tensor = rig.picture();
    assert!(tensor.cuda_map().is_none());
    let why = tensor.try_cuda_map_mut().unwrap_err();
    assert!(matches!(why, Error::Cuda(cuda::Error::Unavailable(_))), "{why:?}");
    assert!(why.to_string().contains("100 cudaErrorNoDevice"), "{why}");
    rig.host_fills(&mut tensor, 2);
    assert_eq!(rig.host_reads(&tensor)[7], 2);
    drop(tensor);
    rig.finish();
}

#[test]
fn a_release_whose_event_fails_waits_for_the_stream_instead() {
    let rig = Rig::new("");
    let (mut tensor, stream) = (rig.picture(), rig.stream());
    let map = tensor.try_cuda_map_mut().unwrap();
    fill(&stream, &map, 8);
    rig.sim.control("fault cudaEventRecord 1 999");
    map.finish_on(&stream).unwrap();
    assert!(rig.host_reads(&tensor).iter().all(|&byte| byte == 8));
    drop((tensor, stream));
    rig.finish();
}

#[test]
fn a_lost_device_fails_the_release_and_leaves_the_host_alone() {
    for lost_before_release in [true, false] {
        let rig = Rig::new("");
        let (mut tensor, stream) = (rig.picture(), rig.stream());
        let map = tensor.try_cuda_map_mut().unwrap();
        fill(&stream, &map, 8);
        if lost_before_release {
            rig.sim.control("lose 0 719");
            let lost = map.finish_on(&stream).unwrap_err();
            assert!(matches!(lost, Error::Cuda(cuda::Error::Lost { device: 0, .. })), "{lost:?}");
        } else {
            map.finish_on(&stream).unwrap();
            rig.sim.control("lose 0 719");
        }
        tensor.map_mut().unwrap().as_mut_slice().fill(1);
        assert_eq!(tensor.map().unwrap().as_slice()[5], 1);
        let refused = tensor.try_cuda_map().unwrap_err();
        assert!(matches!(refused, Error::Cuda(cuda::Error::Lost { device: 0, .. })), "{refused:?}");

        drop((tensor, stream));
        rig.runtime.flush(SOON).unwrap();
        assert_eq!(rig.count("cudaHostUnregister"), 0, "what a lost device had is forgotten");
    }
}

#[test]
fn bytes_that_nobody_can_wait_for_stay_mapped() {
    const RELAXED: i32 = 2;
    let rig = Rig::new("");
    let (mut tensor, stream) = (rig.picture(), rig.stream());
    rig.sim.begin_capture(stream.as_raw(), RELAXED);

    let refused = tensor.try_cuda_map_mut().unwrap().finish_on(&stream).unwrap_err();
    assert!(matches!(refused, Error::NotReleased(_)), "{refused:?}");
    assert!(refused.to_string().contains("captured"), "{refused}");
    assert!(matches!(tensor.map(), Err(Error::Mapped { .. })));
    drop(tensor);
    let _ = rig.runtime.flush(Duration::from_millis(100));
    assert_eq!(rig.count("cudaHostUnregister"), 0);
}
