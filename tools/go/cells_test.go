// SPDX-License-Identifier: GPL-2.0

package twheel

import (
	"math/rand"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const soon = 30 * time.Millisecond

func cellsOf(t *testing.T, p *Purgatory, nr uint32, timeout time.Duration) *Cells {
	c, err := p.Cells(nr, timeout)
	if err == syscall.EOPNOTSUPP {
		t.Skip("no cells on this machine")
	} else if err != nil {
		t.Fatal(err)
	}
	return c
}

func cells(t *testing.T, nr uint32, timeout time.Duration) *Cells {
	return cellsOf(t, open(t), nr, timeout)
}

// arm begins a life whose event comes from the channel.
func arm(t *testing.T, c *Cells) (Cell, chan Event) {
	then := make(chan Event, 1)
	cell, err := c.Arm(func(event *Event) { then <- *event })
	if err != nil {
		t.Fatal(err)
	}
	return cell, then
}

func TestASilentLifeExpires(t *testing.T) {
	c := cells(t, 1, time.Hour)
	touched, later := arm(t, c)
	silent, then := arm(t, c)
	begin := time.Now()
	if err := silent.Move(soon); err != nil {
		t.Error(err)
	}
	if err := touched.Touch(); err != nil {
		t.Error(err)
	}
	if event := <-then; event.Reason != ReasonExpired || time.Since(begin) < soon {
		t.Error(event, time.Since(begin))
	}
	if err := silent.Touch(); err != syscall.ENOENT {
		t.Error(err)
	}
	if err := silent.Cancel(); err != syscall.ENOENT {
		t.Error(err)
	}
	if err := silent.Move(time.Hour); err != syscall.ENOENT {
		t.Error(err)
	}
	if err := touched.Move(0); err != nil {
		t.Error(err)
	}
	if event := <-later; event.Reason != ReasonExpired {
		t.Error(event)
	}
}

func TestATouchIsNeverEarly(t *testing.T) {
	ended := make(chan time.Time, 1)
	cell, err := cells(t, 1, soon).Arm(func(*Event) { ended <- time.Now() })
	if err != nil {
		t.Fatal(err)
	}
	touched := time.Now().Add(-soon)
	for i := 0; i < 3; i++ {
		time.Sleep(soon / 2)
		// It fails on a busy machine, where this thread sleeps longer.
		if now := time.Now(); cell.Touch() == nil {
			touched = now
		}
	}
	if after := (<-ended).Sub(touched); after < soon {
		t.Error(after)
	}
}

func TestACancelledCellIsUsedAgain(t *testing.T) {
	c := cells(t, 1, time.Hour)
	old, cancelled := arm(t, c)
	id := old.id
	for i := 0; i < 100; i++ {
		if err := old.Cancel(); err != nil {
			t.Fatal(err)
		}
		cell, then := arm(t, c)
		if old.Touch() != syscall.ENOENT || old.Cancel() != syscall.ENOENT || old.Move(0) != syscall.ENOENT {
			t.Fatal("an old life has changed the next one")
		}
		if cell.id != id {
			t.Fatal("another operation")
		}
		if len(cancelled) != 0 {
			t.Fatal(<-cancelled)
		}
		old, cancelled = cell, then
	}
}

// The kernel parks the operation, so that the next arming is a call.
func TestACellThatWasIdleBeyondItsDeadlineExpiresAgain(t *testing.T) {
	c := cells(t, 1, soon)
	cell, _ := arm(t, c)
	for cell.Cancel() != nil {
		cell, _ = arm(t, c)
	}
	for word := &c.words[cell.number]; word.Load()&cellTime != cellTime; {
		time.Sleep(time.Millisecond)
	}
	_, then := arm(t, c)
	if event := <-then; event.Reason != ReasonExpired {
		t.Error(event)
	}
}

func TestAllCellsAreInUse(t *testing.T) {
	p := open(t)
	c := cellsOf(t, p, 1, time.Hour)
	var last Cell
	var then chan Event
	for range c.words {
		last, then = arm(t, c)
	}
	if _, err := c.Arm(nil); err != syscall.ENOSPC {
		t.Error(err)
	}
	if err := last.Cancel(); err != nil {
		t.Error(err)
	}
	last, then = arm(t, c)
	if err := last.Move(0); err != nil {
		t.Error(err)
	}
	<-then
	last, _ = arm(t, c)
	// A call may end an idle operation, too. Its event does not free the cell once more.
	if last.Cancel() != nil || p.Cancel(last.id) != nil {
		t.Error("not cancelled")
	}
	_, err := c.Arm(nil)
	for ; err == syscall.EBUSY; _, err = c.Arm(nil) {
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		t.Error(err)
	}
	if _, err := c.Arm(nil); err != syscall.ENOSPC {
		t.Error(err)
	}
}

func TestAPurgatoryHasCellsOnce(t *testing.T) {
	p := open(t)
	cellsOf(t, p, 1, time.Hour)
	if _, err := p.Cells(1, time.Hour); err != syscall.EBUSY {
		t.Error(err)
	}
}

func TestCloseEndsTheLives(t *testing.T) {
	p := open(t)
	c := cellsOf(t, p, 1, time.Hour)
	cell, then := arm(t, c)
	idle, none := arm(t, c)
	if err := idle.Cancel(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if event := <-then; event.Reason != ReasonCancelled || len(none) != 0 {
		t.Error(event)
	}
	if err := cell.Touch(); err != syscall.ENOENT {
		t.Error(err)
	}
	if _, err := c.Arm(nil); err == nil {
		t.Error("armed")
	}
}

func TestTheCellsOfAClosedPurgatoryAreUnmapped(t *testing.T) {
	mapped := func() bool {
		text, err := os.ReadFile("/proc/self/maps")
		return err != nil || strings.Contains(string(text), "/dev/twheel")
	}
	t.Run("closed", func(t *testing.T) {
		arm(t, cells(t, 1, time.Hour))
		if !mapped() {
			t.Error("not mapped")
		}
	})
	open(t)
	for i := 0; mapped(); i++ {
		if i == 200 {
			t.Fatal("mapped")
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
}

func TestEachLifeHasOneEnd(t *testing.T) {
	const lives = 300
	c := cells(t, lives, soon)
	var ended, cancelled [lives]atomic.Int32
	var left, players sync.WaitGroup
	armed := make([]Cell, lives)
	left.Add(lives)
	for i := range armed {
		i := i
		cell, err := c.Arm(func(*Event) {
			ended[i].Add(1)
			left.Done()
		})
		if err != nil {
			t.Fatal(err)
		}
		armed[i] = cell
	}
	for seed := int64(0); seed < 4; seed++ {
		numbers := rand.New(rand.NewSource(seed))
		players.Add(1)
		go func() {
			defer players.Done()
			for n := 0; n < 20000; n++ {
				if i := numbers.Intn(lives); n%100 != 0 {
					armed[i].Touch()
				} else if armed[i].Cancel() == nil {
					cancelled[i].Add(1)
					left.Done()
				}
			}
		}()
	}
	left.Wait()
	players.Wait()
	for i := range armed {
		if n := ended[i].Load() + cancelled[i].Load(); n != 1 {
			t.Error(i, n)
		}
	}
}

// The cost of a touch, without a device.
func BenchmarkTouch(b *testing.B) {
	c := &Cells{timeout: time.Hour, begin: time.Now(), words: make([]atomic.Uint64, 1)}
	cell := Cell{cells: c}
	for i := 0; i < b.N; i++ {
		cell.Touch()
	}
}
