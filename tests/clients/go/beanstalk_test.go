// Package clients drives go-beanstalk: every call of the client against a running server.
// The server is told by CLIENTS_BEANSTALKD, HOST:PORT.
package clients

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

// bench is one connection with a tube of its own.
type bench struct {
	*testing.T
	conn *beanstalk.Conn
	tube *beanstalk.Tube
	set  *beanstalk.TubeSet
}

func dial(t *testing.T) *beanstalk.Conn {
	conn, err := beanstalk.Dial("tcp", os.Getenv("CLIENTS_BEANSTALKD"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func on(t *testing.T, name string) *bench {
	conn := dial(t)
	return &bench{t, conn, beanstalk.NewTube(conn, name), beanstalk.NewTubeSet(conn, name)}
}

func start(t *testing.T) *bench {
	return on(t, fmt.Sprintf("go-%d", time.Now().UnixNano()))
}

func (b *bench) put(body string, pri uint32, delay, ttr time.Duration) uint64 {
	b.Helper()
	id, err := b.tube.Put([]byte(body), pri, delay, ttr)
	b.must(err)
	return id
}

func (b *bench) reserve() (uint64, string) {
	b.Helper()
	id, body, err := b.set.Reserve(5 * time.Second)
	b.must(err)
	return id, string(body)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) fails(err, wanted error) {
	b.Helper()
	if !errors.Is(err, wanted) {
		b.Fatalf("got %v, want %v", err, wanted)
	}
}

func (b *bench) equal(got, wanted interface{}) {
	b.Helper()
	if got != wanted {
		b.Fatalf("got %v, want %v", got, wanted)
	}
}

func TestAJobIsPutReservedAndDeleted(t *testing.T) {
	b := start(t)
	every := make([]byte, 65535)
	for n := range every {
		every[n] = byte(n)
	}
	id, err := b.tube.Put(every, 0, 0, time.Minute)
	b.must(err)
	reserved, body, err := b.set.Reserve(5 * time.Second)
	b.must(err)
	b.equal(reserved, id)
	if !bytes.Equal(body, every) {
		t.Fatal("the body differs")
	}
	b.must(b.conn.Delete(id))
	b.fails(b.conn.Delete(id), beanstalk.ErrNotFound)
}

func TestAJobThatIsTooBigIsRefused(t *testing.T) {
	b := start(t)
	_, err := b.tube.Put(make([]byte, 65536), 0, 0, time.Minute)
	b.fails(err, beanstalk.ErrJobTooBig)
	b.put("x", 0, 0, time.Minute)
}

func TestTheBestPriorityIsReservedFirst(t *testing.T) {
	b := start(t)
	b.put("b", 1024, 0, time.Minute)
	b.put("c", 1024, 0, time.Minute)
	b.put("a", 0, 0, time.Minute)
	for _, wanted := range []string{"a", "b", "c"} {
		_, body := b.reserve()
		b.equal(body, wanted)
	}
}

func TestAReserveWithNothingThereTimesOut(t *testing.T) {
	b := start(t)
	_, _, err := b.set.Reserve(0)
	b.fails(err, beanstalk.ErrTimeout)
}

func TestADelayPassesAndNotBefore(t *testing.T) {
	b := start(t)
	started := time.Now()
	id := b.put("late", 0, time.Second, time.Minute)
	peeked, _, err := b.tube.PeekDelayed()
	b.must(err)
	b.equal(peeked, id)
	reserved, _ := b.reserve()
	b.equal(reserved, id)
	if took := time.Since(started); took < time.Second || took > 2*time.Second {
		t.Fatalf("ready after %v", took)
	}
}

func TestAReservationLapsesAndTouchProlongsIt(t *testing.T) {
	holder := start(t)
	other := on(t, holder.tube.Name)
	id := holder.put("x", 0, 0, 2*time.Second)
	holder.reserve()
	_, _, err := other.set.Reserve(time.Second)
	other.fails(err, beanstalk.ErrTimeout)
	holder.must(holder.conn.Touch(id))
	_, _, err = other.set.Reserve(time.Second)
	other.fails(err, beanstalk.ErrTimeout)
	reserved, _ := other.reserve()
	other.equal(reserved, id)
	holder.fails(holder.conn.Touch(id), beanstalk.ErrNotFound)
	holder.fails(holder.conn.Release(id, 0, 0), beanstalk.ErrNotFound)
}

func TestTheLastSecondAnswersDeadlineSoon(t *testing.T) {
	b := start(t)
	b.put("x", 0, 0, time.Second)
	b.reserve()
	_, _, err := b.set.Reserve(5 * time.Second)
	b.fails(err, beanstalk.ErrDeadline)
}

// unquoted takes the quotes off a string of the statistics: this client hands the YAML text over as
// it stands, and beanstalkd quotes strings since version 1.13.
func unquoted(text string) string {
	return strings.Trim(text, `"`)
}

func TestAReleasedJobIsReadyAgain(t *testing.T) {
	b := start(t)
	id := b.put("x", 0, 0, time.Minute)
	b.reserve()
	b.must(b.conn.Release(id, 77, 0))
	told, err := b.conn.StatsJob(id)
	b.must(err)
	b.equal(told["pri"], "77")
	b.equal(told["state"], "ready")
	b.equal(unquoted(told["tube"]), b.tube.Name)
	peeked, body, err := b.tube.PeekReady()
	b.must(err)
	b.equal(peeked, id)
	b.equal(string(body), "x")
}

func TestBuriedJobsAreKicked(t *testing.T) {
	b := start(t)
	ids := []uint64{b.put("1", 0, 0, time.Minute), b.put("2", 0, 0, time.Minute)}
	for range ids {
		id, _ := b.reserve()
		b.must(b.conn.Bury(id, 9))
	}
	peeked, _, err := b.tube.PeekBuried()
	b.must(err)
	b.equal(peeked, ids[0])
	b.must(b.conn.KickJob(ids[1]))
	kicked, err := b.tube.Kick(10)
	b.must(err)
	b.equal(kicked, 1)
	told, err := b.tube.Stats()
	b.must(err)
	b.equal(told["current-jobs-ready"], "2")
	b.equal(unquoted(told["name"]), b.tube.Name)
}

func TestAJobIsReservedAndPeekedByItsID(t *testing.T) {
	b := start(t)
	id := b.put("x", 0, time.Hour, time.Minute)
	body, err := b.conn.Peek(id)
	b.must(err)
	b.equal(string(body), "x")
	_, err = b.conn.ReserveJob(id)
	b.must(err)
	_, err = b.conn.ReserveJob(id)
	b.fails(err, beanstalk.ErrNotFound)
	b.must(b.conn.Delete(id))
	_, err = b.conn.Peek(id)
	b.fails(err, beanstalk.ErrNotFound)
}

func TestAPausedTubeHandsNothingOut(t *testing.T) {
	b := start(t)
	id := b.put("x", 0, 0, time.Minute)
	b.must(b.tube.Pause(time.Second))
	_, _, err := b.set.Reserve(0)
	b.fails(err, beanstalk.ErrTimeout)
	reserved, _ := b.reserve()
	b.equal(reserved, id)
}

func TestTubesAreListedAndTheServerTellsItsStatistics(t *testing.T) {
	b := start(t)
	b.put("x", 0, 0, time.Minute)
	tubes, err := b.conn.ListTubes()
	b.must(err)
	if !strings.Contains(strings.Join(tubes, "\n")+"\n", b.tube.Name+"\n") {
		t.Fatalf("%v lacks %v", tubes, b.tube.Name)
	}
	told, err := b.conn.Stats()
	b.must(err)
	b.equal(told["max-job-size"], "65535")
	if told["version"] == "" || told["cmd-put"] == "0" {
		t.Fatal(told)
	}
}

func TestSeveralTubesAreWatchedAtOnce(t *testing.T) {
	b := start(t)
	second := beanstalk.NewTube(b.conn, b.tube.Name+"-2")
	set := beanstalk.NewTubeSet(b.conn, b.tube.Name, second.Name)
	b.put("second", 2, 0, time.Minute)
	_, err := second.Put([]byte("first"), 1, 0, time.Minute)
	b.must(err)
	for _, wanted := range []string{"first", "second"} {
		_, body, err := set.Reserve(5 * time.Second)
		b.must(err)
		b.equal(string(body), wanted)
	}
}

func TestManyConnectionsLoseNothing(t *testing.T) {
	const workers, each = 8, 50
	name := start(t).tube.Name
	var wait sync.WaitGroup
	var lock sync.Mutex
	seen := map[string]int{}
	for worker := 0; worker < workers; worker++ {
		worker, b := worker, on(t, name)
		wait.Add(1)
		go func() {
			defer wait.Done()
			for n := 0; n < each; n++ {
				if _, err := b.tube.Put([]byte(fmt.Sprint(worker, "/", n)), 0, 0, time.Minute); err != nil {
					t.Error(err)
				}
				id, body, err := b.set.Reserve(5 * time.Second)
				if err != nil {
					t.Error(err)
					return
				}
				if err := b.conn.Delete(id); err != nil {
					t.Error(err)
				}
				lock.Lock()
				seen[string(body)]++
				lock.Unlock()
			}
		}()
	}
	wait.Wait()
	if len(seen) != workers*each {
		t.Fatalf("%d of %d jobs were seen", len(seen), workers*each)
	}
}
