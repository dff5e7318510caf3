// SPDX-License-Identifier: LGPL-2.1-or-later

package twheel

import (
	"context"
	"io"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// A Batch has calls that Submit executes in order, with a system call for up to 1024 of them. It
// belongs to one goroutine.
type Batch struct {
	p        *Purgatory
	commands []byte
	ends     []int // of each command in commands
	waits    []*Wait
	specs    [][]watchSpec
}

// A Result has the error of a command and its value: the ID of an add, the number of operations that a
// signal has completed, 1 if a rearm has moved the deadline.
type Result struct {
	Value uint64
	Err   error
}

func (p *Purgatory) Batch() *Batch {
	return &Batch{p: p}
}

func (b *Batch) put(cmd uint32, args unsafe.Pointer, size uintptr, wait *Wait) {
	head := command{cmd: cmd}
	b.commands = append(b.commands, (*[unsafe.Sizeof(head)]byte)(unsafe.Pointer(&head))[:]...)
	b.commands = append(b.commands, unsafe.Slice((*byte)(args), size)...)
	b.ends = append(b.ends, len(b.commands))
	b.waits = append(b.waits, wait)
}

// Add puts an operation into the batch. Its Wait ends with the error if the add fails.
func (b *Batch) Add(ctx context.Context, op Operation) *Wait {
	wait := &Wait{op: op, ctx: ctx, done: make(chan struct{})}
	args, specs := op.args()
	b.specs = append(b.specs, specs)
	b.put(iocAdd, unsafe.Pointer(&args), unsafe.Sizeof(args), wait)
	return wait
}

func (b *Batch) Cancel(id uint64) {
	args := cancelArgs{id: id}
	b.put(iocCancel, unsafe.Pointer(&args), unsafe.Sizeof(args), nil)
}

func (b *Batch) Rearm(id uint64, timeout time.Duration) {
	args := rearmArgs{id: id, deadline: interval(timeout)}
	b.put(iocRearm, unsafe.Pointer(&args), unsafe.Sizeof(args), nil)
}

func (b *Batch) Signal(key Key, value, amount uint64, limit uint32) {
	args := signalArgs{key: key, value: value, amount: amount, limit: limit}
	b.put(iocSignal, unsafe.Pointer(&args), unsafe.Sizeof(args), nil)
}

// Submit executes the commands, and returns a result for each. After an error, the adds that were
// not executed end with it, and the batch is empty.
func (b *Batch) Submit() ([]Result, error) {
	results := make([]Result, 0, len(b.ends))
	at, err := 0, error(nil)
	for len(results) < len(b.ends) && err == nil {
		first, nr := len(results), len(b.ends)-len(results)
		if nr > maxBatch {
			nr = maxBatch
		}
		end := b.ends[first+nr-1]
		raw := make([]result, nr)
		args := batchArgs{commands: uint64(uintptr(unsafe.Pointer(&b.commands[at]))),
			results: uint64(uintptr(unsafe.Pointer(&raw[0]))), nr: uint32(nr), size: uint32(end - at),
			resultSize: uint32(unsafe.Sizeof(raw[0]))}
		b.p.adds.RLock()
		_, err = b.p.queue.ioctl(iocBatch, unsafe.Pointer(&args))
		if err == nil && args.done == 0 {
			err = io.ErrNoProgress
		}
		for i := 0; err == nil && i < int(args.done); i++ {
			r := Result{Value: raw[i].value}
			wait := b.waits[first+i]
			if raw[i].error != 0 {
				r.Err = syscall.Errno(-raw[i].error)
				if wait != nil {
					wait.finish(Event{}, r.Err)
				}
			} else if wait != nil {
				b.p.register(wait, r.Value)
			}
			results = append(results, r)
			at = b.ends[first+i]
		}
		b.p.adds.RUnlock()
	}
	runtime.KeepAlive(b.specs)
	for _, wait := range b.waits[len(results):] {
		if wait != nil {
			wait.finish(Event{}, err)
		}
	}
	*b = Batch{p: b.p}
	return results, err
}
