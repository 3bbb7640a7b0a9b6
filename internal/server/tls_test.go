package server_test

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// filesOf returns the settings of a certificate whose authority is that of clients too.
func filesOf(a *servertest.Authority, c *servertest.Certificate) server.TLS {
	return server.TLS{Certificate: c.Cert, Key: c.Key, ClientCA: a.File}
}

func TestTLS_Config_servesAndIdentifiesClients(t *testing.T) {
	own, other := servertest.NewAuthority(t), servertest.NewAuthority(t)
	config, err := filesOf(own, own.Issue("server")).Config(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	part := server.HTTP(tls.NewListener(listener, config), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.VerifiedChains) == 0 {
			_, _ = io.WriteString(w, r.Proto+" anonymous")
			return
		}
		_, _ = io.WriteString(w, r.Proto+" "+r.TLS.VerifiedChains[0][0].Subject.CommonName)
	}), slog.New(slog.DiscardHandler))
	go func() { _ = part.Run(t.Context()) }()

	get := func(by *servertest.Authority, protocols ...string) (string, error) {
		client := own.ClientTLS()
		if by != nil {
			client.Certificates = by.ClientTLS(by.Issue("press-7")).Certificates
		}
		client.NextProtos = protocols
		transport := &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: len(protocols) == 0}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get("https://" + listener.Addr().String())
		if err != nil {
			return "", err
		}
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	text, err := get(nil)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0 anonymous", text)
	text, err = get(own, "http/1.1")
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 press-7", text)
	_, err = get(other)
	require.Error(t, err, "a certificate of another authority is refused")
}

func TestTLS_Config_readsRenewedFiles(t *testing.T) {
	own := servertest.NewAuthority(t)
	certificate, renewed := own.Issue("old"), own.Issue("new")
	copyTo := func(name, from string) {
		data, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, data, 0o600))
	}
	files := filesOf(own, certificate)
	var log servertest.Log
	config, err := files.Config(slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.(*tls.Conn).Handshake()
			_ = connection.Close()
		}
	}()
	presented := func() string {
		connection, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		defer func() { _ = connection.Close() }()
		return connection.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	require.Equal(t, "old", presented())
	copyTo(certificate.Cert, renewed.Cert) // the key does not fit yet
	require.Eventually(t, func() bool {
		require.Equal(t, "old", presented())
		return strings.Contains(log.String(), "going on with the one before")
	}, 10*time.Second, 50*time.Millisecond)
	copyTo(certificate.Key, renewed.Key)
	require.Eventually(t, func() bool { return presented() == "new" }, 10*time.Second, 50*time.Millisecond)
}

func TestTLS_Config_namesTheFlagOfAFault(t *testing.T) {
	own := servertest.NewAuthority(t)
	files := filesOf(own, own.Issue("server"))
	require.NoError(t, os.WriteFile(files.ClientCA, []byte("nothing"), 0o600))
	log := slog.New(slog.DiscardHandler)
	config, err := server.TLS{}.Config(log)
	require.NoError(t, err)
	require.Nil(t, config)
	for want, wrong := range map[string]server.TLS{
		"-tls-cert, -tls-key: one needs the other": {Certificate: files.Certificate},
		"-tls-client-ca: needs -tls-cert":          {ClientCA: files.ClientCA},
		"holds no certificate in PEM":              files,
		"-tls-cert, -tls-key: ":                    {Certificate: files.Certificate, Key: files.Certificate},
		"no such file":                             {Certificate: files.Certificate, Key: files.Key + "-absent"},
	} {
		_, err := wrong.Config(log)
		require.ErrorContains(t, err, want)
	}
}
