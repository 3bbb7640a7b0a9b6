package main

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door/doortest"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_hasTheDoor(t *testing.T) {
	doortest.Command{
		Run: run,
		Args: func(host, folder string) []string {
			return []string{"-listen", host + ":0", "-grpc-listen", host + ":0", "-fleet", host + ":0", "-data", folder}
		},
		Read: "GET /jobs", Change: "POST /job/config/1",
		Others: []doortest.Requests{
			{Read: "GET /repository/model", Change: "POST /repository/model"},
			{Read: "GET /model", Change: "POST /model"},
		},
	}.Check(t)
}

// guarded starts the program with the tokens of a reader and of an operator, and
// starts a job.
func guarded(t *testing.T, args ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("hospital reader hospital-with-16-characters\n"+
		"research operator research-with-16-characters\n"), 0o600))
	p := start(t, append(args, "-access-tokens", file)...)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.web+"/job/config/1", strings.NewReader(configuration))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer research-with-16-characters")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	return p
}

func TestRun_letsClientsTrainWithAToken(t *testing.T) {
	p := guarded(t)
	err := <-train(t, flower.ClientConfig{Target: p.grpc})
	require.ErrorContains(t, err, "A token is required")
	err = <-train(t, flower.ClientConfig{Target: p.grpc, Token: "a wrong token of a hospital"})
	require.ErrorContains(t, err, "The token is not valid")
	require.NoError(t, <-train(t, flower.ClientConfig{Target: p.grpc, Token: "hospital-with-16-characters"}))
	require.NoError(t, p.Stop())
	require.Contains(t, p.Log.String(), "stock clients can send no token and need -grpc-access none")
	require.NotContains(t, p.Log.String(), "with-16-characters")
}

func TestRun_opensThePortOfClientsAlone(t *testing.T) {
	p := guarded(t, "-grpc-access", "none", "-grpc-listen", "0.0.0.0:0")
	require.NoError(t, <-train(t, flower.ClientConfig{Target: strings.Replace(p.grpc, "0.0.0.0", "127.0.0.1", 1)}))
	answer, err := http.Get(p.web + "/jobs")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	require.NoError(t, p.Stop())
	require.Contains(t, p.Log.String(), "EVERY FLOWER CLIENT MAY TRAIN")
}

func TestRun_givesBothListenersTheCertificate(t *testing.T) {
	a := servertest.NewAuthority(t)
	own := a.Issue("collector")
	p := start(t, "-tls-cert", own.Cert, "-tls-key", own.Key, "-tls-client-ca", a.File)
	require.True(t, strings.HasPrefix(p.web, "https://"), p.web)
	answer, err := a.Client(a.Issue("research", "operator")).Post(p.web+"/job/config/1", "application/json", strings.NewReader(configuration))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	err = <-train(t, flower.ClientConfig{Target: p.grpc, TLS: a.ClientTLS()})
	require.ErrorContains(t, err, "A client certificate of the authorities of -tls-client-ca is required")
	require.NoError(t, <-train(t, flower.ClientConfig{Target: p.grpc, TLS: a.ClientTLS(a.Issue("hospital"))}))
	require.NoError(t, p.Stop())
}

// Only the door watches the files of its certificate.
func TestSettings_checkClients_leavesTheCertificateToTheDoor(t *testing.T) {
	a := servertest.NewAuthority(t)
	own := a.Issue("collector")
	clientTLS := func(args ...string) *tls.Config {
		s, err := readSettings(append(args, "-tls-cert", own.Cert, "-tls-key", own.Key))
		require.NoError(t, err)
		config, err := s.Certificate.Open(slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		return config.Config()
	}
	require.Nil(t, clientTLS())
	require.Nil(t, clientTLS("-tls-client-ca", a.File))
	require.Nil(t, clientTLS("-grpc-access", "none"))
	require.Equal(t, tls.RequireAndVerifyClientCert, clientTLS("-grpc-client-ca", a.File).ClientAuth)
	require.NotNil(t, clientTLS("-grpc-cert", own.Cert, "-grpc-key", own.Key))
}

func TestRun_trainsTheDemonstrationBehindTheDoor(t *testing.T) {
	own := servertest.NewAuthority(t).Issue("collector")
	p := start(t, "-demo", "-demo-pause", "0s", "-access", "token", "-tls-cert", own.Cert, "-tls-key", own.Key)
	p.Await("training finished")
	require.NoError(t, p.Stop())
}
