package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
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
	ended := train(t, flower.ClientConfig{Target: p.grpc, Trainer: trainer})
	<-trainer.reached
	require.Equal(t, status{"TRAINING", 2}, p.status(t, "7"))
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

	p = start(t, "-data", dir, "-grpc-listen", p.grpc)
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

// authority issues certificates for a test.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	require.NoError(t, err)
	a := &authority{key: key, pool: x509.NewCertPool(), file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.pool.AddCert(a.cert)
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// issue writes a certificate for a name and its key, and returns it.
func (a *authority) issue(t *testing.T, name, certFile, keyFile string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "PRIVATE KEY", secret)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func TestRun_requiresCertificatesOfClients(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.issue(t, "collector", cert, key)
	p := start(t, "-grpc-cert", cert, "-grpc-key", key, "-grpc-client-ca", a.file)
	p.configure(t, "1", configuration)
	require.Error(t, <-train(t, flower.ClientConfig{Target: p.grpc, TLS: &tls.Config{RootCAs: a.pool}}))
	own := a.issue(t, "party", filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key"))
	require.NoError(t, <-train(t,
		flower.ClientConfig{Target: p.grpc, TLS: &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{own}}}))
	require.Eventually(t, func() bool { return p.status(t, "1") == status{"FINISHED", 6} }, wait, tick)
	require.NoError(t, p.Stop())
}

func TestSettings_clientTLS_readsARenewedCertificate(t *testing.T) {
	a, dir, log := newAuthority(t), t.TempDir(), &servertest.Log{}
	s := &settings{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	first := a.issue(t, "one", s.cert, s.key)
	config, err := s.clientTLS(newLog(log))
	require.NoError(t, err)
	served := func() []byte {
		now, err := config.GetCertificate(nil)
		require.NoError(t, err)
		return now.Certificate[0]
	}
	require.Equal(t, first.Certificate[0], served())

	later := time.Now().Add(time.Minute)
	require.NoError(t, os.WriteFile(s.cert, []byte("half"), 0o600))
	require.NoError(t, os.Chtimes(s.cert, later, later))
	require.Equal(t, first.Certificate[0], served())
	require.Contains(t, log.String(), "going on with the one before")

	second := a.issue(t, "two", s.cert, s.key)
	later = later.Add(time.Minute)
	require.NoError(t, os.Chtimes(s.cert, later, later))
	require.Equal(t, second.Certificate[0], served())
}
