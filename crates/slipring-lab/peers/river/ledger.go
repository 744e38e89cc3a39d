package main

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// Ledger knows which numbers were sent and which came back.
type Ledger struct {
	next       atomic.Int64
	received   atomic.Int64
	duplicates atomic.Int64
	lock       sync.Mutex
	seen       map[int64]struct{}
}

func newLedger() *Ledger { return &Ledger{seen: map[int64]struct{}{}} }

func (l *Ledger) payloads(count int, dueNs int64) []Payload {
	first := l.next.Add(int64(count)) - int64(count)
	payloads := make([]Payload, count)
	for at := range payloads {
		payloads[at] = Payload{Number: first + int64(at), DueNs: dueNs, Filler: filler}
	}
	return payloads
}

func (l *Ledger) note(number int64) error {
	if number >= l.next.Load() {
		return fmt.Errorf("message %d came, and nobody sent it", number)
	}
	l.lock.Lock()
	_, twice := l.seen[number]
	l.seen[number] = struct{}{}
	l.lock.Unlock()
	l.received.Add(1)
	if twice {
		l.duplicates.Add(1)
	}
	return nil
}

func (l *Ledger) outstanding() int64 {
	return l.next.Load() - (l.received.Load() - l.duplicates.Load())
}

// Gaps is the time between the ends of operations of one kind, in nanoseconds.
type Gaps struct {
	lock    sync.Mutex
	last    int64
	longest int64
}

func newGaps() *Gaps { return &Gaps{last: now()} }

func (g *Gaps) completed() {
	g.lock.Lock()
	defer g.lock.Unlock()
	at := now()
	g.longest = max(g.longest, at-g.last)
	g.last = at
}

// take answers the longest since the last call; the one that has not ended is included, and goes on.
func (g *Gaps) take() int64 {
	g.lock.Lock()
	defer g.lock.Unlock()
	longest := max(g.longest, now()-g.last)
	g.longest = 0
	return longest
}

// Latencies counts microseconds to two digits.
type Latencies struct {
	lock   sync.Mutex
	counts map[int64]int64
}

func newLatencies() *Latencies { return &Latencies{counts: map[int64]int64{}} }

func (l *Latencies) add(ns int64) {
	us := float64(max(ns, 1000)) / 1000
	step := math.Pow(10, math.Max(0, math.Floor(math.Log10(us))-1))
	l.lock.Lock()
	l.counts[int64(math.Ceil(us/step)*step)]++
	l.lock.Unlock()
}

func (l *Latencies) buckets() [][2]float64 {
	l.lock.Lock()
	defer l.lock.Unlock()
	buckets := make([][2]float64, 0, len(l.counts))
	for us, count := range l.counts {
		buckets = append(buckets, [2]float64{float64(us), float64(count)})
	}
	return buckets
}
