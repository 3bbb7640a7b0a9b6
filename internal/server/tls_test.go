package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// authority issues certificates for tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{certificate, key, 1}
}

// issue returns a certificate for 127.0.0.1 and its key in PEM.
func (a *authority) issue(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a.serial++
	template := &x509.Certificate{SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, own.Public(), a.key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// put writes files into a folder of the test, and returns their names.
func put(t *testing.T, dir string, contents map[string][]byte) server.TLS {
	t.Helper()
	for name, data := range contents {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return server.TLS{Certificate: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key"), ClientCA: filepath.Join(dir, "ca")}
}

func TestTLS_Config_servesAndIdentifiesClients(t *testing.T) {
	own, other := newAuthority(t), newAuthority(t)
	certificate, key := own.issue(t, "server")
	files := put(t, t.TempDir(), map[string][]byte{"cert": certificate, "key": key, "ca": own.pem()})
	config, err := files.Config(slog.New(slog.DiscardHandler))
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

	roots := x509.NewCertPool()
	roots.AddCert(own.certificate)
	get := func(by *authority, protocols ...string) (string, error) {
		client := &tls.Config{RootCAs: roots, NextProtos: protocols}
		if by != nil {
			pair, err := tls.X509KeyPair(by.issue(t, "press-7"))
			require.NoError(t, err)
			client.Certificates = []tls.Certificate{pair}
		}
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
	own := newAuthority(t)
	dir := t.TempDir()
	certificate, key := own.issue(t, "old")
	files := put(t, dir, map[string][]byte{"cert": certificate, "key": key, "ca": own.pem()})
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
	certificate, key = own.issue(t, "new")
	put(t, dir, map[string][]byte{"cert": certificate}) // the key does not fit yet
	require.Eventually(t, func() bool {
		require.Equal(t, "old", presented())
		return strings.Contains(log.String(), "going on with the one before")
	}, 10*time.Second, 50*time.Millisecond)
	put(t, dir, map[string][]byte{"key": key})
	require.Eventually(t, func() bool { return presented() == "new" }, 10*time.Second, 50*time.Millisecond)
}

func TestTLS_Config_namesTheFlagOfAFault(t *testing.T) {
	own := newAuthority(t)
	certificate, key := own.issue(t, "server")
	files := put(t, t.TempDir(), map[string][]byte{"cert": certificate, "key": key, "ca": []byte("nothing")})
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
