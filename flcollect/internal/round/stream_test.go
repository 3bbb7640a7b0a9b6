package round

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// device is a client without a connection. It adds step to every number, after it got a
// token of its gate, or after a time where it has none.
type device struct {
	step     float64
	takes    time.Duration
	measures time.Duration
	gate     chan struct{}
	answer   func(update strategy.Model) strategy.Model // nil sends the update as it is
	fails    func() error                               // nil for never

	mu       sync.Mutex
	training int // instructions to fit that are under way
	fits     int
	leaves   chan struct{} // closed when it has left
	leave    func()
}

func (d *device) init() *device {
	d.leaves = make(chan struct{})
	d.leave = sync.OnceFunc(func() { close(d.leaves) })
	return d
}

func (d *device) pause(ctx context.Context, takes time.Duration) error {
	timer := time.NewTimer(takes)
	defer timer.Stop()
	done := timer.C
	if d.gate != nil {
		done = nil
	}
	select {
	case <-done:
		return nil
	case <-d.gate:
		return nil
	case <-d.leaves:
		return flower.ErrGone
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), flower.ErrSetAside) {
			d.leave() // as a session does
		}
		return context.Cause(ctx)
	}
}

func (d *device) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	d.mu.Lock()
	d.training++
	d.fits++
	d.mu.Unlock()
	err := d.pause(ctx, d.takes)
	d.mu.Lock()
	d.training--
	d.mu.Unlock()
	if err == nil && d.fails != nil {
		err = d.fails()
	}
	if err != nil {
		return nil, err
	}
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	update := strategy.Map(model, func(values []float64, layer, from int) {
		model[layer].ReadFloat64s(values, from)
		for i := range values {
			values[i] += d.step * float64(1+layer)
		}
	})
	if d.answer != nil {
		update = d.answer(update)
	}
	return &flower.FitRes{Parameters: flower.FromTensors(update...), NumExamples: d.examples(), Metrics: flower.Config{"step": d.step}}, nil
}

func (d *device) examples() int64 { return 1 + int64(10*math.Abs(d.step)) }

func (d *device) Evaluate(ctx context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	timer := time.NewTimer(d.measures)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	return &flower.EvaluateRes{Loss: float32(model[0].Float64s()[0]), NumExamples: 1, Metrics: flower.Config{}}, nil
}

func (d *device) Parameters(context.Context, flower.GetParametersIns) (*flower.ParametersRes, error) {
	return nil, flower.ErrNotImplemented
}
func (d *device) Reconnect(context.Context, int64) error { return nil }
func (d *device) Done() <-chan struct{}                  { return d.leaves }

// course is an asynchronous training without a server.
type course struct {
	t       *testing.T
	stream  *Stream
	pool    *Pool
	table   *reputation.Table
	model   strategy.Model
	version int
	attempt *audit.Attempt
}

