//! The simulated CUDA as a library with the symbols of CUDA 12.9, `libcudart.so.12`.

edgefirst_cuda_sim::export!(symbols_v12, V12);
