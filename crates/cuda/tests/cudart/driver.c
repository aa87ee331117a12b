/*
 * A libcuda.so.1 without a GPU behind it: it answers what the environment says, so that a real runtime takes every way
 * of being unavailable. These four entry points are all that runtimes 11 to 13 need to reach cuInit's answer; they ask
 * for many more by cuGetProcAddress and get along with "not found".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CUDA_SUCCESS = 0, CUDA_ERROR_NOT_FOUND = 500 };

static int from_environment(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

/* Leaves a mark in the file system, because nothing else tells that initialisation was asked for. */
int cuInit(unsigned int flags)
{
    (void)flags;
    const char *mark = getenv("STUB_MARK");
    if (mark)
        fclose(fopen(mark, "w"));
    return from_environment("STUB_CUINIT");
}

int cuDriverGetVersion(int *version)
{
    *version = from_environment("STUB_DRIVER_VERSION");
    return CUDA_SUCCESS;
}

int cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags, int *found);

/* A version is that of the entry point's declaration: cuGetProcAddress has the fifth argument from 12.0 on. */
static int find(const char *symbol, void **address, int version)
{
    *address = NULL;
    if (!strcmp(symbol, "cuInit"))
        *address = (void *)cuInit;
    else if (!strcmp(symbol, "cuDriverGetVersion"))
        *address = (void *)cuDriverGetVersion;
    else if (!strcmp(symbol, "cuGetProcAddress"))
        *address = version < 12000 ? (void *)cuGetProcAddress : (void *)cuGetProcAddress_v2;
    return *address ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

int cuGetProcAddress(const char *symbol, void **address, int version, uint64_t flags)
{
    (void)flags;
    return find(symbol, address, version);
}

int cuGetProcAddress_v2(const char *symbol, void **address, int version, uint64_t flags, int *found)
{
    (void)flags;
    int code = find(symbol, address, version);
    if (found)
        *found = code ? 1 : 0;
    return code;
}
