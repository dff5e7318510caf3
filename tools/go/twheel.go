// SPDX-License-Identifier: LGPL-2.1-or-later

// Package twheel waits for delayed operations of the twheel kernel module. An operation has a
// deadline and may watch keys. It ends once: it completes by signals of its keys, expires at its
// deadline, or is cancelled.
//
// The package has no C code. Its goroutines wait in the poller of the runtime, and not in threads.
package twheel

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// The generated file abi.go has the structures and numbers of the uapi header. It is made by
// "scripts/calls.py go | gofmt >tools/go/abi.go".

const never = 1<<64 - 1

// A Key has 16 bytes.
type Key [16]byte

// Number returns the key of a number.
func Number(number uint64) (key Key) {
	*(*[8]byte)(key[8:]) = *(*[8]byte)(unsafe.Pointer(&number))
	return key
}

// Text returns the key of a text of 1 to 16 bytes without a NUL.
func Text(text string) (key Key, err error) {
	if text == "" || strings.IndexByte(text, 0) >= 0 {
		return key, syscall.EINVAL
	}
	if copy(key[:], text) < len(text) {
		return key, syscall.ENAMETOOLONG
	}
	return key, nil
}

// A Watch is a key and the number of signals that satisfy it.
type Watch struct {
	Key  Key
	Need uint32 // 0 is 1
}

// Reason of the end of an operation.
type Reason uint32

const (
	Completed Reason = reasonCompleted
	Expired   Reason = reasonExpired
	Cancelled Reason = reasonCancelled
)

// Clocks of deadlines.
const (
	Realtime  = 0
	Monotonic = 1
	Boottime  = 7
)

// Conditions of operations.
const (
	None   = condNone
	Any    = condAny
	All    = condAll
	Quorum = condQuorum
	Sum    = condSum
)

var (
	ErrExpired   = errors.New("twheel: the operation expired")
	ErrCancelled = errors.New("twheel: the operation was cancelled")
	ErrClosed    = errors.New("twheel: the purgatory was closed or removed")
)

// An Operation to add. Without a condition, one with keys completes by a signal of any of them.
type Operation struct {
	Keys      []Watch
	Condition uint32
	Quorum    uint32        // number of keys, for the condition Quorum
	Threshold uint64        // sum of the amounts of signals, for Sum
	Timeout   time.Duration // 0 is no timeout; see At
	At        uint64        // instead of a timeout, time on the clock in ns
	Clock     uint32        // of At and Timeout; a timeout on Realtime is one on Monotonic
	Slack     time.Duration // it may expire later by this
	Cookie    uint64        // in its event
	Detached  bool          // it outlives the file, and its event goes to the queue
	Queue     uint32
	Then      func(Event) // called with its event, in the goroutine that reads
}

// On returns an operation that watches keys, with a timeout.
func On(timeout time.Duration, keys ...Key) Operation {
	op := Operation{Timeout: timeout}
	for _, key := range keys {
		op.Keys = append(op.Keys, Watch{Key: key})
	}
	return op
}

// An Event is the end of an operation or, with More, of one of its periods.
type Event struct {
	ID, Cookie, Value  uint64
	Reason             Reason
	Errno              syscall.Errno // of a completion with an error
	Deadline, Time     uint64        // in ns of the clock
	Clock              uint32
	Expirations        uint64
	Satisfied, Missing uint64
	More               bool
	Again              bool // delivered before, and not confirmed
}

// A Queue delivers events: those of detached operations.
type Queue struct {
	file *os.File
	conn syscall.RawConn
}

// newQueue takes over a non-blocking descriptor, which the poller of the runtime accepts.
func newQueue(fd int, name string) (*Queue, error) {
	file := os.NewFile(uintptr(fd), name)
	conn, err := file.SyscallConn()
	return &Queue{file, conn}, err
}

// ioctl does not use Fd(), which would make the descriptor a blocking one.
func (q *Queue) ioctl(request uint32, args unsafe.Pointer) (fd int, err error) {
	refused := q.conn.Control(func(file uintptr) {
		ret, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file, uintptr(request), uintptr(args))
		if fd = int(ret); errno != 0 {
			err = errno
		}
	})
	if refused != nil {
		err = ErrClosed
	}
	return fd, err
}

