// SPDX-License-Identifier: LGPL-2.1-or-later

// Package twheel waits for delayed operations of the twheel kernel module. An operation has a
// deadline and may watch keys. It ends once: it completes by signals of its keys, expires at its
// deadline, or is cancelled. Errors are those of Documentation/device-calls.rst.
//
// The package has no C code. Its goroutines wait in the poller of the runtime, and not in threads.
package twheel

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

var (
	ErrExpired   = errors.New("twheel: the operation expired")
	ErrCancelled = errors.New("twheel: the operation was cancelled")
	ends         = map[uint32]error{ReasonExpired: ErrExpired, ReasonCancelled: ErrCancelled}
)

// A Key has 16 bytes.
type Key [16]byte

// Number returns the key of a number.
func Number(number uint64) Key { return *(*Key)(unsafe.Pointer(&[2]uint64{0, number})) }

// Text returns the key of a text of 1 to 16 bytes without a NUL.
func Text(text string) (key Key, err error) {
	if text == "" || strings.IndexByte(text, 0) >= 0 {
		err = syscall.EINVAL
	} else if copy(key[:], text) < len(text) {
		err = syscall.ENAMETOOLONG
	}
	return key, err
}

// A Watch is a key and the number of signals that satisfy it.
type Watch struct {
	Key       Key
	Need, bit uint32 // 0 is 1
}

// An Operation to add. Without a condition, one with keys completes by a signal of any of them.
type Operation struct {
	Keys      []Watch
	Condition uint32        // CondAny, CondAll, CondQuorum or CondSum
	Quorum    uint32        // number of keys
	Threshold uint64        // sum of the amounts of signals
	Timeout   time.Duration // 0 is no timeout; see At
	At        uint64        // instead of a timeout, time on the clock in ns
	Clock     uint32        // clockid, see Documentation/device.rst: 0 is CLOCK_REALTIME
	Slack     time.Duration // it may expire later by this
	Cookie    uint64        // in its event
	Detached  bool          // it outlives the file, and its event goes to the queue
	Queue     uint32
	Then      func(*Event) // called with the event, in the goroutine that reads
}

// An Event is the end of an operation, or of a period of one from elsewhere, as the kernel delivers it.
type Event struct {
	ID, Cookie, Value, Deadline, Time     uint64 // times in ns of the clock
	Reason                                uint32 // ReasonCompleted, ReasonExpired or ReasonCancelled
	Flags                                 uint32 // EventMore: it continues; EventAgain: not confirmed before
	Error                                 int32  // of a completion with an error, negative
	Clock                                 uint32
	Expirations, Satisfied, Missing, Cell uint64
	spare                                 [5]uint64
}

// A Queue delivers events: those of detached operations. The poller of the runtime accepts its
// descriptor, which does not block.
type Queue struct{ file *os.File }

// ioctl does not use Fd(), which would make the descriptor a blocking one.
func ioctl[Args any](q *Queue, request uint32, args *Args) (result uintptr, err error) {
	conn, _ := q.file.SyscallConn() // fails without a file only
	err = os.ErrClosed
	conn.Control(func(fd uintptr) {
		ret, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, uintptr(request),
			uintptr(unsafe.Pointer(args)))
		if result, err = ret, nil; errno != 0 {
			err = errno
		}
	})
	return result, err
}

func call[Args any](q *Queue, request uint32, args *Args) error {
	_, err := ioctl(q, request, args)
	return err
}

// Read waits for an event, and returns it and those behind it, up to max. It returns io.EOF
// after the last event.
func (q *Queue) Read(max int) ([]Event, error) {
	events := make([]Event, max)
	size := int(unsafe.Sizeof(events[0]))
	n, err := q.file.Read(unsafe.Slice((*byte)(unsafe.Pointer(&events[0])), max*size))
	return events[:n/size], err
}

// Confirm confirms an event of the latest Read of a queue that was opened with confirm.
func (q *Queue) Confirm(event *Event) error {
	return call(q, iocConfirm, &confirmArgs{id: event.ID})
}

// Close closes the descriptor. A Read that waits returns.
func (q *Queue) Close() error { return q.file.Close() }

// A Purgatory is open until Close. All methods may be called by several goroutines at once.
type Purgatory struct {
	queue  *Queue
	reader chan struct{} // closed after the last event
	cells  atomic.Pointer[Cells]
	last   atomic.Uint64 // cookie
	waits  sync.Map      // from cookies to *Wait
}

