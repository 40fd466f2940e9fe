// A library of the name of NVIDIA's driver whose GPU is memory of the host, and which runs no kernels: tests/python/test_driver.py
// has svod find it. FAKE says what is wrong with it; what is done, it tells on stderr.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Address;

static int lost;
static void *current;
static int context;

static int is(const char *mode) {
    const char *set = getenv("FAKE");
    return set && strcmp(set, mode) == 0;
}

#define TELL(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr))
// What needs a context says so where another one is current, and fails once a kernel has trapped.
#define IN_CONTEXT \
    if (current != &context) return 201; \
    if (lost) return 700;

int cuInit(unsigned flags) { return is("no GPU") ? 100 : is("broken") ? 999 : 0; }
int cuDriverGetVersion(int *version) { *version = is("old") ? 11040 : 13000; return 0; }

int cuGetErrorName(int code, const char **name) {
    *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 218 ? "CUDA_ERROR_INVALID_PTX" : NULL;
    return *name ? 0 : 1;
}

int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuDeviceGetName(char *name, int bytes, int device) { snprintf(name, bytes, "some GPU"); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)1 << 33; return 0; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 16: *value = 132; break;
    case 75: *value = is("other architecture") ? 7 : 9; break;
    case 76: *value = is("other architecture") ? 5 : 0; break;
    case 38: *value = 50 << 20; break;
    case 97: *value = 232448; break;
    default: return 1;
    }
    return 0;
}

int cuDevicePrimaryCtxRetain(void **it, int device) { *it = &context; return 0; }
int cuCtxGetCurrent(void **it) { *it = current; return 0; }
int cuCtxSetCurrent(void *it) { current = it; return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) { IN_CONTEXT *free = (size_t)1 << 32; *total = (size_t)1 << 33; return 0; }

int cuMemAlloc_v2(Address *address, size_t bytes) {
    IN_CONTEXT
    void *block = NULL;
    if (bytes > (size_t)1 << 32 || posix_memalign(&block, 256, bytes)) return 2;
    *address = (Address)(uintptr_t)block;
    return 0;
}

int cuMemFree_v2(Address address) { IN_CONTEXT free((void *)(uintptr_t)address); return 0; }
int cuMemAllocHost_v2(void **it, size_t bytes) { IN_CONTEXT if (is("no pinned memory")) return 2; *it = malloc(bytes); return 0; }

int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream) {
    IN_CONTEXT memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream) {
    IN_CONTEXT TELL("read of %zu bytes", bytes);
    memcpy(to, (void *)(uintptr_t)from, bytes);
    // No kernel runs, also none that would say that no index is out of range.
    if (bytes == 1) *(char *)to = 0;
    return 0;
}

int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void *stream) {
    IN_CONTEXT TELL("copy of %zu bytes", bytes);
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0;
}

int cuMemcpyPeerAsync(Address to, void *there, Address from, void *here, size_t bytes, void *stream) {
    IN_CONTEXT TELL("copy of %zu bytes between GPUs", bytes);
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0;
}

int cuCtxEnablePeerAccess(void *peer, unsigned flags) { IN_CONTEXT TELL("GPUs that reach each other"); return is("no peers") ? 217 : 0; }

int cuStreamCreate(void **stream, unsigned flags) { IN_CONTEXT *stream = malloc(1); return 0; }
int cuStreamSynchronize(void *stream) { IN_CONTEXT return 0; }
int cuCtxSynchronize(void) { IN_CONTEXT return 0; }
int cuEventCreate(void **event, unsigned flags) { IN_CONTEXT *event = malloc(1); return 0; }
int cuEventDestroy_v2(void *event) { IN_CONTEXT free(event); return 0; }
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) { IN_CONTEXT TELL("stream %p waits", stream); return 0; }
int cuEventRecord(void *event, void *stream) { IN_CONTEXT return 0; }
int cuEventSynchronize(void *event) { IN_CONTEXT return 0; }

// Machine code begins with a byte that no text has, and has the text's entry points in it.
#ifdef WITH_COMPILER
int nvPTXCompilerCreate(void **compiler, size_t bytes, const char *text) {
    if (strlen(text) != bytes) return 1;
    *compiler = malloc(bytes + 2);
    sprintf(*compiler, "\x7f%s", text);
    return 0;
}

int nvPTXCompilerCompile(void *compiler, int count, const char *const *options) {
    if (count != 1 || is("no compiler") || is("bad code")) return 3;
    TELL("assembled %s", options[0]);
    return 0;
}

int nvPTXCompilerGetCompiledProgramSize(void *compiler, size_t *bytes) { *bytes = strlen(compiler) + 1; return 0; }
int nvPTXCompilerGetCompiledProgram(void *compiler, void *code) { strcpy(code, compiler); return 0; }
int nvPTXCompilerDestroy(void **compiler) { free(*compiler); *compiler = NULL; return 0; }
#endif

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    IN_CONTEXT
    if (count != 2 || options[0] != 5 || options[1] != 6) return 1;
    if (is("bad code")) {
        snprintf(values[0], (size_t)values[1], "ptxas error: line 3 is wrong");
        return 218;
    }
    if (is("new code")) return 222;
    TELL("loaded %s", *(char *)image == 0x7f ? "machine code" : "text");
    *module = strdup(image);
    return 0;
}

// What is recorded is what was launched since: as many launches as this counts.
static int recording, launches;

int cuStreamBeginCapture_v2(void *stream, int mode) { IN_CONTEXT recording = 1; launches = 0; return mode == 2 ? 0 : 1; }
int cuStreamEndCapture(void *stream, void **graph) { IN_CONTEXT recording = 0; *graph = (void *)(uintptr_t)launches; return 0; }
int cuGraphInstantiateWithFlags(void **instance, void *graph, unsigned long long flags) { IN_CONTEXT *instance = graph; return 0; }
int cuGraphDestroy(void *graph) { IN_CONTEXT return 0; }
int cuGraphExecDestroy(void *instance) { IN_CONTEXT return 0; }
int cuGraphLaunch(void *instance, void *stream) { IN_CONTEXT TELL("graph of %d launches", (int)(uintptr_t)instance); return 0; }

int cuModuleUnload(void *module) { IN_CONTEXT free(module); return 0; }

int cuModuleGetFunction(void **function, void *module, const char *name) {
    IN_CONTEXT
    if (!strstr(module, name)) return 500;
    *function = strdup(name);
    return 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value) { IN_CONTEXT return 0; }
int cuTensorMapEncodeTiled(void) { return 1; }
int cuFuncGetAttribute(int *value, int attribute, void *function) { IN_CONTEXT *value = attribute == 0 ? 1024 : -1; return 0; }

#ifndef WITHOUT_LAUNCH
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty, unsigned tz, unsigned shared,
                   void *stream, void **arguments, void **extra) {
    IN_CONTEXT
    launches++;
    if (recording) return 0;
    Address **words = (Address **)arguments;
    TELL("launch %s of %u x %u x %u blocks of %u x %u x %u threads: %lld", (char *)function, x, y, z, threads, ty, tz, *words[2]);
    if (is("trap")) lost = 1;
    return 0;
}

// As CUlaunchConfig.
typedef struct { unsigned x, y, z, threads, ty, tz, shared; void *stream; void *attributes; unsigned count; } Configuration;
int cuLaunchKernelEx(const Configuration *c, void *function, void **arguments, void **extra) {
    return cuLaunchKernel(function, c->x, c->y, c->z, c->threads, c->ty, c->tz, c->shared, c->stream, arguments, extra);
}
#endif
