package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

const (
	pageSize     = 50
	pageRequests = 300 // for each page
)

// pagesTrial is reading pages of one large namespace.
type pagesTrial struct {
	Models  int         `json:"models"`
	Load    float64     `json:"load"`
	Created float64     `json:"createdPerSecond"`
	Pages   []pageTimes `json:"pages"`
	Peak    int64       `json:"peak"`
}

// pageTimes are how long one page took, in milliseconds.
type pageTimes struct {
	Page    int     `json:"page"`
	First   float64 `json:"firstMs"` // the first request for it
	Median  float64 `json:"p50ms"`
	Slowest float64 `json:"p99ms"`
}

// pages measures the first, the middle and the last page in turns.
func (b *bench) pages(ctx context.Context) error {
	s, end, err := b.fresh(ctx, b.contenders[0], 1)
	if err != nil {
		return err
	}
	defer end()
	r := s.(*repository)
	if err := r.post(ctx, "/large"); err != nil {
		return err
	}
	began := time.Now()
	if err := r.many(ctx, b.models, func(i int) error { return r.post(ctx, fmt.Sprintf("/large/model-%06d", i)) }); err != nil {
		return err
	}
	trial := &pagesTrial{Models: b.models, Created: float64(b.models) / time.Since(began).Seconds(), Load: rig.LoadAverage()}
	numbers := []int{1, b.models / pageSize / 2, (b.models + pageSize - 1) / pageSize}
	times := make([][]float64, len(numbers))
	for range pageRequests {
		for i, number := range numbers {
			took, err := r.page(ctx, number)
			if err != nil {
				return err
			}
			times[i] = append(times[i], took)
		}
	}
	for i, number := range numbers {
		trial.Pages = append(trial.Pages, pageTimes{number, times[i][0], rig.Quantile(times[i], 0.5), rig.Quantile(times[i], 0.99)})
	}
	trial.Peak = s.proc().Peak()
	b.record.Pages = append(b.record.Pages, trial)
	fmt.Fprintf(os.Stderr, "pages: created %.0f/s, %+v, peak %.1f MB\n", trial.Created, trial.Pages, float64(trial.Peak)/1e6)
	return nil
}

// page reads a page and returns how long that took, in milliseconds.
func (r *repository) page(ctx context.Context, number int) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("%s/large?page=%d&page_size=%d", r.url, number, pageSize), nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = expect(r.client, request, http.StatusOK)
	return float64(time.Since(began).Microseconds()) / 1000, err
}
