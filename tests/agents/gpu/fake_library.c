/* A stand-in for libnvidia-ml.so.1, for NVIDIA's own binding: two GPUs, of which the second reports XID 48 once, wants a
 * reset until it was asked five times, and is calm after that. Types and numbers follow NVIDIA's public header. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

typedef int Return;
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, TIMEOUT = 10 };

struct Device { int number; };
typedef struct Device *Handle;
static struct Device gpus[2] = {{0}, {1}};
static int set, reported, asked, registered;

typedef struct {
    Handle device;
    unsigned long long type, data;
    unsigned int gpu_instance, compute_instance;
} Event;

typedef struct {
    unsigned int field, scope;
    long long timestamp, latency;
    int type;
    Return result;
    union { double d; unsigned int ui; unsigned long ul; unsigned long long ull; long long sll; } value;
} FieldValue;

Return nvmlInit_v2(void) { return SUCCESS; }
Return nvmlInitWithFlags(unsigned int flags) { return flags ? INVALID_ARGUMENT : SUCCESS; }
Return nvmlShutdown(void) { return set ? INVALID_ARGUMENT : SUCCESS; }
const char *nvmlErrorString(Return code) { return code == TIMEOUT ? "Timeout" : "Error"; }

Return nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return SUCCESS; }

Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, Handle *device) {
    if (index > 1) return INVALID_ARGUMENT;
    *device = &gpus[index];
    return SUCCESS;
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char *address, Handle *device) {
    int is_second = !strcmp(address, "0000:02:00.0");
    if (!is_second && strcmp(address, "0000:01:00.0")) return 6; /* not found */
    *device = &gpus[is_second];
    return SUCCESS;
}

Return nvmlDeviceGetTemperature(Handle device, int sensor, unsigned int *degrees) {
    if (sensor != 0) return INVALID_ARGUMENT;
    *degrees = 50 + device->number;
    return SUCCESS;
}

Return nvmlDeviceGetRemappedRows(Handle device, unsigned int *correctable, unsigned int *uncorrectable,
                                 unsigned int *pending, unsigned int *failed) {
    if (device->number == 0) return NOT_SUPPORTED;
    *correctable = 3; *uncorrectable = 1; *pending = 0; *failed = 0;
    return SUCCESS;
}

Return nvmlDeviceGetFieldValues(Handle device, int count, FieldValue *values) {
    for (int i = 0; i < count; i++) {
        if (values[i].field != 230) { values[i].result = NOT_SUPPORTED; continue; }
        values[i].type = 1; /* unsigned int */
        values[i].result = SUCCESS;
        memset(&values[i].value, 0xff, sizeof values[i].value);
        values[i].value.ui = device->number == 1 && reported && asked++ < 5 ? 1 : 0;
    }
    return SUCCESS;
}

Return nvmlDeviceGetSupportedEventTypes(Handle device, unsigned long long *types) {
    (void)device;
    *types = 0x1f;
    return SUCCESS;
}

Return nvmlEventSetCreate(int **events) { *events = &set; set = 1; return SUCCESS; }
Return nvmlEventSetFree(int *events) { *events = 0; return SUCCESS; }

Return nvmlDeviceRegisterEvents(Handle device, unsigned long long types, int *events) {
    if (events != &set || types != 0x8) return INVALID_ARGUMENT;
    registered |= 1 << device->number;
    return SUCCESS;
}

Return nvmlEventSetWait_v2(int *events, Event *event, unsigned int milliseconds) {
    if (events != &set || registered != 3) return INVALID_ARGUMENT;
    if (reported) { usleep(1000 * milliseconds); return TIMEOUT; }
    reported = 1;
    *event = (Event){.device = &gpus[1], .type = 0x8, .data = 48, .gpu_instance = ~0u, .compute_instance = ~0u};
    return SUCCESS;
}
