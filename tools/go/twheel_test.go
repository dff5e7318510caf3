// SPDX-License-Identifier: GPL-2.0

package twheel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The compiler of C has printed the numbers in this file.
const layout = "../../Documentation/ABI/dump"

func TestStructuresHaveTheLayoutOfTheKernel(t *testing.T) {
	text, err := os.ReadFile(layout)
	if err != nil {
		t.Skip(err)
	}
	structures := map[string]any{"watchSpec": Watch{}, "event": Event{}, "result": Result{},
		"addArgs": addArgs{}, "cancelArgs": cancelArgs{}, "completeArgs": completeArgs{},
		"rearmArgs": rearmArgs{}, "signalArgs": signalArgs{}, "exchangeArgs": exchangeArgs{},
		"batchArgs": batchArgs{}, "drainArgs": drainArgs{}, "eventsArgs": eventsArgs{},
		"confirmArgs": confirmArgs{}, "cellsArgs": cellsArgs{}, "command": command{}}
	plain := func(text string) string { return strings.ToLower(strings.ReplaceAll(text, "_", "")) }
	lines := plain(string(text))
	for name, args := range structures {
		kind := reflect.TypeOf(args)
		if line := plain(fmt.Sprintf("\nsize twheel%s %d\n", name, kind.Size())); !strings.Contains(lines, line) {
			t.Error("not in the layout:", line)
		}
		for i := 0; i < kind.NumField(); i++ {
			field := kind.Field(i)
			line := plain(fmt.Sprintf("\nfield twheel%s.%s %d %d\n", name, field.Name, field.Offset, field.Type.Size()))
			if !strings.Contains(lines, line) {
				t.Error("not in the layout:", line)
			}
		}
	}
	source, err := os.ReadFile("abi.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(\w+) struct`).FindAllStringSubmatch(string(source), -1) {
		if structures[match[1]] == nil {
			t.Error("not compared:", match[1])
		}
	}
}

