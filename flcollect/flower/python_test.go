package flower_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// pythonLimit ends a test of Python clients that hangs. On a busy machine they need a minute to begin.
const pythonLimit = 10 * time.Minute

// runPython starts a real client and returns how it ends, with its output.
func runPython(t *testing.T, program string, arguments ...string) <-chan error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pythonLimit)
	command := exec.CommandContext(ctx, program, append([]string{filepath.Join("testdata", "client.py")}, arguments...)...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	require.NoError(t, command.Start())
	ended, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		err := command.Wait()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, output.String())
		}
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return ended
}

func TestServer_runsARoundWithFlowerClients(t *testing.T) {
	for _, version := range []string{"1.3.0", "1.41.0"} {
		t.Run(version, func(t *testing.T) {
			program := peertest.Python(t, "flwr=="+version)
			const clients = 3
			joined := make(chan *flower.Session, clients)
			address := serve(t, flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
				joined <- s
				<-ctx.Done()
				return nil
			}})
			var ends [clients]<-chan error
			for k := range clients {
				ends[k] = runPython(t, program, address, fmt.Sprint(k+1))
			}
			ctx, cancel := context.WithTimeout(t.Context(), pythonLimit)
			defer cancel()
			total := 0.0
			for range clients {
				var s *flower.Session
				select {
				case s = <-joined:
				case <-ctx.Done():
					t.Fatal("no client joined")
				}
				total += round(ctx, t, s)
			}
			require.Equal(t, 6.0, total)
			for _, ended := range ends {
				require.NoError(t, <-ended)
			}
		})
	}
}

// round runs every instruction with a session and returns the client's number.
func round(ctx context.Context, t *testing.T, s *flower.Session) float64 {
	t.Helper()
	properties, err := s.Properties(ctx, flower.GetPropertiesIns{Config: flower.Config{"extra": int64(-5)}})
	require.NoError(t, err)
	number, ok := properties.Properties["number"].(int64)
	require.True(t, ok)
	require.Equal(t, flower.Config{
		"number": number,
		"python": true,
		"name":   "python",
		"half":   0.5,
		"raw":    []byte{0, 255},
		"extra":  int64(-5),
	}, properties.Properties)

	first, err := s.Parameters(ctx, flower.GetParametersIns{})
	require.NoError(t, err)
	model, err := first.Parameters.Decode()
	require.NoError(t, err)
	shapes := fmt.Sprint(func() (all []any) {
		for _, layer := range model {
			all = append(all, layer.DType(), layer.Shape())
		}
		return all
	}())
	require.Equal(t, "[float32 [2 3 4] float32 [3 4] int64 [] int64 [1] float32 [1] bool [2] float16 [1]]", shapes)
	require.Equal(t, model[0].Float64s()[:12], model[1].Float64s(), "Fortran order")
	require.Equal(t, []float64{1.5}, model[4].Float64s(), "big-endian")
	first.Release()

	weights := make([]float32, 300_000)
	for i := range weights {
		weights[i] = float32(i)
	}
	large := tensor.FromFloat32s(weights, 3, 100_000)
	fit, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors(large), Config: flower.Config{
		"epochs": int64(3), "learning_rate": 0.5, "verbose": true, "words": "Grüße", "raw": []byte{0, 1}}})
	require.NoError(t, err)
	require.Equal(t, 10*number, fit.NumExamples)
	require.Equal(t, flower.Config{"loss": float64(number), "count": int64(1)}, fit.Metrics)
	model, err = fit.Parameters.Decode()
	require.NoError(t, err)
	require.NoError(t, model[0].SameForm(large))
	for i, v := range model[0].Float64s() {
		require.Equal(t, float64(weights[i])+float64(number), v)
	}
	fit.Release()

	evaluated, err := s.Evaluate(ctx,
		flower.EvaluateIns{Parameters: flower.FromTensors(tensor.FromFloat64s([]float64{-1, 2}))})
	require.NoError(t, err)
	require.Equal(t, float32(3), evaluated.Loss)
	require.Equal(t, int64(5), evaluated.NumExamples)
	require.Equal(t, flower.Config{"accuracy": 0.5, "dtype": "float64"}, evaluated.Metrics)
	require.NoError(t, s.Reconnect(ctx, 0))
	return float64(number)
}

func TestServer_acceptsAFlowerClientOverTLS(t *testing.T) {
	program := peertest.Python(t, "flwr==1.3.0")
	authority := servertest.NewAuthority(t)
	joined := make(chan *flower.Session, 1)
	address := serve(t, flower.ServerConfig{
		TLS: authority.ServerTLS(tls.NoClientCert),
		Handle: func(ctx context.Context, s *flower.Session) error {
			joined <- s
			<-ctx.Done()
			return nil
		},
	})
	ended := runPython(t, program, address, "1", authority.File)
	select {
	case s := <-joined:
		require.Equal(t, 1.0, round(t.Context(), t, s))
	case err := <-ended:
		require.NoError(t, err)
	}
	require.NoError(t, <-ended)
}
