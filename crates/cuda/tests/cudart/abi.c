/*
 * Prints what one version of NVIDIA's headers declares: a line "name value" for each size, offset and constant that the
 * crate declares too. Compiled once per version by abi.rs, which compares every line.
 */
#include <stddef.h>
#include <stdio.h>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <driver_types.h>

#define SIZE(type) printf("sizeof(" #type ") %zu\n", sizeof(type))
#define STRUCT(name) printf("sizeof(" #name ") %zu\n", sizeof(struct name))
#define AT(name, field) printf(#name "." #field " %zu\n", offsetof(struct name, field))
#define AT_TYPE(name, field) printf(#name "." #field " %zu\n", offsetof(name, field))
#define VALUE(name) printf(#name " %lld\n", (long long)(name))

static void external_memory(void)
{
    STRUCT(cudaExternalMemoryHandleDesc);
    AT(cudaExternalMemoryHandleDesc, type);
    AT(cudaExternalMemoryHandleDesc, handle.fd);
    AT(cudaExternalMemoryHandleDesc, handle.win32.handle);
    AT(cudaExternalMemoryHandleDesc, handle.win32.name);
    AT(cudaExternalMemoryHandleDesc, size);
    AT(cudaExternalMemoryHandleDesc, flags);

    STRUCT(cudaExternalMemoryBufferDesc);
    AT(cudaExternalMemoryBufferDesc, offset);
    AT(cudaExternalMemoryBufferDesc, size);
    AT(cudaExternalMemoryBufferDesc, flags);

    STRUCT(cudaExternalMemoryMipmappedArrayDesc);
    AT(cudaExternalMemoryMipmappedArrayDesc, offset);
    AT(cudaExternalMemoryMipmappedArrayDesc, formatDesc);
    AT(cudaExternalMemoryMipmappedArrayDesc, extent);
    AT(cudaExternalMemoryMipmappedArrayDesc, flags);
    AT(cudaExternalMemoryMipmappedArrayDesc, numLevels);
}

/* The driver's twins of two of them had the layout of CUDA 13 from the beginning. */
static void driver_external_memory(void)
{
    SIZE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, type);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle.fd);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle.win32.name);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, reserved);
    SIZE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, offset);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags);
    AT_TYPE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, reserved);
}

static void external_semaphores(void)
{
    STRUCT(cudaExternalSemaphoreHandleDesc);
    AT(cudaExternalSemaphoreHandleDesc, type);
    AT(cudaExternalSemaphoreHandleDesc, handle.fd);
    AT(cudaExternalSemaphoreHandleDesc, handle.win32.handle);
    AT(cudaExternalSemaphoreHandleDesc, handle.win32.name);
    AT(cudaExternalSemaphoreHandleDesc, flags);

    STRUCT(cudaExternalSemaphoreSignalParams);
    AT(cudaExternalSemaphoreSignalParams, params.fence.value);
    AT(cudaExternalSemaphoreSignalParams, params.nvSciSync);
    AT(cudaExternalSemaphoreSignalParams, params.keyedMutex.key);
    AT(cudaExternalSemaphoreSignalParams, params.reserved);
    AT(cudaExternalSemaphoreSignalParams, flags);
    AT(cudaExternalSemaphoreSignalParams, reserved);

    STRUCT(cudaExternalSemaphoreWaitParams);
    AT(cudaExternalSemaphoreWaitParams, params.fence.value);
    AT(cudaExternalSemaphoreWaitParams, params.nvSciSync);
    AT(cudaExternalSemaphoreWaitParams, params.keyedMutex.key);
    AT(cudaExternalSemaphoreWaitParams, params.keyedMutex.timeoutMs);
    AT(cudaExternalSemaphoreWaitParams, flags);
    AT(cudaExternalSemaphoreWaitParams, reserved);

#if CUDART_VERSION < 13000
    STRUCT(cudaExternalSemaphoreSignalParams_v1);
    AT(cudaExternalSemaphoreSignalParams_v1, flags);
    STRUCT(cudaExternalSemaphoreWaitParams_v1);
    AT(cudaExternalSemaphoreWaitParams_v1, flags);
#endif
}