// Read waits for an event, and returns it and those behind it, up to max. It returns io.EOF
// after the last event.
func (q *Queue) Read(max int) ([]Event, error) {
	raw := make([]event, max)
	size := int(unsafe.Sizeof(raw[0]))
	n, err := q.file.Read(unsafe.Slice((*byte)(unsafe.Pointer(&raw[0])), max*size))
	if err != nil {
		return nil, err
	}
	events := make([]Event, n/size)
	for i := range events {
		r := &raw[i]
		events[i] = Event{r.id, r.cookie, r.value, Reason(r.reason), syscall.Errno(-r.error), r.deadline,
			r.time, r.clock, r.expirations, r.satisfied, r.missing, r.flags&eventMore != 0,
			r.flags&eventAgain != 0}
	}
	return events, nil
}

// Confirm confirms an event of the latest Read of a queue that was opened with confirm.
func (q *Queue) Confirm(event Event) error {
	args := confirmArgs{id: event.ID}
	_, err := q.ioctl(iocConfirm, unsafe.Pointer(&args))
	return err
}

// Close closes the descriptor. A Read that waits returns.
func (q *Queue) Close() error {
	return q.file.Close()
}

// A Purgatory is open until Close. All methods may be called by several goroutines at once.
type Purgatory struct {
	queue   *Queue
	onEvent func(Event)
	adds    sync.RWMutex // held by an add until its operation is in waits
	mutex   sync.Mutex   // protects waits and ended
	waits   map[uint64]*Wait
	ended   bool
	reader  chan struct{} // closed when the events are not read any more
}

// Open opens a private purgatory, or that of a name. onEvent, if it is not nil, gets the events of
// operations that no Add or Submit of this object has added.
func Open(name string, onEvent func(Event)) (*Purgatory, error) {
	if strings.ContainsAny(name, "/\x00") {
		return nil, syscall.EINVAL
	}
	node := "/dev/twheel"
	if name != "" {
		node += "-" + name
	}
	fd, err := syscall.Open(node, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: node, Err: err}
	}
	queue, err := newQueue(fd, node)
	if err != nil {
		return nil, err
	}
	p := &Purgatory{queue: queue, onEvent: onEvent, waits: make(map[uint64]*Wait),
		reader: make(chan struct{})}
	go p.read()
	return p, nil
}

// Close closes the descriptor, which cancels all operations but detached ones. Functions that get
// events must not call it.
func (p *Purgatory) Close() error {
	err := p.queue.Close()
	<-p.reader
	return err
}

// Events opens a queue of detached events of a named purgatory. With confirm, the events of a Read
// are delivered again unless the next Read or a Confirm follows.
func (p *Purgatory) Events(number uint32, confirm bool) (*Queue, error) {
	args := eventsArgs{queue: number}
	if confirm {
		args.flags = eventsConfirm
	}
	fd, err := p.queue.ioctl(iocEvents, unsafe.Pointer(&args))
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return newQueue(fd, p.queue.file.Name())
}

// read delivers the events until the purgatory is closed.
func (p *Purgatory) read() {
	defer close(p.reader)
	for {
		events, err := p.queue.Read(64)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		// The adds of these events are in waits once they have let go of the lock.
		p.adds.Lock()
		p.adds.Unlock()
		if err != nil {
			p.end()
			return
		}
		for _, event := range events {
			p.mutex.Lock()
			wait := p.waits[event.ID]
			delete(p.waits, event.ID)
			p.mutex.Unlock()
			if wait != nil {
				wait.finish(event, nil)
			} else if p.onEvent != nil {
				p.onEvent(event)
			}
		}
	}
}

func (p *Purgatory) end() {
	p.mutex.Lock()
	waits := p.waits
	p.waits, p.ended = nil, true
	p.mutex.Unlock()
	for _, wait := range waits {
		wait.finish(Event{}, ErrClosed)
	}
}

// A Wait is an operation that was added.
type Wait struct {
	ID    uint64
	op    Operation
	ctx   context.Context
	done  chan struct{}
	event Event
	err   error
}

// register is called with p.adds held.
func (p *Purgatory) register(wait *Wait, id uint64) {
	wait.ID = id
	if wait.op.Detached {
		return
	}
	p.mutex.Lock()
	ended := p.ended
	if !ended {
		p.waits[id] = wait
	}
	p.mutex.Unlock()
	if ended {
		wait.finish(Event{}, ErrClosed)
	} else if wait.ctx.Done() != nil {
		go func() {
			select {
			case <-wait.ctx.Done():
				p.Cancel(id)
			case <-wait.done:
			}
		}()
	}
}

