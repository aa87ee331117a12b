//! The simulated CUDA as a library with the symbols of CUDA 13.5, `libcudart.so.13`.

edgefirst_cuda_sim::export!(symbols_v13, V13);
