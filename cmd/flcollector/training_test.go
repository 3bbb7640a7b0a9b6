package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

const (
	wait = 30 * time.Second
	tick = 10 * time.Millisecond
)

// configuration is that of a job for one client.
const configuration = `{"strategy": "avg", "model_name": "tumours", "model_version": "1.0", "configuration_id": 1,
	"server_conf": {"num_rounds": 6}, "privacy-mechanisms": {}, "client_conf": [{"epochs": 2, "learning_rate": 0.1}],
	"strategy_conf": {"min_fit_clients": 1, "min_evaluate_clients": 1, "min_available_clients": "1"}}`

// way leads a client to a collector that is another process, at another port, from time to time.
// It is used in the place of an address that another process may have taken meanwhile.
type way chan string

// dial connects to the address that was sent last, and waits for one.
func (w way) dial(ctx context.Context, _ string) (net.Conn, error) {
	select {
	case address := <-w:
		w <- address
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// train runs a client, and returns how it ends.
func train(t *testing.T, config flower.ClientConfig) <-chan error {
	t.Helper()
	if config.Trainer == nil {
		parties, err := tumours.Parties()
		require.NoError(t, err)
		config.Trainer = tumours.NewTrainer(parties[0])
	}
	client, err := flower.NewClient(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- client.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return ended
}

// slow is a trainer that stops in the middle of its third fit.
type slow struct {
	*tumours.Trainer
	fits    atomic.Int32
	reached chan struct{} // closed then
	goOn    chan struct{} // until this is
}

func (s *slow) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	if s.fits.Add(1) == 3 {
		close(s.reached)
		select {
		case <-s.goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Trainer.Fit(ctx, ins)
}

func TestRun_continuesAJobAfterARestart(t *testing.T) {
	parties, err := tumours.Parties()
	require.NoError(t, err)
	dir := t.TempDir()
	p := start(t, "-data", dir)
	p.configure(t, "7", configuration)
	trainer := &slow{Trainer: tumours.NewTrainer(parties[0]), reached: make(chan struct{}), goOn: make(chan struct{})}
	address := make(way, 1)
	address <- p.grpc
	ended := train(t, flower.ClientConfig{Target: "collector:1", Dial: address.dial, Trainer: trainer})
	<-trainer.reached
	require.Equal(t, status{"TRAINING", 2}, p.status(t, "7"))
	<-address
	p.Interrupt()
	require.Eventually(t, func() bool {
		answer, err := http.Get(p.web + "/readyz")
		if err != nil {
			return true
		}
		_ = answer.Body.Close()
		return answer.StatusCode != http.StatusOK
	}, wait, tick)
	close(trainer.goOn)
	require.NoError(t, p.Stop())
	require.Less(t, trainer.fits.Load(), int32(6), "it would have been finished")

	p = start(t, "-data", dir)
	address <- p.grpc
	require.NoError(t, <-ended, "the client came back and was sent away in the end")
	require.Eventually(t, func() bool { return p.status(t, "7") == status{"FINISHED", 6} }, wait, tick)
	require.Contains(t, p.get(t, "/training-results/tumours/1.0"), `"rounds":"6"`)
	require.NoError(t, p.Stop())
}

func TestRun_beginsJobsWithTheParametersInTheFolder(t *testing.T) {
	models := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(models, "tumours"), 0o750))
	file, err := os.Create(filepath.Join(models, "tumours", "1.0.npz"))
	require.NoError(t, err)
	given := tumours.Regression{Bias: 1000}.Tensors()
	require.NoError(t, tensor.WriteNPZ(file, tensor.Named{Name: "arr_0", Tensor: given[0]}, tensor.Named{Name: "arr_1", Tensor: given[1]}))
	require.NoError(t, file.Close())

	parties, err := tumours.Parties()
	require.NoError(t, err)
	first := make(chan float64, 6)
	p := start(t, "-models", models)
	p.configure(t, "1", configuration)
	require.NoError(t, <-train(t, flower.ClientConfig{Target: p.grpc, Trainer: biased{tumours.NewTrainer(parties[0]), first}}))
	require.Equal(t, 1000.0, <-first)

	require.NoError(t, os.WriteFile(file.Name(), []byte("PK?"), 0o600))
	p.configure(t, "2", configuration)
	require.Eventually(t, func() bool { return p.status(t, "2").Status == "INTERRUPTED" }, wait, tick)
	require.Contains(t, p.get(t, "/job/status/2"), `read model \"tumours\" of version \"1.0\"`)
	require.NoError(t, p.Stop())
}

// biased is a trainer that notes the bias of the models that it is sent.
type biased struct {
	*tumours.Trainer
	seen chan<- float64
}

func (b biased) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	b.seen <- model[1].Float64s()[0]
	return b.Trainer.Fit(ctx, ins)
}

func TestRun_requiresCertificatesOfClients(t *testing.T) {
	a := servertest.NewAuthority(t)
	own := a.Issue("collector")
	p := start(t, "-grpc-cert", own.Cert, "-grpc-key", own.Key, "-grpc-client-ca", a.File)
	p.configure(t, "1", configuration)
	require.Error(t, <-train(t, flower.ClientConfig{Target: p.grpc, TLS: a.ClientTLS()}))
	require.NoError(t, <-train(t, flower.ClientConfig{Target: p.grpc, TLS: a.ClientTLS(a.Issue("party"))}))
	require.Eventually(t, func() bool { return p.status(t, "1") == status{"FINISHED", 6} }, wait, tick)
	require.NoError(t, p.Stop())
	require.Contains(t, p.Log.String(), "a certificate of an authority in -grpc-client-ca")
}
