// Drives River by its batch paths: InsertManyFast (COPY) and its batching completer, with the
// fetch settings of its own benchmark tool. It speaks the lab's line protocol: work comes in as
// JSON lines, windows and answers go out as JSON lines (see src/driver/protocol.rs).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Payload is a message of the lab.
type Payload struct {
	Number int64  `json:"n"`
	DueNs  int64  `json:"due"`
	Filler string `json:"fill"`
}

// Kind names the job.
func (Payload) Kind() string { return "lab" }

type worker struct {
	river.WorkerDefaults[Payload]
	take func(Payload)
}

func (w *worker) Work(_ context.Context, job *river.Job[Payload]) error {
	w.take(job.Args)
	return nil
}

// Peer is River on one database.
type Peer struct {
	pool    *pgxpool.Pool
	sender  *river.Client[pgx.Tx]
	running *river.Client[pgx.Tx]
}

func open(ctx context.Context, url string) (*Peer, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 40
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(pool)
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	sender, err := river.NewClient(driver, &river.Config{Logger: quiet})
	return &Peer{pool: pool, sender: sender}, err
}

// Send sends one call's worth of messages.
func (p *Peer) Send(ctx context.Context, payloads []Payload) error {
	params := make([]river.InsertManyParams, len(payloads))
	for at, payload := range payloads {
		params[at] = river.InsertManyParams{Args: payload}
	}
	_, err := p.sender.InsertManyFast(ctx, params)
	return err
}

// Work starts workers that hand each message to take.
func (p *Peer) Work(ctx context.Context, take func(Payload)) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{take: take})
	client, err := river.NewClient(riverpgxv5.New(p.pool), &river.Config{
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Logger:            slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		Workers:           workers,
	})
	if err != nil {
		return err
	}
	p.running = client
	return client.Start(ctx)
}

// Idle stops the workers; what they have in hand is finished first.
func (p *Peer) Idle(ctx context.Context) error { return p.running.Stop(ctx) }

// Count says how many messages wait.
func (p *Peer) Count(ctx context.Context) (count int64, err error) {
	err = p.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = 'available'").Scan(&count)
	return count, err
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/riverqueue/river" {
				return "River " + module.Version
			}
		}
	}
	return "River"
}

func say(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(text))
}

func main() {
	ctx := context.Background()
	peer, err := open(ctx, os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	how := "InsertManyFast; FetchCooldown 2 ms, FetchPollInterval 20 ms, MaxWorkers 2,000"
	say(map[string]any{"ready": map[string]string{"version": version(), "how": how}})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var command Command
		if err = json.Unmarshal(lines.Bytes(), &command); err == nil {
			var answer Answer
			if answer, err = command.run(ctx, peer); err == nil {
				say(map[string]any{"done": answer})
				continue
			}
		}
		say(map[string]any{"failed": err.Error()})
		os.Exit(1)
	}
	peer.pool.Close()
}