/* What only 13 has at all: the words that it appended. */
static void reserved_words(void)
{
#if CUDART_VERSION >= 13000
    AT(cudaExternalMemoryHandleDesc, reserved);
    AT(cudaExternalMemoryBufferDesc, reserved);
    AT(cudaExternalMemoryMipmappedArrayDesc, reserved);
    AT(cudaExternalSemaphoreHandleDesc, reserved);
    AT(cudaPointerAttributes, localityDomainOrdinal);
#endif
}

static void plain_structures(void)
{
    STRUCT(cudaPointerAttributes);
    AT(cudaPointerAttributes, type);
    AT(cudaPointerAttributes, device);
    AT(cudaPointerAttributes, devicePointer);
    AT(cudaPointerAttributes, hostPointer);

    STRUCT(cudaChannelFormatDesc);
    AT(cudaChannelFormatDesc, x);
    AT(cudaChannelFormatDesc, y);
    AT(cudaChannelFormatDesc, z);
    AT(cudaChannelFormatDesc, w);
    AT(cudaChannelFormatDesc, f);

    STRUCT(cudaExtent);
    AT(cudaExtent, width);
    AT(cudaExtent, height);
    AT(cudaExtent, depth);

    STRUCT(cudaPos);
    AT(cudaPos, x);
    AT(cudaPos, y);
    AT(cudaPos, z);

    STRUCT(cudaPitchedPtr);
    AT(cudaPitchedPtr, ptr);
    AT(cudaPitchedPtr, pitch);
    AT(cudaPitchedPtr, xsize);
    AT(cudaPitchedPtr, ysize);

    STRUCT(cudaMemcpy3DParms);
    AT(cudaMemcpy3DParms, srcArray);
    AT(cudaMemcpy3DParms, srcPos);
    AT(cudaMemcpy3DParms, srcPtr);
    AT(cudaMemcpy3DParms, dstArray);
    AT(cudaMemcpy3DParms, dstPos);
    AT(cudaMemcpy3DParms, dstPtr);
    AT(cudaMemcpy3DParms, extent);
    AT(cudaMemcpy3DParms, kind);

    SIZE(cudaIpcMemHandle_t);

    STRUCT(cudaDeviceProp);
    AT(cudaDeviceProp, name);
    AT(cudaDeviceProp, uuid);
    AT(cudaDeviceProp, luid);
    AT(cudaDeviceProp, luidDeviceNodeMask);
    AT(cudaDeviceProp, totalGlobalMem);
    AT(cudaDeviceProp, major);
    AT(cudaDeviceProp, minor);
}

static void handle_types(void)
{
    VALUE(cudaExternalMemoryHandleTypeOpaqueFd);
    VALUE(cudaExternalMemoryHandleTypeOpaqueWin32);
    VALUE(cudaExternalMemoryHandleTypeOpaqueWin32Kmt);
    VALUE(cudaExternalMemoryHandleTypeD3D12Heap);
    VALUE(cudaExternalMemoryHandleTypeD3D12Resource);
    VALUE(cudaExternalMemoryHandleTypeD3D11Resource);
    VALUE(cudaExternalMemoryHandleTypeD3D11ResourceKmt);
    VALUE(cudaExternalMemoryHandleTypeNvSciBuf);

    VALUE(cudaExternalSemaphoreHandleTypeOpaqueFd);
    VALUE(cudaExternalSemaphoreHandleTypeOpaqueWin32);
    VALUE(cudaExternalSemaphoreHandleTypeOpaqueWin32Kmt);
    VALUE(cudaExternalSemaphoreHandleTypeD3D12Fence);
    VALUE(cudaExternalSemaphoreHandleTypeD3D11Fence);
    VALUE(cudaExternalSemaphoreHandleTypeNvSciSync);
    VALUE(cudaExternalSemaphoreHandleTypeKeyedMutex);
    VALUE(cudaExternalSemaphoreHandleTypeKeyedMutexKmt);
    VALUE(cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd);
    VALUE(cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32);
}