func (w *Wait) finish(event Event, err error) {
	switch {
	case err != nil:
	case event.Reason == Expired:
		err = ErrExpired
	case event.Reason == Cancelled && w.ctx.Err() != nil:
		err = w.ctx.Err()
	case event.Reason == Cancelled:
		err = ErrCancelled
	case event.Errno != 0:
		err = event.Errno
	}
	w.event, w.err = event, err
	close(w.done)
	if w.op.Then != nil && event.ID != 0 {
		w.op.Then(event)
	}
}

// Done returns a channel that is closed at the end of the operation. That of a detached one stays open.
func (w *Wait) Done() <-chan struct{} {
	return w.done
}

// Result waits for the end of the operation. It returns its event and ErrExpired, ErrCancelled, the
// error of the context that cancelled it, ErrClosed, or the errno of its completion.
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

// args packs an operation. The keys stay alive by the second result: memory of the heap does not move.
func (op *Operation) args() (addArgs, []watchSpec) {
	specs := make([]watchSpec, len(op.Keys))
	args := addArgs{clock: op.Clock, deadline: never, cookie: op.Cookie, condition: op.Condition,
		quorum: op.Quorum, threshold: op.Threshold, slack: uint64(op.Slack), queue: op.Queue}
	for i, watch := range op.Keys {
		specs[i] = watchSpec{key: watch.Key, need: watch.Need}
		if watch.Need == 0 {
			specs[i].need = 1
		}
	}
	if len(specs) > 0 {
		args.keys = uint64(uintptr(unsafe.Pointer(&specs[0])))
		args.nrKeys, args.keySize = uint32(len(specs)), uint32(unsafe.Sizeof(specs[0]))
		if op.Condition == None {
			args.condition = Any
		}
	}
	switch {
	case op.At != 0:
		args.deadline, args.flags = op.At, addAbstime
	case op.Timeout != 0:
		args.deadline = interval(op.Timeout)
		fallthrough
	default:
		if op.Clock == Realtime {
			args.clock = Monotonic
		}
	}
	if op.Detached {
		args.flags |= addDetached
	}
	return args, specs
}

// Add adds an operation. The end of the context cancels it.
func (p *Purgatory) Add(ctx context.Context, op Operation) (*Wait, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wait := &Wait{op: op, ctx: ctx, done: make(chan struct{})}
	args, specs := op.args()
	p.adds.RLock()
	defer p.adds.RUnlock()
	_, err := p.queue.ioctl(iocAdd, unsafe.Pointer(&args))
	runtime.KeepAlive(specs)
	if err != nil {
		return nil, err
	}
	p.register(wait, args.id)
	return wait, nil
}

// ended turns ENOENT into false.
func ended(err error) (bool, error) {
	if err == syscall.ENOENT {
		return false, nil
	}
	return err == nil, err
}

// Cancel cancels an operation. It returns false if the operation had ended before.
func (p *Purgatory) Cancel(id uint64) (bool, error) {
	args := cancelArgs{id: id}
	_, err := p.queue.ioctl(iocCancel, unsafe.Pointer(&args))
	return ended(err)
}

// Complete completes an operation, with an errno or 0. It returns as Cancel.
func (p *Purgatory) Complete(id, value uint64, errno syscall.Errno) (bool, error) {
	args := completeArgs{id: id, value: value, error: -int32(errno)}
	_, err := p.queue.ioctl(iocComplete, unsafe.Pointer(&args))
	return ended(err)
}

// Rearm moves the deadline. It returns as Cancel.
func (p *Purgatory) Rearm(id uint64, timeout time.Duration) (bool, error) {
	args := rearmArgs{id: id, deadline: interval(timeout)}
	_, err := p.queue.ioctl(iocRearm, unsafe.Pointer(&args))
	return ended(err)
}

// Signal signals a key and returns the number of operations that this has completed, at most limit
// unless that is 0. An amount of 0 is 1.
func (p *Purgatory) Signal(key Key, value, amount uint64, limit uint32) (int, error) {
	args := signalArgs{key: key, value: value, amount: amount, limit: limit}
	_, err := p.queue.ioctl(iocSignal, unsafe.Pointer(&args))
	return int(args.completed), err
}

// CancelKey cancels the operations that watch a key, and returns their number.
func (p *Purgatory) CancelKey(key Key) (int, error) {
	args := cancelKeyArgs{key: key}
	_, err := p.queue.ioctl(iocCancelKey, unsafe.Pointer(&args))
	return int(args.cancelled), err
}
