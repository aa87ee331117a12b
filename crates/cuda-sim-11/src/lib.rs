//! The simulated CUDA as a library with the symbols of CUDA 11.8, `libcudart.so.11.0`.

edgefirst_cuda_sim::export!(symbols_v11, V11);