func newCourse(t *testing.T, made strategy.Strategy, rules Streaming, devices ...*device) *course {
	t.Helper()
	c := &course{t: t, pool: NewPool(), table: reputation.NewTable()}
	c.model = strategy.Model{tensor.FromFloat32s([]float32{0.5, -1.25, 3}), tensor.FromFloat32s([]float32{7})}
	for i, d := range devices {
		name := fmt.Sprintf("device-%d", i)
		c.pool.Add(NewMember(d.init(), name, flower.Peer{}, "name:"+name))
	}
	conductor := NewConductor(Config{
		Pool: c.pool, Reputations: c.table, ClientTimeout: time.Hour, Ending: context.Background(),
		Converting: make(chan struct{}, 2), Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, made)
	c.stream = conductor.Stream(context.Background(), rules)
	return c
}

func (c *course) begin() {
	c.t.Helper()
	c.attempt = audit.NewAttempt(c.version+1, true)
	c.attempt.Send("", flower.FromTensors(c.model...))
	require.NoError(c.t, c.stream.Begin(Start{Number: c.version + 1, Model: c.model}, c.attempt))
}

// next makes the version whose buffer is open, and begins the one after it.
func (c *course) next() (*Result, *report.Version, []report.Client) {
	c.t.Helper()
	full, err := c.stream.Wait(context.Background(), nil)
	require.NoError(c.t, err)
	require.True(c.t, full)
	result, facts, err := c.stream.Finish(context.Background())
	require.NoError(c.t, err)
	reports := c.attempt.Clients(c.stream.Strategy()).Reports()
	c.version++
	if result.Model != nil {
		c.model = result.Model
	}
	c.begin()
	return result, facts, reports
}

func newStrategy(t *testing.T, name string, conf strategy.Conf) strategy.Strategy {
	t.Helper()
	made, err := strategy.New(name, conf)
	require.NoError(t, err)
	return made
}

// reference is what the paper says, in plain numbers.
type reference struct {
	versions [][]float64 // all numbers of each version
	base     map[int]int // by device, the version that it trains on
	m, v     []float64
}

func (r *reference) newest() []float64 { return r.versions[len(r.versions)-1] }

// update is what a device adds to the buffer.
func (r *reference) update(i int, d *device, exponent float64) (numbers []float64, staleness int) {
	x, b := r.newest(), r.versions[r.base[i]]
	staleness = len(r.versions) - 1 - r.base[i]
	for k := range x {
		layer := 1.0
		if k == 3 {
			layer = 2
		}
		u := float64(float32(b[k] + d.step*layer))
		if staleness > 0 {
			u = float64(float32(x[k] + (u-b[k])/math.Pow(1+float64(staleness), exponent)))
		}
		numbers = append(numbers, u)
	}
	return numbers, staleness
}

// version makes a version of updates.
func (r *reference) version(name string, updates [][]float64, weights []int64) {
	x, made := r.newest(), make([]float64, 4)
	for k := range made {
		sum, total := 0.0, 0.0
		for i, u := range updates {
			sum += u[k] * float64(weights[i])
			total += float64(weights[i])
		}
		made[k] = sum / total
		if name == "FedAdam" {
			change := made[k] - x[k]
			r.m[k] = 0.9*r.m[k] + 0.1*change
			r.v[k] = 0.99*r.v[k] + 0.01*change*change
			made[k] = x[k] + 0.1*r.m[k]/(math.Sqrt(r.v[k])+1e-9)
		}
		made[k] = float64(float32(made[k]))
	}
	r.versions = append(r.versions, made)
}

func numbers(model strategy.Model) (all []float64) {
	for _, layer := range model {
		all = append(all, layer.Float64s()...)
	}
	return all
}

func TestStream_computesWhatThePaperSays(t *testing.T) {
	// Which devices answer, in order; three make a version. Device 4 is the slow one.
	script := []int{0, 1, 2, 3, 0, 1, 4, 2, 3, 0, 1, 2, 3, 1, 0, 2, 3, 4, 1, 0, 2}
	for _, name := range []string{"FedAvg", "FedAdam"} {
		for _, exponent := range []float64{0, 0.5, 1.5} {
			t.Run(fmt.Sprintf("%s/%v", name, exponent), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var devices []*device
					for i := range 5 {
						devices = append(devices, &device{step: 0.3*float64(i) - 0.4, gate: make(chan struct{})})
					}
					made := newStrategy(t, name, strategy.Conf{"fraction_evaluate": 0})
					c := newCourse(t, made, Streaming{Buffer: 3, Concurrency: 5, Staleness: exponent, Need: 5}, devices...)
					defer c.stream.Close()
					r := reference{versions: [][]float64{numbers(c.model)}, base: map[int]int{}, m: make([]float64, 4), v: make([]float64, 4)}
					c.begin()
					for at := 0; at < len(script); at += 3 {
						var updates [][]float64
						var weights []int64
						stale := map[string]int{}
						for _, i := range script[at : at+3] {
							synctest.Wait()
							devices[i].gate <- struct{}{}
							update, s := r.update(i, devices[i], exponent)
							updates, weights = append(updates, update), append(weights, devices[i].examples())
							stale[fmt.Sprintf("name:device-%d", i)] = s
						}
						r.version(name, updates, weights)
						result, facts, reports := c.next()
						require.InDeltaSlice(t, r.newest(), numbers(result.Model), 1e-6, "version %d", c.version)
						greatest, sum := 0, 0
						for _, part := range reports {
							require.Equal(t, report.Kept, part.Outcome)
							require.Equal(t, stale[part.Client], *part.Staleness)
							greatest, sum = max(greatest, *part.Staleness), sum+*part.Staleness
						}
						require.Equal(t, greatest, facts.MaxStaleness)
						require.Equal(t, float64(sum)/3, facts.MeanStaleness)
						for _, i := range script[at : at+3] {
							r.base[i] = c.version // idle, they are sent it
						}
					}
				})
			})
		}
	}
}

func TestStream_keepsTheBitsOfAFreshUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := strategy.Model{
			tensor.FromFloat32s([]float32{math.Float32frombits(1), float32(math.Copysign(0, -1)), 16777217}), tensor.FromFloat32s([]float32{1e30}),
		}
		d := &device{answer: func(strategy.Model) strategy.Model { return odd }}
		c := newCourse(t, newStrategy(t, "FedMedian", nil), Streaming{Buffer: 1, Concurrency: 1, Staleness: 0.5, Need: 1}, d)
		defer c.stream.Close()
		c.begin()
		result, _, reports := c.next()
		require.Equal(t, flower.FromTensors(odd...).Digest(), reports[0].Update)
		require.Equal(t, numbers(odd), numbers(result.Model))
	})
}

