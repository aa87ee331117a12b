//! Tensors without CUDA: sizes, slices and borrows.

use edgefirst_tensor::{Access, CudaMap, CudaMapMut, Error, HostMap, HostMapMut, PixelFormat, Tensor, TensorBuilder};

#[test]
fn every_public_type_crosses_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Tensor<u8>>();
    crosses::<TensorBuilder<u8>>();
    crosses::<HostMap<'_, u8>>();
    crosses::<HostMapMut<'_, u8>>();
    crosses::<CudaMap<'_>>();
    crosses::<CudaMapMut<'_>>();
    crosses::<Error>();
}

#[test]
fn a_new_picture_is_black_and_keeps_what_its_rows_are_given() {
    let mut picture = Tensor::<u8>::image(5, 3, PixelFormat::Rgb).build().unwrap();
    assert_eq!((picture.shape(), picture.row_pitch(), picture.bytes()), (&[3, 5, 3][..], 15, 45));
    assert!(picture.map().unwrap().as_slice().iter().all(|&byte| byte == 0));

    for (row, value) in picture.map_mut().unwrap().rows_mut().zip(1..) {
        row.fill(value);
    }
    let map = picture.map().unwrap();
    assert_eq!(map.rows().map(|row| (row.len(), row[14])).collect::<Vec<_>>(), [(15, 1), (15, 2), (15, 3)]);
}

#[test]
fn elements_are_typed_and_aligned() {
    let mut tensor = Tensor::<f64>::of_shape(&[2, 3]).build().unwrap();
    tensor.map_mut().unwrap().as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]);
    let map = tensor.map().unwrap();
    assert!(map.as_slice().as_ptr().is_aligned());
    assert_eq!(map.rows().next_back(), Some(&[4.0, 5.0, 6.5][..]));
}

#[test]
fn tensors_may_be_empty_and_pictures_not() {
    for shape in [&[0][..], &[3, 0], &[0, 3]] {
        let mut empty = Tensor::<u32>::of_shape(shape).build().unwrap();
        assert_eq!((empty.shape(), empty.bytes()), (shape, 0));
        assert!(empty.map().unwrap().as_slice().is_empty());
        assert_eq!(empty.map_mut().unwrap().rows_mut().count(), 0);
    }
    let refused = Tensor::<u8>::image(0, 7, PixelFormat::Grey).build().unwrap_err();
    assert_eq!(refused.to_string(), "a picture of 0 x 7 pixels has no bytes; give it at least 1 x 1");
}

#[test]
fn absurd_sizes_are_errors_with_the_value_and_the_limit() {
    let overflow = Tensor::<u8>::image(usize::MAX, 2, PixelFormat::Rgb).build().unwrap_err();
    let text = overflow.to_string();
    assert!(matches!(overflow, Error::TooLarge { .. }), "{text}");
    assert!(text.contains(&usize::MAX.to_string()) && text.contains(&isize::MAX.to_string()), "{text}");

    let bytes = 1 << 60;
    let refused = Tensor::<u8>::of_shape(&[bytes]).build().unwrap_err();
    assert!(matches!(refused, Error::OutOfMemory { bytes: asked } if asked == bytes), "{refused}");
}

#[test]
fn an_owned_guard_keeps_its_borrow_and_its_bytes() {
    let mut tensor = Tensor::<u8>::of_shape(&[4]).build().unwrap();
    let reader = tensor.map().unwrap().into_owned();
    assert!(tensor.map().is_ok(), "readers do not exclude each other");
    assert!(matches!(tensor.map_mut(), Err(Error::Mapped { held: Access::Read, wanted: Access::Write })));
    drop(reader);

    let mut writer = tensor.map_mut().unwrap().into_owned();
    assert!(matches!(tensor.map(), Err(Error::Mapped { held: Access::Write, wanted: Access::Read })));
    drop(tensor);
    let filled = std::thread::spawn(move || {
        writer.as_mut_slice().fill(9);
        writer
    });
    assert_eq!(filled.join().unwrap().as_slice(), [9; 4]);
}

#[test]
fn the_last_of_several_readers_frees_the_tensor() {
    let mut tensor = Tensor::<u8>::of_shape(&[1]).build().unwrap();
    let (first, second) = (tensor.map().unwrap().into_owned(), tensor.map().unwrap().into_owned());
    drop(first);
    assert!(tensor.map_mut().is_err());
    drop(second);
    assert!(tensor.map_mut().is_ok());
}

#[test]
fn a_leaked_guard_is_still_a_borrow() {
    let mut tensor = Tensor::<u8>::of_shape(&[1]).build().unwrap();
    #[expect(clippy::mem_forget, reason = "a leak is the case")]
    std::mem::forget(tensor.map_mut().unwrap());
    let text = tensor.map().unwrap_err().to_string();
    assert_eq!(text, "the tensor is mapped for writing, so it cannot be mapped for reading; drop the other map first");
}

#[test]
fn a_tensor_not_made_for_cuda_says_how_to_make_it_so() {
    let mut tensor = Tensor::<u8>::of_shape(&[1]).build().unwrap();
    assert!(tensor.cuda_map().is_none());
    assert!(tensor.cuda_map_mut().is_none());
    let why = tensor.try_cuda_map().unwrap_err();
    assert!(matches!(why, Error::NotDeviceVisible));
    assert!(why.to_string().contains("serves(&[Use::Cuda])") && why.to_string().contains("pin()"), "{why}");
}
