package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Batches that each sender may be ahead of the workers.
const ahead = 16

const leftWithin = 60 * time.Second

var filler = strings.Repeat("x", 60)

// Command is one piece of work.
type Command struct {
	Work    string  `json:"work"`
	Callers int     `json:"callers"`
	Batch   int     `json:"batch"`
	Seconds float64 `json:"seconds"`
	Warmup  float64 `json:"warmup"`
	Windows int     `json:"windows"`
	Rate    float64 `json:"rate"`
}

// Answer is what the work came to.
type Answer struct {
	Messages   int64                   `json:"messages"`
	Seconds    float64                 `json:"seconds"`
	Sent       int64                   `json:"sent"`
	Received   int64                   `json:"received"`
	Duplicates int64                   `json:"duplicates"`
	Missing    int64                   `json:"missing"`
	Latencies  map[string][][2]float64 `json:"latencies"`
	Figures    map[string]float64      `json:"figures"`
}

// load is what callers and clock share.
type load struct {
	command   Command
	peer      *Peer
	ledger    *Ledger
	all       *Latencies
	window    atomic.Pointer[Latencies]
	done      atomic.Int64
	measuring atomic.Bool
	stop      atomic.Bool
	callers   sync.WaitGroup
	failed    chan error
}

func (command Command) run(ctx context.Context, peer *Peer) (Answer, error) {
	l := &load{command: command, peer: peer, ledger: newLedger(), all: newLatencies()}
	l.window.Store(newLatencies())
	l.failed = make(chan error, command.Callers+1)
	switch command.Work {
	case "send":
		return l.send(ctx)
	case "cycle":
		return l.cycle(ctx)
	case "paced":
		return l.paced(ctx)
	}
	return Answer{}, fmt.Errorf("this driver does not do %s", command.Work)
}

func now() int64 { return time.Since(started).Nanoseconds() }

var started = time.Now()

func (l *load) send(ctx context.Context) (Answer, error) {
	l.start(func() error {
		begun := now()
		if err := l.peer.Send(ctx, l.ledger.payloads(l.command.Batch, begun)); err != nil {
			return err
		}
		if l.measuring.Load() {
			l.all.add(now() - begun)
		}
		l.done.Add(int64(l.command.Batch))
		return nil
	})
	messages, seconds, err := l.measure()
	if err != nil {
		return Answer{}, err
	}
	l.callers.Wait()
	held, err := l.peer.Count(ctx)
	if sent := l.ledger.next.Load(); err == nil && held != sent {
		err = fmt.Errorf("%d messages were sent, and the queue holds %d", sent, held)
	}
	return l.answer(messages, seconds, "send", nil), err
}

// cycle lets callers send ahead of the workers by a bounded number of messages.
func (l *load) cycle(ctx context.Context) (Answer, error) {
	err := l.work(ctx, func(latency int64) {
		if l.measuring.Load() {
			l.all.add(latency)
		}
	})
	if err != nil {
		return Answer{}, err
	}
	room := int64(l.command.Callers * l.command.Batch * ahead)
	l.start(func() error {
		if l.ledger.outstanding()+int64(l.command.Batch) > room {
			time.Sleep(time.Millisecond)
			return nil
		}
		return l.peer.Send(ctx, l.ledger.payloads(l.command.Batch, now()))
	})
	messages, seconds, err := l.measure()
	if err != nil {
		return Answer{}, err
	}
	return l.finish(ctx, messages, seconds, nil)
}

