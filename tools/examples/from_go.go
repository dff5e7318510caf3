// SPDX-License-Identifier: GPL-2.0

// Wait for an order with a timeout, without a binding: cgo reads the header, also the numbers of the
// ioctls.
package main

// #include <stdlib.h>
// #include <linux/twheel.h>
import "C"

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// call is an ioctl. The kernel checks all fields, and returns an errno.
func call(file *os.File, request uintptr, args unsafe.Pointer) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(args))
	if errno != 0 {
		return errno
	}
	return nil
}

func run() error {
	file, err := os.OpenFile("/dev/twheel", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()

	// A key is 16 bytes. Memory of C, since the structure of the add has its address as a number.
	spec := (*C.struct_twheel_watch_spec)(C.calloc(1, C.sizeof_struct_twheel_watch_spec))
	defer C.free(unsafe.Pointer(spec))
	copy((*[16]byte)(unsafe.Pointer(&spec.key))[:], "order-17")

	add := C.struct_twheel_add_args{
		condition: C.TWHEEL_COND_ANY,
		nr_keys:   1,
		keys:      C.__u64(uintptr(unsafe.Pointer(spec))),
		key_size:  C.sizeof_struct_twheel_watch_spec,
		deadline:  5e9,
		clock:     1, // CLOCK_MONOTONIC
		cookie:    17,
	}
	if err := call(file, C.TWHEEL_IOC_ADD, unsafe.Pointer(&add)); err != nil {
		return err
	}

	// Usually this is another process, with a named purgatory.
	signal := C.struct_twheel_signal_args{key: spec.key, value: 7}
	if err := call(file, C.TWHEEL_IOC_SIGNAL, unsafe.Pointer(&signal)); err != nil {
		return err
	}

	// Fd() has made the file blocking: a thread waits here, and not the poller of Go.
	var event C.struct_twheel_event
	_, err = file.Read((*[C.sizeof_struct_twheel_event]byte)(unsafe.Pointer(&event))[:])
	if err != nil {
		return err
	}
	fmt.Printf("order %d: reason %d, value %d\n", event.cookie, event.reason, event.value)
	if event.reason != C.TWHEEL_REASON_COMPLETED || event.value != 7 || event.id != add.id {
		return fmt.Errorf("wrong event %+v", event)
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
