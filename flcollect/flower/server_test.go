package flower_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// trainer adds one to every number.
type trainer struct {
	examples int64
	fit      func(ctx context.Context) error // before it answers; nil for none
}

func (trainer) Properties(_ context.Context, ins flower.GetPropertiesIns) (flower.Config, error) {
	return ins.Config, nil
}

func (trainer) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(tensor.FromFloat32s([]float32{1, 2, 3})), nil
}

func (r trainer) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	if r.fit != nil {
		if err := r.fit(ctx); err != nil {
			return nil, err
		}
	}
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	for i, layer := range model {
		values := layer.Float64s()
		for k := range values {
			values[k]++
		}
		b := tensor.NewBuilder(layer.DType(), layer.Shape())
		b.Write(values, 0)
		model[i] = b.Tensor()
	}
	return &flower.FitRes{Parameters: flower.FromTensors(model...), NumExamples: r.examples, Metrics: ins.Config}, nil
}

func (trainer) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return &flower.EvaluateRes{Loss: 0.25, NumExamples: 7, Metrics: flower.Config{"accuracy": 0.75}}, nil
}

// serve runs a server until the test ends, and returns its address.
func serve(t *testing.T, config flower.ServerConfig) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, listener, config)
	return listener.Addr().String()
}

// serveOn runs a server with a listener until the test ends.
func serveOn(t *testing.T, listener net.Listener, config flower.ServerConfig) *flower.Server {
	t.Helper()
	server, err := flower.NewServer(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return server
}

// start runs a client and returns how it ends.
func start(t *testing.T, config flower.ClientConfig) <-chan error {
	t.Helper()
	client, err := flower.NewClient(config)
	require.NoError(t, err)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { ended <- client.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return ended
}

// handled calls handle in the test's goroutine with the session of one client,
// and returns how both ended.
func handled(t *testing.T, config flower.ServerConfig, client trainer,
	handle func(ctx context.Context, s *flower.Session) error) (server, ended error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return handledOn(t, listener, config, flower.ClientConfig{Target: listener.Addr().String(), Trainer: client}, handle)
}

// handledOn is handled with a listener, which the client calls.
func handledOn(t *testing.T, listener net.Listener, config flower.ServerConfig, client flower.ClientConfig,
	handle func(ctx context.Context, s *flower.Session) error) (server, ended error) {
	t.Helper()
	joined := make(chan func(), 1)
	config.Handle = func(ctx context.Context, s *flower.Session) (err error) {
		done := make(chan struct{})
		joined <- func() {
			defer close(done)
			err = handle(ctx, s)
			server = err
		}
		<-done
		return err
	}
	serveOn(t, listener, config)
	ends := start(t, client)
	select {
	case run := <-joined:
		run()
	case err := <-ends:
		require.NoError(t, err)
	}
	return server, <-ends
}

func TestServer_runsARoundWithEveryInstruction(t *testing.T) {
	config := flower.Config{
		"f": 0.5, "i": int64(-3), "b": true, "s": "text", "raw": []byte{0, 1}, "u": uint64(1 << 63), "off": false,
		"none": "",
	}
	server, client := handled(t, flower.ServerConfig{}, trainer{examples: 12},
		func(ctx context.Context, s *flower.Session) error {
			require.Contains(t, s.ID(), "ipv4:127.0.0.1:")
			properties, err := s.Properties(ctx, flower.GetPropertiesIns{Config: config})
			require.NoError(t, err)
			require.Equal(t, config, properties.Properties)

			first, err := s.Parameters(ctx, flower.GetParametersIns{})
			require.NoError(t, err)
			model, err := first.Parameters.Decode()
			require.NoError(t, err)
			require.Equal(t, []float64{1, 2, 3}, model[0].Float64s())
			first.Release()

			large := tensor.FromFloat32s(make([]float32, 1_000_000), 1000, 1000)
			fit, err := s.Fit(ctx,
				flower.FitIns{Parameters: flower.FromTensors(large, tensor.FromInt64s([]int64{4})), Config: config})
			require.NoError(t, err)
			require.Equal(t, int64(12), fit.NumExamples)
			require.Equal(t, config, fit.Metrics)
			model, err = fit.Parameters.Decode()
			require.NoError(t, err)
			require.Equal(t, []int{1000, 1000}, model[0].Shape())
			for _, v := range model[0].Float64s() {
				require.Equal(t, 1.0, v)
			}
			require.Equal(t, []float64{5}, model[1].Float64s())
			fit.Release()
			fit.Release()

			evaluated, err := s.Evaluate(ctx, flower.EvaluateIns{Parameters: flower.FromTensors(large)})
			require.NoError(t, err)
			require.Equal(t, float32(0.25), evaluated.Loss)
			require.Equal(t, int64(7), evaluated.NumExamples)
			require.Equal(t, flower.Config{"accuracy": 0.75}, evaluated.Metrics)
			require.NoError(t, s.Err())
			require.NoError(t, s.Reconnect(ctx, 0))
			require.NoError(t, s.Err())
			<-s.Done()
			_, err = s.Fit(ctx, flower.FitIns{})
			require.ErrorIs(t, err, flower.ErrGone)
			return nil
		})
	require.NoError(t, server)
	require.NoError(t, client)
}

func TestSession_Reconnect_bringsTheClientBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joined := make(chan struct{}, 2)
		seconds := make(chan int64, 2)
		seconds <- 1
		seconds <- 0
		listener := newPipes()
		serveOn(t, listener, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
			joined <- struct{}{}
			return s.Reconnect(ctx, <-seconds)
		}})
		require.NoError(t, <-start(t, flower.ClientConfig{Target: "collector:1", Dial: listener.dial, Trainer: trainer{}}))
		require.Len(t, joined, 2)
	})
}

