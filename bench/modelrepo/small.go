package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

const smallSize = 4 << 10

// smallTrial is many small uploads over several connections.
type smallTrial struct {
	Contender string  `json:"contender"`
	Round     int     `json:"round"`
	Load      float64 `json:"load"`
	Uploads   int     `json:"uploads"`
	Prepare   float64 `json:"prepareSeconds"` // creating the versions
	Seconds   float64 `json:"seconds"`
	CPU       float64 `json:"cpuMicros"` // of the server, an upload
	Median    float64 `json:"p50ms"`
	Slowest   float64 `json:"p99ms"`
	Peak      int64   `json:"peak"`
}

// small measures many small uploads, the contenders in turns.
func (b *bench) small(ctx context.Context) error {
	for round := range b.rounds {
		for i := range b.contenders {
			c := b.contenders[(i+round)%len(b.contenders)]
			trial, err := b.smallTrial(ctx, c, round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round, err)
			}
			b.record.Small = append(b.record.Small, trial)
			fmt.Fprintf(os.Stderr, "small %s: %.0f/s after %.1f s, %.0f µs CPU, p50 %.1f p99 %.1f ms, load %.1f\n", c.name,
				float64(trial.Uploads)/trial.Seconds, trial.Prepare, trial.CPU, trial.Median, trial.Slowest, trial.Load)
		}
	}
	return nil
}

func (b *bench) smallTrial(ctx context.Context, c contender, round int) (*smallTrial, error) {
	trial := &smallTrial{Contender: c.name, Round: round, Uploads: b.smallUploads}
	began := time.Now()
	s, end, err := b.fresh(ctx, c, b.smallUploads)
	if err != nil {
		return nil, err
	}
	defer end()
	trial.Prepare = time.Since(began).Seconds()
	all := smallContents(b.smallUploads)
	rig.AwaitCalm(ctx, b.calm)
	trial.Load = rig.LoadAverage()

	var mu sync.Mutex
	var times []float64
	group, limited := errgroup.WithContext(ctx)
	group.SetLimit(connections)
	cpu, began := s.proc().CPU(), time.Now()
	for i, one := range all {
		group.Go(func() error {
			began := time.Now()
			if err := s.upload(limited, i, one); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, float64(time.Since(began).Microseconds())/1000)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	trial.Seconds = time.Since(began).Seconds()
	trial.CPU = float64((s.proc().CPU() - cpu).Microseconds()) / float64(len(all))
	trial.Median, trial.Slowest, trial.Peak = rig.Quantile(times, 0.5), rig.Quantile(times, 0.99), s.proc().Peak()
	return trial, nil
}

// smallContents are as many different contents.
func smallContents(n int) []content {
	random := rand.NewChaCha8([32]byte{3})
	var all []content
	for range n {
		data := make([]byte, smallSize)
		_, _ = random.Read(data)
		sum, old := sha256.Sum256(data), md5.Sum(data)
		all = append(all, content{size: smallSize, open: func() io.Reader { return plain{bytes.NewReader(data)} },
			sha256: hex.EncodeToString(sum[:]), md5: hex.EncodeToString(old[:])})
	}
	return all
}