func TestStream_oneSlowDeviceOfEightHoldsUpNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		devices := []*device{{takes: 10 * time.Second, step: 1}}
		for range 7 {
			devices = append(devices, &device{takes: time.Second, step: 1})
		}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 7, Concurrency: 8, Staleness: 0.5, Need: 8}, devices...)
		defer c.stream.Close()
		began := time.Now()
		c.begin()
		greatest := 0
		for range 20 {
			_, facts, _ := c.next()
			greatest = max(greatest, facts.MaxStaleness)
			require.LessOrEqual(t, facts.Kept, 8)
		}
		require.Less(t, time.Since(began), 23*time.Second, "20 versions, where rounds would take 200 seconds")
		require.GreaterOrEqual(t, greatest, 9)
	})
}

func TestStream_neverExceedsItsConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var devices []*device
		for i := range 20 {
			devices = append(devices, &device{takes: time.Duration(1+i%7) * time.Second, step: 1})
		}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 4, Concurrency: 6, Staleness: 0.5, Need: 4}, devices...)
		defer c.stream.Close()
		c.begin()
		most, trained := 0, map[string]bool{}
		for range 30 {
			synctest.Wait()
			now := 0
			for _, d := range devices {
				d.mu.Lock()
				now += d.training
				d.mu.Unlock()
			}
			most = max(most, now)
			_, facts, reports := c.next()
			require.LessOrEqual(t, facts.Kept, 6)
			require.LessOrEqual(t, facts.Training, 6)
			for _, r := range reports {
				require.False(t, trained[fmt.Sprint(c.version, r.Client)], "a device has one update in a version")
				trained[fmt.Sprint(c.version, r.Client)] = true
			}
		}
		require.Equal(t, 6, most)
	})
}

func TestStream_hasNoOrderInABuffer(t *testing.T) {
	train := func(order []int) (digest string) {
		synctest.Test(t, func(t *testing.T) {
			var devices []*device
			for i := range 4 {
				devices = append(devices, &device{step: 1.1 * float64(i+1), gate: make(chan struct{})})
			}
			c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 4, Staleness: 0.5, Need: 4}, devices...)
			defer c.stream.Close()
			c.begin()
			for _, i := range order[:2] {
				synctest.Wait()
				devices[i].gate <- struct{}{}
			}
			c.next()
			for _, i := range order[2:] { // both are stale by one version
				synctest.Wait()
				devices[i].gate <- struct{}{}
			}
			result, facts, _ := c.next()
			require.Equal(t, 1.0, facts.MeanStaleness)
			digest = flower.FromTensors(result.Model...).Digest()
		})
		return digest
	}
	require.Equal(t, train([]int{0, 1, 2, 3}), train([]int{1, 0, 3, 2}))
}

func TestStream_doesNotCountWrongUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &device{takes: time.Second, answer: func(strategy.Model) strategy.Model {
			return strategy.Model{tensor.FromFloat32s([]float32{float32(math.NaN()), 0, 0}), tensor.FromFloat32s([]float32{0})}
		}}
		good := []*device{{takes: 2 * time.Second, step: 1}, {takes: 3 * time.Second, step: 2}}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 3, Staleness: 0.5, Need: 3}, bad, good[0], good[1])
		defer c.stream.Close()
		c.begin()
		result, _, reports := c.next()
		require.Equal(t, 2, result.Phase.Results)
		require.Equal(t, 1, result.Phase.Failures)
		require.Equal(t, 3, result.Phase.Clients)
		require.Len(t, result.Refused, 1)
		require.Equal(t, "device-0", result.Refused[0].Client)
		require.Equal(t, report.Counts{Kept: 2, Refused: 1}, report.CountOutcomes(reports))
	})
}

func TestStream_Wait_endsAVersionForWhichNoDeviceIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		broken := &device{takes: time.Second, step: 1, fails: func() error {
			if !first {
				return nil
			}
			first = false
			return &flower.StatusError{Status: flower.Status{Message: "no data"}}
		}}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 2, Staleness: 0.5, Need: 2},
			broken, &device{takes: time.Second, step: 1})
		defer c.stream.Close()
		c.begin()
		result, _, _ := c.next()
		require.Equal(t, 1, result.Phase.Results)
		require.NotNil(t, result.Model)
		require.Contains(t, result.Notes, "fit: the version has 1 of 2 updates, since no other client was left to train")
		result, _, _ = c.next()
		require.Equal(t, 2, result.Phase.Results, "it is drawn again for the next one")
	})
}

func TestStream_goesOnWithoutADeviceThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := &device{takes: time.Hour}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 3, Staleness: 0.5, Need: 2},
			gone, &device{takes: time.Second, step: 1}, &device{takes: time.Second, step: 1})
		defer c.stream.Close()
		c.begin()
		synctest.Wait()
		gone.leave()
		result, facts, reports := c.next()
		require.Equal(t, 2, result.Phase.Results)
		require.Equal(t, 1, report.CountOutcomes(reports).Failed)
		require.Zero(t, facts.Training)
		c.next()
		require.Equal(t, 2, c.pool.Len())
	})
}

