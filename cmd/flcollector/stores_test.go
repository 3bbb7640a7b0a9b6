package main

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// inServers returns the flags of a database and a bucket.
func inServers(t *testing.T, database *mongotest.Server) []string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	bucket := s3test.StartMinIO(t)
	return []string{"-store", database.URI + "/" + database.Database(t), "-store-timeout", "30s",
		"-blobs", "s3://" + bucket.Address() + "/" + bucket.Bucket(t) + "?insecure=true&create-bucket=true"}
}

// A job goes on on a server with another folder, and its result is in the bucket.
func TestRun_continuesAJobOfADatabaseInAnotherFolder(t *testing.T) {
	parties, err := tumours.Parties()
	require.NoError(t, err)
	args := inServers(t, mongotest.Start(t))
	p := start(t, args...)
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

	dir := filepath.Join(t.TempDir(), "other")
	p = start(t, append(args, "-data", dir)...)
	address <- p.grpc
	require.NoError(t, <-ended, "the client came back and was sent away in the end")
	require.Eventually(t, func() bool { return p.status(t, "7") == status{"FINISHED", 6} }, wait, tick)
	require.Contains(t, p.get(t, "/training-results/tumours/1.0"), `"rounds":"6"`)
	weights := p.get(t, "/training-results/weights/tumours/1.0/7")
	require.NotEmpty(t, weights)
	require.NoError(t, p.Stop())
	require.NoFileExists(t, filepath.Join(dir, "store.db"))
	require.NotContains(t, p.Log.String(), s3test.SecretKey)

	p = start(t, args...)
	require.Equal(t, status{"FINISHED", 6}, p.status(t, "7"))
	require.Equal(t, weights, p.get(t, "/training-results/weights/tumours/1.0/7"))
	require.NoError(t, p.Stop())
}

func TestRun_waitsForItsStore(t *testing.T) {
	database := mongotest.StartProcess(t)
	args := append(inServers(t, database), "-store-timeout", "2s") // each try takes that long
	database.Kill()
	p := start(t, args...)
	require.Equal(t, "ok\n", p.get(t, "/healthz"))
	answer, err := http.Get(p.web + "/readyz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	database.Restart()
	require.Eventually(t, func() bool {
		answer, err := http.Get(p.web + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, wait, tick)
	p.configure(t, "1", configuration)
	require.NoError(t, <-train(t, flower.ClientConfig{Target: p.grpc}))
	require.Eventually(t, func() bool { return p.status(t, "1") == status{"FINISHED", 6} }, wait, tick)
	require.NoError(t, p.Stop())
}

func TestRun_trainsInMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, "-store", "memory:", "-data", dir)
	p.configure(t, "1", configuration)
	require.NoError(t, <-train(t, flower.ClientConfig{Target: p.grpc}))
	require.Eventually(t, func() bool { return p.status(t, "1") == status{"FINISHED", 6} }, wait, tick)
	require.NoError(t, p.Stop())
	require.NoFileExists(t, filepath.Join(dir, "store.db"))
	entries, err := os.ReadDir(filepath.Join(dir, "rounds"))
	require.NoError(t, err)
	require.Empty(t, entries, "only files of rounds were there")
}

func TestRun_refusesTheFolderOfAnotherServer(t *testing.T) {
	dir := t.TempDir()
	start(t, "-store", "memory:", "-data", dir)
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0",
		"-store", "memory:", "-data", dir},
		io.Discard, io.Discard)
	require.ErrorContains(t, err, "in use by another server")
	require.ErrorContains(t, err, dir)
}

// A client of the second collector trains for a job of the first, which is stopped.
func TestRun_goesOnWithAJobOfAnotherCollectorOfItsDatabase(t *testing.T) {
	parties, err := tumours.Parties()
	require.NoError(t, err)
	args := append(inServers(t, mongotest.Start(t)), "-lease", "2s")
	first := start(t, append(args, "-data", t.TempDir())...)
	first.configure(t, "7", configuration)
	second := start(t, append(args, "-data", t.TempDir())...)
	trainer := &slow{Trainer: tumours.NewTrainer(parties[0]), reached: make(chan struct{}), goOn: make(chan struct{})}
	ended := train(t, flower.ClientConfig{Target: second.grpc, Trainer: trainer})
	<-trainer.reached
	require.Eventually(t, func() bool { return second.status(t, "7") == first.status(t, "7") }, wait, tick)
	require.Equal(t, status{"TRAINING", 2}, first.status(t, "7"))
	close(trainer.goOn)
	require.NoError(t, first.Stop())
	require.Eventually(t, func() bool { return second.status(t, "7") == status{"FINISHED", 6} }, wait, tick)
	require.NoError(t, <-ended, "its stream was at the second all the time")
	require.Contains(t, second.get(t, "/training-results/tumours/1.0"), `"rounds":"6"`)
}

func TestSharedSettings_warn_saysWhatCrossesTheNetwork(t *testing.T) {
	for _, c := range []struct {
		settings sharedSettings
		config   flcollect.Config
		says     string
	}{
		{sharedSettings{}, flcollect.Config{}, ""},
		{sharedSettings{}, flcollect.Config{Advertise: "192.0.2.1:8088"}, "-store is not a database"},
		{sharedSettings{}, flcollect.Config{Name: "a", Advertise: "127.0.0.1:8088"}, ""},
		{sharedSettings{}, flcollect.Config{Name: "a"}, ""},
		{sharedSettings{}, flcollect.Config{Name: "a", Advertise: "192.0.2.1:8088"}, "in the clear"},
		{sharedSettings{ca: "a"}, flcollect.Config{Name: "a", Advertise: "192.0.2.1:8088", RelayTLS: &tls.Config{}}, ""},
		{sharedSettings{ca: "a"}, flcollect.Config{Name: "a", Advertise: "[::1]:8088"}, "no TLS for Flower clients"},
	} {
		var log strings.Builder
		c.settings.warn(slog.New(slog.NewTextHandler(&log, nil)), &c.config)
		require.Equal(t, c.says == "", log.String() == "", log.String())
		require.Contains(t, log.String(), c.says)
	}
}

func TestSharedSettings_complete_keepsTheNameInTheFolder(t *testing.T) {
	dir := t.TempDir()
	var s sharedSettings
	var first, again, torn flcollect.Config
	require.NoError(t, s.complete(&first, dir, &net.TCPAddr{IP: net.IPv4zero, Port: 8088}, nil))
	require.Empty(t, first.Advertise, "no host can be reached there")
	require.NoError(t, s.complete(&again, dir, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8088}, &tls.Config{}))
	require.Equal(t, first.Name, again.Name)
	require.Equal(t, "192.0.2.1:8088", again.Advertise)
	require.NotNil(t, again.RelayTLS)
	require.NoError(t, os.WriteFile(filepath.Join(dir, nameFile), nil, 0o600))
	require.NoError(t, s.complete(&torn, dir, &net.TCPAddr{}, nil))
	require.NotEmpty(t, torn.Name)
	s.ca = filepath.Join(dir, "missing.pem")
	err := s.complete(&torn, dir, &net.TCPAddr{}, &tls.Config{})
	require.ErrorContains(t, err, "-advertise-ca: open")
}
