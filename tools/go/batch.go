// SPDX-License-Identifier: LGPL-2.1-or-later

package twheel

import (
	"context"
	"syscall"
	"time"
	"unsafe"
)

// A Batch has calls that Submit executes in order, with a system call for up to 1024 of them. It
// belongs to one goroutine, and has to be submitted.
type Batch struct {
	p        *Purgatory
	commands []byte
	ends     []int   // of each command in commands
	waits    []*Wait // of each command that is an add, or nil
}

// A Result has the value of a command: the ID of an add, the number of operations that a signal has
// completed, 1 if a rearm has moved the deadline.
type Result struct {
	Value    uint64
	error    int32
	reserved uint32
}

// Err returns nil or a syscall.Errno.
func (r *Result) Err() error {
	if r.error == 0 {
		return nil
	}
	return syscall.Errno(-r.error)
}

func (p *Purgatory) Batch() *Batch { return &Batch{p: p} }

func put[Args any](b *Batch, cmd uint32, args Args, wait *Wait) {
	c := struct {
		head command
		args Args
	}{command{cmd: cmd}, args}
	b.commands = append(b.commands, unsafe.Slice((*byte)(unsafe.Pointer(&c)), unsafe.Sizeof(c))...)
	b.ends = append(b.ends, len(b.commands))
	b.waits = append(b.waits, wait)
}

// Add puts an operation into the batch. Its Wait ends with the error if the add fails.
func (b *Batch) Add(ctx context.Context, op Operation) *Wait {
	wait, args := b.p.prepare(ctx, op)
	put(b, iocAdd, args, wait)
	return wait
}

func (b *Batch) Cancel(id uint64) { put(b, iocCancel, cancelArgs{id: id}, nil) }

func (b *Batch) Rearm(id uint64, timeout time.Duration) {
	put(b, iocRearm, rearmArgs{id: id, deadline: interval(timeout)}, nil)
}

func (b *Batch) Signal(key Key, value, amount uint64, limit uint32) {
	put(b, iocSignal, signalArgs{key: key, value: value, amount: amount, limit: limit}, nil)
}

// Submit executes the commands, returns a result for each, and empties the batch. After an error, the
// rest has no result, and its Waits end with the error.
func (b *Batch) Submit() ([]Result, error) {
	results, done, at, err := make([]Result, len(b.ends)), 0, 0, error(nil)
	for done < len(results) && err == nil {
		end := done + maxBatch
		if end > len(results) {
			end = len(results)
		}
		args := batchArgs{commands: uint64(uintptr(unsafe.Pointer(&b.commands[at]))),
			results: uint64(uintptr(unsafe.Pointer(&results[done]))), nr: uint32(end - done),
			size: uint32(b.ends[end-1] - at), resultSize: uint32(unsafe.Sizeof(results[0]))}
		if _, err = ioctl(b.p.queue, iocBatch, &args); err == nil {
			done += int(args.done)
			at = b.ends[done-1]
		}
	}
	for i, wait := range b.waits {
		if wait != nil && i < done {
			wait.settle(results[i].Value, results[i].Err())
		} else if wait != nil {
			wait.settle(0, err)
		}
	}
	*b = Batch{p: b.p}
	return results[:done], err
}