func TestStream_Wait_waitsForDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &device{takes: time.Second, step: 1}, &device{takes: time.Second, step: 1}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 2, Staleness: 0.5, Need: 2}, first, second)
		defer c.stream.Close()
		c.begin()
		c.next()
		c.next()
		synctest.Wait()
		for _, client := range c.pool.All() {
			if client.Name() == "device-1" {
				second.leave()
				c.pool.Remove(client)
			}
		}
		full, err := c.stream.Wait(context.Background(), nil)
		require.NoError(t, err)
		require.True(t, full, "one has failed, and the other has answered")
		_, _, err = c.stream.Finish(context.Background())
		require.NoError(t, err)
		c.begin()
		began := time.Now()
		_, err = c.stream.Wait(context.Background(), nil)
		require.ErrorIs(t, err, ErrInsufficient)
		require.Equal(t, time.Hour, time.Since(began))
	})
}

func TestStream_timeoutFailsADeviceAndNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 3, Staleness: 0.5, Need: 2},
			&device{takes: time.Hour}, &device{takes: time.Second, step: 1}, &device{takes: time.Second, step: 1})
		c.stream.config.Timeout = 5500 * time.Millisecond
		defer c.stream.Close()
		c.begin()
		failed := 0
		for range 8 {
			result, _, _ := c.next()
			failed += result.Phase.Failures
			require.Equal(t, 2, result.Phase.Results)
		}
		require.Equal(t, 1, failed)
	})
}

func TestStream_drawsSuspendedDevicesWhereOthersAreTooFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var devices []*device
		for range 3 {
			devices = append(devices, &device{takes: time.Second, step: 1})
		}
		for _, buffer := range []int{2, 3} {
			c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: buffer, Concurrency: 3, Staleness: 0.5, Need: 3}, devices...)
			for round := range 3 {
				c.table.Judge(round, []reputation.Part{{Client: "name:device-0", Fault: reputation.Refused}})
			}
			require.True(t, c.table.AnySuspended(1))
			c.begin()
			result, _, reports := c.next()
			if buffer == 2 {
				require.Len(t, reports, 2, "two others are enough")
			} else {
				require.Len(t, reports, 3)
				require.Contains(t, result.Notes, "fit: 1 suspended clients took part, for there were too few others")
			}
			c.stream.Close()
		}
	})
}

func TestStream_Evaluate_holdsUpNoVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var devices []*device
		for range 4 {
			devices = append(devices, &device{takes: time.Second, measures: 10 * time.Second, step: 1})
		}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 2, Staleness: 0.5, Need: 2}, devices...)
		defer c.stream.Close()
		c.begin()
		full, err := c.stream.Wait(context.Background(), nil)
		require.NoError(t, err)
		require.True(t, full)
		result, _, err := c.stream.Finish(context.Background())
		require.NoError(t, err)
		first := c.stream.Evaluate(1, result.Model)
		c.version, c.model = 1, result.Model
		c.begin()
		began := time.Now()
		c.next() // by the other two
		require.Equal(t, time.Second, time.Since(began))
		for full {
			full, err = c.stream.Wait(context.Background(), first.Done())
			require.NoError(t, err)
			if full {
				c.next()
			}
		}
		require.Equal(t, 10*time.Second, time.Since(began))
		got, late, err := first.Result()
		require.NoError(t, err)
		require.Zero(t, late)
		require.Equal(t, 2, got.Phase.Results)
		require.InDelta(t, numbers(result.Model)[0], *got.Loss, 1e-6)
	})
}

func TestEvaluation_CutOff_countsWhoIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		devices := []*device{{takes: time.Second, step: 1}, {takes: time.Second, measures: time.Hour, step: 1}}
		c := newCourse(t, newStrategy(t, "FedAvg", nil), Streaming{Buffer: 2, Concurrency: 2, Staleness: 0.5, Need: 2}, devices...)
		defer c.stream.Close()
		c.begin()
		_, err := c.stream.Wait(context.Background(), nil)
		require.NoError(t, err)
		result, _, err := c.stream.Finish(context.Background())
		require.NoError(t, err)
		e := c.stream.Evaluate(1, result.Model)
		synctest.Wait()
		e.CutOff()
		got, late, err := e.Result()
		require.NoError(t, err)
		require.Equal(t, 1, late)
		require.Equal(t, 1, got.Phase.Results)
		require.Equal(t, 2, got.Phase.Clients)
		require.Zero(t, got.Phase.Failures)
		require.NotNil(t, got.Loss)
	})
}
