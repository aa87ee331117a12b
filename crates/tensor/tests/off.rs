//! CUDA switched off for the process: a test program of its own, since a process chooses once.

use edgefirst_tensor::cuda::{self, Reason};
use edgefirst_tensor::{Choice, Error, Tensor, Use, is_cuda_available};

#[test]
fn a_tensor_for_cuda_is_made_all_the_same_and_says_that_it_is_off() {
    cuda::init(Choice::Off).unwrap();
    assert!(!is_cuda_available());
    let mut tensor = Tensor::<u8>::of_shape(&[10]).serves(&[Use::Cuda]).build().unwrap();
    let why = tensor.try_cuda_map().unwrap_err();
    assert!(matches!(&why, Error::Cuda(cuda::Error::Unavailable(none)) if none.reason == Reason::Off), "{why:?}");
    assert!(matches!(tensor.pin(), Err(Error::Cuda(cuda::Error::Unavailable(_)))));
    tensor.map_mut().unwrap().as_mut_slice().fill(3);
    assert_eq!(tensor.map().unwrap().as_slice(), [3; 10]);
}
