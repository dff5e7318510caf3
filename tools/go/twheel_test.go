// SPDX-License-Identifier: GPL-2.0

package twheel

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	for _, args := range []any{watchSpec{}, addArgs{}, cancelArgs{}, completeArgs{}, rearmArgs{},
		signalArgs{}, cancelKeyArgs{}, batchArgs{}, eventsArgs{}, confirmArgs{}, command{}, result{},
		event{}} {
		kind := reflect.TypeOf(args)
		name := "twheel_" + snake(kind.Name())
		if size := fmt.Sprintf("\nsize %s %d\n", name, kind.Size()); !strings.Contains(string(text), size) {
			t.Error("not in the layout:", size)
		}
		for i := 0; i < kind.NumField(); i++ {
			field := kind.Field(i)
			line := fmt.Sprintf("\nfield %s.%s %d %d\n", name, snake(field.Name), field.Offset,
				field.Type.Size())
			if !strings.Contains(string(text), line) {
				t.Error("not in the layout:", line)
			}
		}
	}
}

func snake(name string) string {
	return strings.ToLower(regexp.MustCompile("([A-Z])").ReplaceAllString(name, "_$1"))
}

func open(t *testing.T, onEvent func(Event)) *Purgatory {
	p, err := Open("", onEvent)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func add(t *testing.T, p *Purgatory, ctx context.Context, op Operation) *Wait {
	wait, err := p.Add(ctx, op)
	if err != nil {
		t.Fatal(err)
	}
	return wait
}

func TestASignalCompletesAnOperation(t *testing.T) {
	p := open(t, nil)
	then := make(chan Event, 1)
	op := Operation{Keys: []Watch{{Number(1), 1}, {Number(2), 2}}, Condition: All, Cookie: 9,
		Then: func(event Event) { then <- event }}
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
	p := open(t, nil)
	background := context.Background()
	if event, err := add(t, p, background, On(time.Millisecond)).Result(); err != ErrExpired || event.Time < event.Deadline {
		t.Error(event, err)
	}
	wait := add(t, p, background, Operation{})
	if ended, err := p.Cancel(wait.ID); !ended || err != nil {
		t.Error(ended, err)
	}
	if _, err := wait.Result(); err != ErrCancelled {
		t.Error(err)
	}
	if ended, err := p.Cancel(wait.ID); ended || err != nil {
		t.Error(ended, err)
	}
	wait = add(t, p, background, Operation{})
	if ended, err := p.Complete(wait.ID, 0, syscall.EPIPE); !ended || err != nil {
		t.Error(ended, err)
	}
	if _, err := wait.Result(); err != syscall.EPIPE {
		t.Error(err)
	}
	if _, err := p.Add(background, Operation{Condition: Quorum, Quorum: 2}); err != syscall.EINVAL {
		t.Error(err)
	}
}

func TestAContextCancelsItsOperation(t *testing.T) {
	p := open(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	wait := add(t, p, ctx, On(time.Hour, Number(1)))
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
	p := open(t, nil)
	batch := p.Batch()
	waits := make([]*Wait, nr)
	for i := range waits {
		waits[i] = batch.Add(context.Background(), On(time.Hour, Number(uint64(i))))
	}
	wrong := batch.Add(context.Background(), Operation{Condition: Quorum, Quorum: 2})
	for i := range waits {
		batch.Signal(Number(uint64(i)), uint64(i), 0, 0)
	}
	results, err := batch.Submit()
	if err != nil || len(results) != 2*nr+1 || results[nr].Err != syscall.EINVAL || results[nr+1].Value != 1 {
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
	p := open(t, nil)
	done := make(chan error)
	for i := 0; i < 500; i++ {
		go func(key Key) {
			wait, err := p.Add(context.Background(), On(time.Minute, key))
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
	p := open(t, nil)
	wait := add(t, p, context.Background(), Operation{})
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := wait.Result(); err != ErrClosed {
		t.Error(err)
	}
	if _, err := p.Add(context.Background(), Operation{}); err != ErrClosed {
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
