package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// callTime is how long a call may take.
const callTime = 10 * time.Second

// calls makes legitimate calls at a rate, for the duration of the settings. Half of them use a
// connection again, and half make one.
func (c contender) calls(ctx context.Context, s settings, address string) (latency, error) {
	keeping := &http.Client{Timeout: callTime, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	dialing := &http.Client{Timeout: callTime, Transport: &http.Transport{DisableKeepAlives: true}}
	defer keeping.CloseIdleConnections()
	var (
		mu    sync.Mutex
		times []float64
		l     latency
		first error
		group sync.WaitGroup
	)
	tick := time.NewTicker(time.Second / time.Duration(s.size.Calls))
	defer tick.Stop()
	for end := time.Now().Add(s.duration); time.Now().Before(end) && ctx.Err() == nil; l.Calls++ {
		client := []*http.Client{keeping, dialing}[l.Calls%2]
		began := time.Now()
		group.Go(func() {
			err := c.call(ctx, client, address)
			took := float64(time.Since(began).Microseconds()) / 1000
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				l.Failed++
				first = err
				return
			}
			times = append(times, took)
		})
		<-tick.C
	}
	group.Wait()
	l.P50, l.P99 = rig.Median(times), rig.Quantile(times, 0.99)
	if len(times) == 0 {
		return l, fmt.Errorf("no call succeeds: %w", first)
	}
	return l, ctx.Err()
}

func (c contender) call(ctx context.Context, client *http.Client, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+c.path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %s", answer.Status)
	}
	return nil
}