static void flags_and_kinds(void)
{
    VALUE(cudaExternalMemoryDedicated);
    VALUE(cudaArrayColorAttachment);
    VALUE(cudaHostRegisterDefault);
    VALUE(cudaHostRegisterPortable);
    VALUE(cudaHostRegisterMapped);
    VALUE(cudaHostRegisterReadOnly);
    VALUE(cudaStreamNonBlocking);
    VALUE(cudaStreamLegacy);
    VALUE(cudaStreamPerThread);
    VALUE(cudaEventDisableTiming);

    VALUE(cudaMemcpyHostToHost);
    VALUE(cudaMemcpyHostToDevice);
    VALUE(cudaMemcpyDeviceToHost);
    VALUE(cudaMemcpyDeviceToDevice);
    VALUE(cudaMemcpyDefault);

    VALUE(cudaChannelFormatKindSigned);
    VALUE(cudaChannelFormatKindUnsigned);
    VALUE(cudaChannelFormatKindFloat);

    VALUE(cudaMemoryTypeUnregistered);
    VALUE(cudaMemoryTypeHost);
    VALUE(cudaMemoryTypeDevice);
    VALUE(cudaMemoryTypeManaged);

    VALUE(cudaStreamCaptureModeGlobal);
    VALUE(cudaStreamCaptureModeThreadLocal);
    VALUE(cudaStreamCaptureModeRelaxed);
    VALUE(cudaStreamCaptureStatusNone);
    VALUE(cudaStreamCaptureStatusActive);
    VALUE(cudaStreamCaptureStatusInvalidated);

    VALUE(cudaDevAttrHostRegisterSupported);
    VALUE(cudaDevAttrHostRegisterReadOnlySupported);
    VALUE(cudaDevAttrMemoryPoolsSupported);
}

static void error_codes(void)
{
    VALUE(cudaSuccess);
    VALUE(cudaErrorInvalidValue);
    VALUE(cudaErrorMemoryAllocation);
    VALUE(cudaErrorInitializationError);
    VALUE(cudaErrorCudartUnloading);
    VALUE(cudaErrorStubLibrary);
    VALUE(cudaErrorInsufficientDriver);
    VALUE(cudaErrorDevicesUnavailable);
    VALUE(cudaErrorNoDevice);
    VALUE(cudaErrorInvalidDevice);
    VALUE(cudaErrorECCUncorrectable);
    VALUE(cudaErrorInvalidGraphicsContext);
    VALUE(cudaErrorNvlinkUncorrectable);
#if CUDART_VERSION >= 13000
    VALUE(cudaErrorContained);
#endif
    VALUE(cudaErrorOperatingSystem);
    VALUE(cudaErrorInvalidResourceHandle);
    VALUE(cudaErrorNotReady);
    VALUE(cudaErrorIllegalAddress);
    VALUE(cudaErrorLaunchTimeout);
    VALUE(cudaErrorContextIsDestroyed);
    VALUE(cudaErrorAssert);
    VALUE(cudaErrorHostMemoryAlreadyRegistered);
    VALUE(cudaErrorHostMemoryNotRegistered);
    VALUE(cudaErrorHardwareStackError);
    VALUE(cudaErrorIllegalInstruction);
    VALUE(cudaErrorMisalignedAddress);
    VALUE(cudaErrorInvalidAddressSpace);
    VALUE(cudaErrorInvalidPc);
    VALUE(cudaErrorLaunchFailure);
    VALUE(cudaErrorNotPermitted);
    VALUE(cudaErrorNotSupported);
    VALUE(cudaErrorSystemNotReady);
    VALUE(cudaErrorSystemDriverMismatch);
    VALUE(cudaErrorCompatNotSupportedOnDevice);
    VALUE(cudaErrorStreamCaptureUnsupported);
    VALUE(cudaErrorStreamCaptureInvalidated);
    VALUE(cudaErrorStreamCaptureImplicit);
    VALUE(cudaErrorCapturedEvent);
    VALUE(cudaErrorUnknown);
}

int main(void)
{
    external_memory();
    driver_external_memory();
    external_semaphores();
    reserved_words();
    plain_structures();
    handle_types();
    flags_and_kinds();
    error_codes();
    return 0;
}
