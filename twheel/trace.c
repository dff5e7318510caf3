// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of include/trace/events/twheel.h. */
#define CREATE_TRACE_POINTS
#include <trace/events/twheel.h>