func TestSession_Fit_endsTheSessionOnALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		server, client := handledOn(t, listener, flower.ServerConfig{},
			flower.ClientConfig{Target: "collector:1", Dial: listener.dial, Trainer: trainer{fit: hang}},
			func(ctx context.Context, s *flower.Session) error {
				limited, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				_, err := s.Fit(limited, flower.FitIns{Parameters: flower.FromTensors()})
				require.ErrorIs(t, err, flower.ErrTimeout)
				require.ErrorIs(t, s.Err(), flower.ErrTimeout)
				<-ctx.Done()
				return ctx.Err()
			})
		require.Error(t, server)
		require.ErrorContains(t, client, "DeadlineExceeded")
	})
}

func TestSession_Fit_failsWhenTheClientLeaves(t *testing.T) {
	server, client := handled(t, flower.ServerConfig{},
		trainer{fit: func(context.Context) error { return errors.New("out of memory") }},
		func(ctx context.Context, s *flower.Session) error {
			_, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors()})
			<-s.Done()
			require.ErrorIs(t, s.Err(), flower.ErrGone)
			return err
		})
	require.ErrorIs(t, server, flower.ErrGone)
	require.ErrorContains(t, client, "out of memory")
}

func TestSession_keepsTheSessionAfterAnUnimplementedInstruction(t *testing.T) {
	server, client := handled(t, flower.ServerConfig{},
		trainer{fit: func(context.Context) error { return flower.ErrNotImplemented }},
		func(ctx context.Context, s *flower.Session) error {
			_, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors()})
			var status *flower.StatusError
			require.ErrorAs(t, err, &status)
			require.Equal(t, flower.FitNotImplemented, status.Code)
			_, err = s.Evaluate(ctx, flower.EvaluateIns{})
			require.NoError(t, err)
			return s.Reconnect(ctx, 0)
		})
	require.NoError(t, server)
	require.NoError(t, client)
}

func TestServer_refusesMessagesBeyondTheLimitUnread(t *testing.T) {
	server, client := handled(t, flower.ServerConfig{MaxMessage: 100_000}, trainer{},
		func(ctx context.Context, s *flower.Session) error {
			_, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors(tensor.FromFloat32s(make([]float32, 30_000)))})
			require.ErrorIs(t, err, flower.ErrTooLarge)
			require.NoError(t, s.Err(), "what was not sent leaves the session")
			_, err = s.Fit(ctx, flower.FitIns{
				Parameters: flower.FromTensors(tensor.FromFloat32s(make([]float32, 24_000))),
				Config:     flower.Config{"padding": make([]byte, 3900)},
			})
			if err == nil {
				return errors.New("should not fit")
			}
			return err
		})
	// The answer is a little larger than the instruction.
	require.ErrorIs(t, server, flower.ErrTooLarge)
	require.ErrorContains(t, client, "ResourceExhausted")
}

func TestServer_Stop_endsSessions(t *testing.T) {
	joined := make(chan struct{})
	server, err := flower.NewServer(flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		close(joined)
		<-ctx.Done()
		return context.Cause(ctx)
	}})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- server.Serve(ctx, listener) }()
	client := start(t, flower.ClientConfig{Target: listener.Addr().String(), Trainer: trainer{},
		Dial: func(ctx context.Context, target string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", target)
		}})
	<-joined
	cancel()
	require.NoError(t, <-done)
	require.ErrorContains(t, <-client, "stopping")
	server.Stop()
}

func TestNewServer_checksItsConfiguration(t *testing.T) {
	handle := func(context.Context, *flower.Session) error { return nil }
	for word, config := range map[string]flower.ServerConfig{
		"Handle":     {},
		"MaxMessage": {Handle: handle, MaxMessage: 1 << 31},
		"Uploads":    {Handle: handle, Uploads: -1},
		"Window":     {Handle: handle, Window: 100},
		"MaxClients": {Handle: handle, MaxClients: -1},
		"Stall":      {Handle: handle, Stall: -1},
	} {
		_, err := flower.NewServer(config)
		require.ErrorContains(t, err, word)
	}
	_, err := flower.NewClient(flower.ClientConfig{Trainer: trainer{}})
	require.ErrorContains(t, err, "Target")
	_, err = flower.NewClient(flower.ClientConfig{Target: "x"})
	require.ErrorContains(t, err, "Trainer")
}
