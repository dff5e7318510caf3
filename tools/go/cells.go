// SPDX-License-Identifier: LGPL-2.1-or-later

package twheel

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Cells are timeouts and heartbeats in memory that the kernel shares: to move or cancel one is no
// system call. Documentation/cells-protocol.rst describes the words. After Close, the garbage collector
// unmaps them.
type Cells struct {
	queue   *Queue
	timeout time.Duration
	words   []atomic.Uint64
	begin   time.Time  // of the clock of the words, or a little earlier
	mutex   sync.Mutex // protects the others
	slots   []slot
	free    []uint32 // cells without a life
}

// A slot has the operation of a cell, until its event was read, and the function of the life.
type slot struct {
	id   uint64
	then func(*Event)
}

// A Cell is a life of a cell, from Arm to its end.
type Cell struct {
	cells    *Cells
	number   uint32
	id, life uint64
}

// Cells maps nr cells or more, once in a purgatory, with one timeout. Cells of another timeout need
// another purgatory.
func (p *Purgatory) Cells(nr uint32, timeout time.Duration) (*Cells, error) {
	args := cellsArgs{nr: nr}
	if err := call(p.queue, iocCells, &args); err != nil {
		return nil, err
	}
	c := &Cells{queue: p.queue, timeout: timeout, slots: make([]slot, args.nr)}
	memory, err := []byte(nil), os.ErrClosed
	conn, _ := p.queue.file.SyscallConn()
	conn.Control(func(fd uintptr) {
		memory, err = syscall.Mmap(int(fd), 0, int(args.nr)*8, syscall.PROT_READ|syscall.PROT_WRITE,
			syscall.MAP_SHARED)
	})
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(c, func(*Cells) { syscall.Munmap(memory) })
	c.words = unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&memory[0])), args.nr)
	for number := args.nr; number > 0; number-- {
		c.free = append(c.free, number-1)
	}
	// time.Since() reads CLOCK_MONOTONIC, from an unknown value on. The latest begin is the closest.
	for i := 0; i < 5; i++ {
		var now syscall.Timespec
		before := time.Now()
		syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
		begin := before.Add(time.Duration(args.monotonicOffset - now.Nano()))
		if begin.After(c.begin) {
			c.begin = begin
		}
	}
	if !p.cells.CompareAndSwap(nil, c) {
		return nil, syscall.EBUSY
	}
	return c, nil
}

// time converts a timeout from now on to the time of a word. One of more than nine years is none.
func (c *Cells) time(timeout time.Duration) uint64 {
	ns := uint64(time.Since(c.begin)) + interval(timeout)
	if t := (ns + 1<<cellShift - 1) >> cellShift; t < cellTime {
		return t
	}
	return cellTime
}

// Arm begins a life. At its deadline, and if a call ends it, then gets the event, in the goroutine
// that reads. It is a system call if the cell is new, or was idle beyond its deadline. It returns
// ENOSPC if all cells have a life.
func (c *Cells) Arm(then func(*Event)) (Cell, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	last := len(c.free) - 1
	if last < 0 {
		return Cell{}, syscall.ENOSPC
	}
	number := c.free[last]
	s, word := &c.slots[number], &c.words[number]
	life := (word.Load() + cellTime + 1) & cellLife
	to, err := life|c.time(c.timeout), error(syscall.ENOENT)
	for err == syscall.ENOENT { // if a call ends the idle operation meanwhile
		if old := word.Load() &^ cellTime; old&cellIdle != 0 {
			err = Cell{c, number, s.id, old}.set(func(uint64) uint64 { return to })
		} else if s.id != 0 {
			err = syscall.EBUSY
		} else {
			args := addArgs{flags: addCell, clock: 1, deadline: interval(c.timeout),
				cookie: uint64(number), cell: number}
			err = call(c.queue, iocAdd, &args)
			s.id = args.id
		}
	}
	if err == nil {
		s.then, c.free = then, c.free[:last]
	}
	return Cell{c, number, s.id, life}, err
}

// end delivers the event of an operation, unless its cell was idle, which is free already.
func (c *Cells) end(event *Event) {
	number, idle := uint32(event.Cookie), event.Cell&cellIdle != 0
	c.mutex.Lock()
	then := c.slots[number].then
	c.slots[number] = slot{}
	if !idle {
		c.free = append(c.free, number)
	}
	c.mutex.Unlock()
	if !idle && then != nil {
		then(event)
	}
}

// set exchanges the word of a life. To lower its time is a call.
func (c Cell) set(next func(word uint64) uint64) error {
	word, err := &c.cells.words[c.number], error(syscall.EAGAIN)
	for err == syscall.EAGAIN {
		from := word.Load()
		if to := next(from); (from^c.life)&^cellTime != 0 {
			err = syscall.ENOENT
		} else if to&cellTime < from&cellTime {
			err = call(c.cells.queue, iocExchange, &exchangeArgs{id: c.id, from: from, to: to})
		} else if word.CompareAndSwap(from, to) {
			err = nil
		}
	}
	runtime.KeepAlive(c.cells) // not unmapped
	return err
}

// Touch moves the deadline to the timeout from now on. It fails with ENOENT if the life has ended.
func (c Cell) Touch() error {
	to := c.life | c.cells.time(c.cells.timeout)
	return c.set(func(word uint64) uint64 {
		if word > to {
			return word
		}
		return to
	})
}

// Move moves the deadline, also to an earlier time, which is a system call. It fails as Touch.
func (c Cell) Move(timeout time.Duration) error {
	to := c.life | c.cells.time(timeout)
	return c.set(func(uint64) uint64 { return to })
}

// Cancel ends the life without an event. It fails as Touch.
func (c Cell) Cancel() error {
	err := c.set(func(word uint64) uint64 { return word | cellIdle })
	if err == nil {
		c.cells.mutex.Lock()
		c.cells.slots[c.number].then = nil
		c.cells.free = append(c.cells.free, c.number)
		c.cells.mutex.Unlock()
	}
	return err
}
