// SPDX-License-Identifier: GPL-2.0

// Contender: timers of Go, time.AfterFunc; see jobs.c for the jobs. A map and a mutex for the keys.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const keys = 3

type item struct {
	timer   *time.Timer
	key     uint64
	missing int
}

var (
	job     = os.Args[1]
	pending = number(os.Args[2])
	need    = map[string]int{"quorum": 2, "any": 1}[job]
	items   = make([]item, pending)
	lock    sync.Mutex
	watches map[uint64]*item
	nextKey uint64
	ended   int
	lost    int64
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		fail(err.Error())
	}
	return n
}

func fail(text string) {
	fmt.Println("FAILURE: go:", text)
	os.Exit(1)
}

func report(figure, unit string, value float64) {
	fmt.Printf("sample suite=peers case=%s of=go what=%s pending=%d unit=%s value=%.2f\n",
		job, figure, pending, unit, value)
}

func usage() (cpu, switches int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		fail(err.Error())
	}
	return u.Utime.Nano() + u.Stime.Nano(), u.Nvcsw
}

func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func early() { atomic.AddInt64(&lost, 1) }

func delay() time.Duration {
	if job == "sessions" {
		return 30 * time.Second
	}
	return time.Minute + time.Duration(rand.Int63n(int64(9*time.Minute)))
}

func add(i *item) {
	if need > 0 {
		lock.Lock()
		i.key, i.missing = nextKey, need
		nextKey += keys
		for k := i.key; k < i.key+keys; k++ {
			watches[k] = i
		}
		lock.Unlock()
	}
	i.timer = time.AfterFunc(delay(), early)
}

func signal(key uint64) {
	lock.Lock()
	i := watches[key]
	i.missing--
	complete := i.missing == 0
	if complete {
		for k := i.key; k < i.key+keys; k++ {
			delete(watches, k)
		}
	}
	lock.Unlock()
	if complete {
		stop(i)
	}
}

func stop(i *item) {
	if !i.timer.Stop() {
		fail("a timer was not pending")
	}
	ended++
}

func steps(n int) {
	before := ended
	for s := 0; s < n; s++ {
		i := &items[rand.Intn(pending)]
		switch {
		case job == "sessions":
			if !i.timer.Reset(delay()) {
				fail("a session was not pending")
			}
			ended++
		case need > 0:
			key := i.key
			for k := 0; k < need; k++ {
				signal(key + uint64(k))
			}
			add(i)
		default:
			stop(i)
			add(i)
		}
	}
	if ended-before != n {
		fail("an item did not end")
	}
}

func late(n int) {
	var done sync.WaitGroup
	us := make([]float64, n)
	done.Add(n)
	for i, start := 0, time.Now(); i < n; i++ {
		i := i
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Millisecond)))
		due := time.Now().Add(50 * time.Millisecond)
		time.AfterFunc(50*time.Millisecond, func() {
			us[i] = float64(time.Since(due)) / 1e3
			done.Done()
		})
		if !time.AfterFunc(50*time.Millisecond, early).Stop() {
			fail("a timer was not pending")
		}
	}
	done.Wait()
	sort.Float64s(us)
	if us[0] < -10000 {
		fail("early by more than 10 ms")
	}
	report("late_min", "us", us[0])
	report("late_p50", "us", us[n/2])
	report("late_p99", "us", us[n*99/100])
	report("late_max", "us", us[n-1])
}

func main() {
	operations := number(os.Args[3])
	seconds, _ := strconv.ParseFloat(os.Args[4], 64)
	before := heap()
	watches = make(map[uint64]*item)
	for i := range items {
		add(&items[i])
	}
	report("bytes", "bytes", (heap()-before)/float64(pending))
	steps(operations / 4)
	cpu, _ := usage()
	steps(operations)
	end, _ := usage()
	report("cpu", "ns", float64(end-cpu)/float64(operations))
	late(int(seconds * 1000))
	time.Sleep(100 * time.Millisecond)
	cpu, switches := usage()
	time.Sleep(time.Duration(seconds * 1e9))
	end, last := usage()
	report("wakeups", "per_second", float64(last-switches-1)/seconds)
	report("idle_cpu", "us", float64(end-cpu)/1e3/seconds)
	if lost != 0 || need > 0 && len(watches) != keys*pending {
		fail("timers fired early, or keys are left")
	}
	fmt.Println("end suite=peers")
}
