package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// writeFiles returns the settings of a certificate whose authority is that of clients too.
func writeFiles(a *servertest.Authority, c *servertest.Certificate) server.TLS {
	return server.TLS{Certificate: c.Cert, Key: c.Key, ClientCA: a.File}
}

// runs runs a part until the end of the test.
func runs(t *testing.T, part server.Part) {
	t.Helper()
	var running sync.WaitGroup
	running.Go(func() { _ = part.Run(t.Context()) })
	t.Cleanup(running.Wait)
}

func TestTLS_Open_servesAndIdentifiesClients(t *testing.T) {
	own, other := servertest.NewAuthority(t), servertest.NewAuthority(t)
	opened, err := writeFiles(own, own.Issue("server")).Open(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	config := opened.Config()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	part := server.HTTP(tls.NewListener(listener, config), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.VerifiedChains) == 0 {
			_, _ = io.WriteString(w, r.Proto+" anonymous")
			return
		}
		_, _ = io.WriteString(w, r.Proto+" "+r.TLS.VerifiedChains[0][0].Subject.CommonName)
	}), slog.New(slog.DiscardHandler))
	runs(t, part)

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

// copyFile gives a file the content of another.
func copyFile(t *testing.T, name, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, data, 0o600))
}

// presented returns the common name of the certificate that a listener would present now.
func presented(t *testing.T, config *tls.Config) string {
	t.Helper()
	current, err := config.GetConfigForClient(nil)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(current.Certificates[0].Certificate[0])
	require.NoError(t, err)
	return certificate.Subject.CommonName
}

func TestTLS_Open_readsFilesAgainThatCouldNotBeRead(t *testing.T) {
	own := servertest.NewAuthority(t)
	certificate, renewed := own.Issue("old"), own.Issue("new")
	synctest.Test(t, func(t *testing.T) {
		var log servertest.Log
		opened, err := writeFiles(own, certificate).Open(slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		config := opened.Config()
		copyFile(t, certificate.Key, renewed.Key)
		changed := time.Now()
		require.NoError(t, os.WriteFile(certificate.Cert, []byte("unreadable for now"), 0o600))
		require.NoError(t, os.Chtimes(certificate.Cert, changed, changed))
		for range 150 {
			time.Sleep(time.Second)
			require.Equal(t, "old", presented(t, config))
		}
		require.Equal(t, 3, strings.Count(log.String(), "going on with the one before"), "one line a minute")
		copyFile(t, certificate.Cert, renewed.Cert)
		require.NoError(t, os.Chtimes(certificate.Cert, changed, changed))
		time.Sleep(time.Second)
		require.Equal(t, "new", presented(t, config))
	})
}

func TestTLS_Open_readsRenewedFiles(t *testing.T) {
	own := servertest.NewAuthority(t)
	certificate, renewed := own.Issue("old"), own.Issue("new")
	files := writeFiles(own, certificate)
	var log servertest.Log
	opened, err := files.Open(slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	config := opened.Config()
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
	shown := func() string {
		connection, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		require.NoError(t, err)
		defer func() { _ = connection.Close() }()
		return connection.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	require.Equal(t, "old", shown())
	copyFile(t, certificate.Cert, renewed.Cert) // the key does not fit yet
	require.Eventually(t, func() bool {
		require.Equal(t, "old", shown())
		return strings.Contains(log.String(), "going on with the one before")
	}, patience, 50*time.Millisecond)
	copyFile(t, certificate.Key, renewed.Key)
	require.Eventually(t, func() bool { return shown() == "new" }, patience, 50*time.Millisecond)
}

func TestTLS_Open_namesTheFlagOfAFault(t *testing.T) {
	own := servertest.NewAuthority(t)
	files := writeFiles(own, own.Issue("server"))
	require.NoError(t, os.WriteFile(files.ClientCA, []byte("nothing"), 0o600))
	log := slog.New(slog.DiscardHandler)
	opened, err := server.TLS{}.Open(log)
	require.NoError(t, err)
	config := opened.Config()
	require.Nil(t, config)
	for want, wrong := range map[string]server.TLS{
		"-tls-cert, -tls-key: one needs the other": {Certificate: files.Certificate},
		"-tls-client-ca: needs -tls-cert":          {ClientCA: files.ClientCA},
		"holds no certificate in PEM":              files,
		"-tls-cert, -tls-key: ":                    {Certificate: files.Certificate, Key: files.Certificate},
		"no such file":                             {Certificate: files.Certificate, Key: files.Key + "-absent"},
	} {
		_, err := wrong.Open(log)
		require.ErrorContains(t, err, want)
	}
}

func TestCertificates_Reload_readsTheFilesNow(t *testing.T) {
	a := servertest.NewAuthority(t)
	own := a.Issue("server")
	files, err := server.TLS{Certificate: own.Cert, Key: own.Key}.Open(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	serial := func() *big.Int {
		config, err := files.Config().GetConfigForClient(nil)
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
		require.NoError(t, err)
		return leaf.SerialNumber
	}
	require.Equal(t, own.Serial, serial())
	a.Renew(own, "server")
	require.NoError(t, files.Reload(t.Context()))
	require.Equal(t, own.Serial, serial())

	require.NoError(t, os.WriteFile(own.Key, nil, 0o600))
	require.ErrorContains(t, files.Reload(t.Context()), "-tls-cert, -tls-key")
	require.Equal(t, own.Serial, serial(), "the one before holds")

	none, err := server.TLS{}.Open(nil)
	require.NoError(t, err)
	require.Nil(t, none.Config())
	require.NoError(t, none.Reload(t.Context()))
}

func TestCertificates_Client_isThatOfTheFilesNow(t *testing.T) {
	authority := servertest.NewAuthority(t)
	own := authority.Issue("edge")
	files, err := server.TLS{Certificate: own.Cert, Key: own.Key}.Open(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	site, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	seen := make(chan *big.Int, 1)
	part := server.HTTP(tls.NewListener(site, authority.ServerTLS(tls.RequireAndVerifyClientCert)),
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.TLS.PeerCertificates[0].SerialNumber }),
		slog.New(slog.DiscardHandler))
	runs(t, part)
	for range 2 {
		config := authority.ClientTLS()
		config.GetClientCertificate = files.Client
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		answer, err := client.Get("https://" + site.Addr().String())
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, own.Serial, <-seen)
		authority.Renew(own, "edge")
		require.NoError(t, files.Reload(t.Context()))
	}
}