// Open opens a private purgatory, or that of a name.
func Open(name string) (*Purgatory, error) {
	node := "/dev/twheel"
	if name != "" {
		node += "-" + name
	}
	file, err := os.OpenFile(node, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	p := &Purgatory{queue: &Queue{file}, reader: make(chan struct{})}
	go p.read()
	return p, nil
}

// Close cancels all operations but detached ones, waits until their events have been delivered, and
// closes the descriptor. A Then must not call it.
func (p *Purgatory) Close() error {
	call(p.queue, iocDrain, &drainArgs{})
	<-p.reader
	return p.queue.Close()
}

// Events opens a queue of detached events of a named purgatory. With EventsConfirm, the events of a
// Read are delivered again unless the next Read or a Confirm follows.
func (p *Purgatory) Events(number, flags uint32) (*Queue, error) {
	args := eventsArgs{flags: flags | syscall.O_NONBLOCK, queue: number}
	fd, err := ioctl(p.queue, iocEvents, &args)
	if err != nil {
		return nil, err
	}
	return &Queue{os.NewFile(fd, p.queue.file.Name())}, nil
}

// read delivers the events until the purgatory is drained or removed.
func (p *Purgatory) read() {
	defer close(p.reader)
	for events, err := p.queue.Read(64); err == nil; events, err = p.queue.Read(64) {
		for i := range events {
			if event := &events[i]; event.Cell != 0 {
				p.cells.Load().end(event)
			} else if wait, known := p.waits.LoadAndDelete(event.Cookie); known {
				wait.(*Wait).end(event)
			}
		}
	}
}

// A Wait is an operation that was added.
type Wait struct {
	ID     uint64 // set when Add or Submit returns
	p      *Purgatory
	op     Operation
	ctx    context.Context
	cookie uint64 // in its event; 0 if that goes to a queue
	done   chan struct{}
	event  Event
	err    error
}

// address is that of memory of the heap, which does not move.
func address[T any](memory *T) uint64 { return uint64(uintptr(unsafe.Pointer(memory))) }

// prepare packs an operation, whose event may come before the call returns.
func (p *Purgatory) prepare(ctx context.Context, op Operation) (*Wait, addArgs) {
	wait := &Wait{p: p, op: op, ctx: ctx, done: make(chan struct{})}
	args := addArgs{clock: op.Clock, deadline: 1<<64 - 1, cookie: op.Cookie, condition: op.Condition,
		quorum: op.Quorum, threshold: op.Threshold, slack: uint64(op.Slack), queue: op.Queue}
	if keys := wait.op.Keys; len(keys) > 0 {
		args.keys = uint64(uintptr(unsafe.Pointer(&keys[0])))
		args.nrKeys, args.keySize = uint32(len(keys)), uint32(unsafe.Sizeof(keys[0]))
		if op.Condition == 0 {
			args.condition = CondAny
		}
	}
	if op.At != 0 {
		args.deadline, args.flags = op.At, addAbstime
	} else if op.Timeout != 0 {
		args.deadline = interval(op.Timeout)
	}
	if op.Detached {
		args.flags |= addDetached
	} else {
		wait.cookie = p.last.Add(1)
		args.cookie = wait.cookie
		p.waits.Store(wait.cookie, wait)
	}
	return wait, args
}

// settle is called with the result of an add.
func (w *Wait) settle(id uint64, err error) {
	if w.ID = id; err != nil {
		w.p.waits.Delete(w.cookie)
		w.err = err
		close(w.done)
	} else if w.cookie != 0 && w.ctx.Done() != nil {
		go func() {
			select {
			case <-w.ctx.Done():
				w.p.Cancel(id)
			case <-w.done:
			}
		}()
	}
}

func (w *Wait) end(event *Event) {
	event.Cookie = w.op.Cookie
	w.event, w.err = *event, ends[event.Reason]
	if event.Error != 0 {
		w.err = syscall.Errno(-event.Error)
	} else if event.Reason == ReasonCancelled && w.ctx.Err() != nil {
		w.err = w.ctx.Err()
	}
	close(w.done)
	if w.op.Then != nil {
		w.op.Then(event)
	}
}

// Done returns a channel that is closed at the end of the operation. That of a detached one stays open.
func (w *Wait) Done() <-chan struct{} { return w.done }

// Result waits for the end of the operation. It returns its event and ErrExpired, ErrCancelled, the
// error of the context that cancelled it, or the syscall.Errno of its completion.
func (w *Wait) Result() (Event, error) {
	<-w.done
	return w.event, w.err
}

func interval(timeout time.Duration) uint64 {
	if timeout < 0 {
		return 0
	}
	return uint64(timeout)
}

// Add adds an operation. The end of the context cancels it, unless it is detached.
func (p *Purgatory) Add(ctx context.Context, op Operation) (*Wait, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait, args := p.prepare(ctx, op)
	err := call(p.queue, iocAdd, &args)
	wait.settle(args.id, err)
	return wait, err
}

// Cancel cancels an operation. It fails with ENOENT if the operation had ended before.
func (p *Purgatory) Cancel(id uint64) error {
	return call(p.queue, iocCancel, &cancelArgs{id: id})
}

// Complete completes an operation, with an errno or 0. It fails as Cancel.
func (p *Purgatory) Complete(id, value uint64, errno syscall.Errno) error {
	return call(p.queue, iocComplete, &completeArgs{id: id, value: value, error: -int32(errno)})
}

// Rearm moves the deadline. It fails as Cancel.
func (p *Purgatory) Rearm(id uint64, timeout time.Duration) error {
	return call(p.queue, iocRearm, &rearmArgs{id: id, deadline: interval(timeout)})
}

// Signal signals a key and returns the number of operations that this has completed, at most limit
// unless that is 0. An amount of 0 is 1.
func (p *Purgatory) Signal(key Key, value, amount uint64, limit uint32) (int, error) {
	args := signalArgs{key: key, value: value, amount: amount, limit: limit}
	err := call(p.queue, iocSignal, &args)
	return int(args.completed), err
}

// A Batch has calls that Submit executes in order, with a system call for up to 1024 of them. It
// belongs to one goroutine, and has to be submitted.
type Batch struct {
	p        *Purgatory
	commands []byte
	ends     []int   // of each command in commands
	waits    []*Wait // of each command, nil if it is no add
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
		args := batchArgs{commands: address(&b.commands[at]), results: address(&results[done]),
			nr: uint32(end - done), size: uint32(b.ends[end-1] - at),
			resultSize: uint32(unsafe.Sizeof(results[0]))}
		if err = call(b.p.queue, iocBatch, &args); err == nil {
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