func open(t *testing.T) *Purgatory {
	p, err := Open("")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func on(timeout time.Duration, key uint64) Operation {
	return Operation{Keys: []Watch{{Key: Number(key)}}, Timeout: timeout}
}

func add(t *testing.T, p *Purgatory, ctx context.Context, op Operation) *Wait {
	wait, err := p.Add(ctx, op)
	if err != nil {
		t.Fatal(err)
	}
	return wait
}

func TestASignalCompletesAnOperation(t *testing.T) {
	p := open(t)
	then := make(chan Event, 1)
	op := Operation{Keys: []Watch{{Key: Number(1)}, {Key: Number(2), Need: 2}}, Condition: CondAll,
		Cookie: 9, Then: func(event *Event) { then <- *event }}
	wait := add(t, p, context.Background(), op)
	for i, key := range []uint64{1, 2, 2} {
		if nr, err := p.Signal(Number(key), 5, 0, 0); err != nil || nr != i/2 {
			t.Fatal(i, nr, err)
		}
	}
	event, err := wait.Result()
	if err != nil || event.Value != 5 || event.Cookie != 9 || event.Satisfied != 3 || event.ID != wait.ID {
		t.Fatal(event, err)
	}
	if <-then != event {
		t.Fatal("another event")
	}
}

func TestErrorsOfAnEnd(t *testing.T) {
	p := open(t)
	background := context.Background()
	if event, err := add(t, p, background, Operation{Timeout: time.Millisecond}).Result(); err != ErrExpired || event.Time < event.Deadline {
		t.Error(event, err)
	}
	wait := add(t, p, background, Operation{})
	if err := p.Cancel(wait.ID); err != nil {
		t.Error(err)
	}
	if _, err := wait.Result(); err != ErrCancelled {
		t.Error(err)
	}
	if err := p.Cancel(wait.ID); err != syscall.ENOENT {
		t.Error(err)
	}
	wait = add(t, p, background, Operation{})
	if err := p.Complete(wait.ID, 0, syscall.EPIPE); err != nil {
		t.Error(err)
	}
	if _, err := wait.Result(); err != syscall.EPIPE {
		t.Error(err)
	}
	if _, err := p.Add(background, Operation{Condition: CondQuorum, Quorum: 2}); err != syscall.EINVAL {
		t.Error(err)
	}
}

func TestAContextCancelsItsOperation(t *testing.T) {
	p := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	wait := add(t, p, ctx, on(time.Hour, 1))
	cancel()
	if _, err := wait.Result(); err != context.Canceled {
		t.Error(err)
	}
	if nr, err := p.Signal(Number(1), 0, 0, 0); nr != 0 || err != nil {
		t.Error(nr, err)
	}
	if _, err := p.Add(ctx, Operation{}); err != context.Canceled {
		t.Error(err)
	}
}

func TestABatchHasResults(t *testing.T) {
	const nr = 3000
	p := open(t)
	batch := p.Batch()
	waits := make([]*Wait, nr)
	for i := range waits {
		waits[i] = batch.Add(context.Background(), on(time.Hour, uint64(i)))
	}
	wrong := batch.Add(context.Background(), Operation{Condition: CondQuorum, Quorum: 2})
	for i := range waits {
		batch.Signal(Number(uint64(i)), uint64(i), 0, 0)
	}
	results, err := batch.Submit()
	if err != nil || len(results) != 2*nr+1 || results[nr].Err() != syscall.EINVAL || results[nr+1].Value != 1 {
		t.Fatal(len(results), err)
	}
	if _, err := wrong.Result(); err != syscall.EINVAL {
		t.Error(err)
	}
	for i, wait := range waits {
		if event, err := wait.Result(); err != nil || event.Value != uint64(i) {
			t.Fatal(i, event, err)
		}
	}
}

func TestManyGoroutinesWait(t *testing.T) {
	p := open(t)
	done := make(chan error)
	for i := 0; i < 500; i++ {
		go func(key Key) {
			wait, err := p.Add(context.Background(), Operation{Keys: []Watch{{Key: key}}, Timeout: time.Minute})
			if err == nil {
				_, err = p.Signal(key, 0, 0, 0)
			}
			if err == nil {
				_, err = wait.Result()
			}
			done <- err
		}(Number(uint64(i)))
	}
	for i := 0; i < 500; i++ {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestCloseEndsTheWaits(t *testing.T) {
	p := open(t)
	completed := add(t, p, context.Background(), Operation{})
	pending := add(t, p, context.Background(), Operation{})
	if err := p.Complete(completed.ID, 3, 0); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if event, err := completed.Result(); err != nil || event.Value != 3 {
		t.Error(event, err)
	}
	if _, err := pending.Result(); err != ErrCancelled {
		t.Error(err)
	}
	if _, err := p.Add(context.Background(), Operation{}); err != os.ErrClosed {
		t.Error(err)
	}
	batch := p.Batch()
	wait := batch.Add(context.Background(), Operation{})
	if results, err := batch.Submit(); len(results) != 0 || err != os.ErrClosed {
		t.Error(results, err)
	}
	if _, err := wait.Result(); err != os.ErrClosed {
		t.Error(err)
	}
	p.waits.Range(func(cookie, wait any) bool {
		t.Error(cookie, wait)
		return true
	})
}

func twheelctl(t *testing.T, words ...string) {
	if text, err := exec.Command("twheelctl", words...).CombinedOutput(); err != nil {
		t.Fatal(string(text), err)
	}
}

func TestAnEventThatIsNotConfirmedComesAgain(t *testing.T) {
	open(t)
	twheelctl(t, "create", "go")
	t.Cleanup(func() { twheelctl(t, "remove", "--force", "go") })
	p, err := Open("go")
	if err != nil {
		t.Fatal(err)
	}
	for cookie := uint64(1); cookie <= 2; cookie++ {
		add(t, p, context.Background(), Operation{Timeout: time.Millisecond, Cookie: cookie, Detached: true, Queue: 2})
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	p, err = Open("go")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var queue *Queue
	next := func() Event {
		events, err := queue.Read(1)
		if err != nil || len(events) != 1 {
			t.Fatal(events, err)
		}
		return events[0]
	}
	if queue, err = p.Events(2, EventsConfirm); err != nil {
		t.Fatal(err)
	}
	first := next()
	if err := queue.Close(); err != nil {
		t.Error(err)
	}
	if queue, err = p.Events(2, EventsConfirm); err != nil {
		t.Fatal(err)
	}
	again, second := next(), next()
	if err := queue.Confirm(&second); err != nil {
		t.Error(err)
	}
	if again.ID != first.ID || again.Flags != EventAgain || first.Flags|second.Flags != 0 ||
		first.Cookie+second.Cookie != 3 {
		t.Error(first, again, second)
	}
	go func() {
		time.Sleep(10 * time.Millisecond)
		queue.Close()
	}()
	if _, err := queue.Read(1); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestTexts(t *testing.T) {
	for text, want := range map[string]error{"": syscall.EINVAL, "a\x00": syscall.EINVAL,
		"12345678901234567": syscall.ENAMETOOLONG, "1234567890123456": nil} {
		if _, err := Text(text); err != want {
			t.Error(text, err)
		}
	}
}