// paced sends at a fixed rate, in windows; the first is the warm-up.
func (l *load) paced(ctx context.Context) (Answer, error) {
	sends, receives := newGaps(), newGaps()
	err := l.work(ctx, func(latency int64) {
		receives.completed()
		l.all.add(latency)
		l.window.Load().add(latency)
	})
	if err != nil {
		return Answer{}, err
	}
	var next, late, sent atomic.Int64
	begin := now() + 50_000_000
	l.start(func() error {
		index := next.Add(1) - 1
		due := begin + int64(float64(index)*float64(l.command.Batch)/l.command.Rate*1e9)
		if wait := due - now(); wait > 0 {
			time.Sleep(time.Duration(wait))
		} else if wait < -5_000_000 {
			late.Add(1)
		}
		err := l.peer.Send(ctx, l.ledger.payloads(l.command.Batch, due))
		sent.Add(int64(l.command.Batch))
		sends.completed()
		return err
	})
	var messages int64
	var seconds float64
	for number := 0; number <= l.command.Windows; number++ {
		length := l.command.Seconds
		if number == 0 {
			length = l.command.Warmup
		}
		begun, before, sentBefore := now(), l.done.Load(), sent.Load()
		if err := l.sleep(length); err != nil {
			return Answer{}, err
		}
		seen := l.window.Swap(newLatencies())
		stall := float64(max(sends.take(), receives.take())) / 1e6
		if number == 0 {
			continue
		}
		took, came := float64(now()-begun)/1e9, l.done.Load()-before
		messages, seconds = messages+came, seconds+took
		say(map[string]any{"window": map[string]any{
			"seconds": took, "sent": sent.Load() - sentBefore, "received": came, "end_to_end": seen.buckets(),
			"stall_max_ms": stall,
		}})
	}
	l.stop.Store(true)
	figures := map[string]float64{"late_starts": float64(late.Load())}
	figures["backlog_at_the_end"] = float64(l.ledger.outstanding())
	return l.finish(ctx, messages, seconds, figures)
}

// work starts the workers.
func (l *load) work(ctx context.Context, seen func(latency int64)) error {
	return l.peer.Work(ctx, func(payload Payload) {
		if err := l.ledger.note(payload.Number); err != nil {
			l.failed <- err
		}
		seen(now() - payload.DueNs)
		l.done.Add(1)
	})
}

// start starts callers that do step over and over.
func (l *load) start(step func() error) {
	for range l.command.Callers {
		l.callers.Go(func() {
			for !l.stop.Load() {
				if err := step(); err != nil {
					l.failed <- err
					return
				}
			}
		})
	}
}

// measure lets the warm-up and the measured time pass.
func (l *load) measure() (int64, float64, error) {
	if err := l.sleep(l.command.Warmup); err != nil {
		return 0, 0, err
	}
	before, begun := l.done.Load(), now()
	l.measuring.Store(true)
	err := l.sleep(l.command.Seconds)
	messages, seconds := l.done.Load()-before, float64(now()-begun)/1e9
	l.stop.Store(true)
	return messages, seconds, err
}

// sleep returns early when a caller has failed.
func (l *load) sleep(seconds float64) error {
	select {
	case err := <-l.failed:
		return err
	case <-time.After(time.Duration(seconds * 1e9)):
		return nil
	}
}

// finish waits for what is still to come, and stops the workers.
func (l *load) finish(
	ctx context.Context, messages int64, seconds float64, figures map[string]float64,
) (Answer, error) {
	l.callers.Wait()
	deadline := time.Now().Add(leftWithin)
	for l.ledger.outstanding() > 0 && time.Now().Before(deadline) {
		if err := l.sleep(0.005); err != nil {
			return Answer{}, err
		}
	}
	missing := l.ledger.outstanding()
	answer := l.answer(messages, seconds, "end_to_end", figures)
	answer.Missing = missing
	return answer, l.peer.Idle(ctx)
}

func (l *load) answer(messages int64, seconds float64, name string, figures map[string]float64) Answer {
	if figures == nil {
		figures = map[string]float64{}
	}
	return Answer{
		Messages:   messages,
		Seconds:    seconds,
		Sent:       l.ledger.next.Load(),
		Received:   l.ledger.received.Load(),
		Duplicates: l.ledger.duplicates.Load(),
		Latencies:  map[string][][2]float64{name: l.all.buckets()},
		Figures:    figures,
	}
}
