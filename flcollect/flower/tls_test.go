package flower_test

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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// authority issues certificates for a test.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
	pool *x509.CertPool
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
	a := &authority{
		key:  key,
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pool: x509.NewCertPool(),
	}
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0,
			1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestIdentify_namesClientsByTheirCertificates(t *testing.T) {
	authority := newAuthority(t)
	ids := make(chan string, 2)
	address := serve(t, flower.ServerConfig{
		TLS: &tls.Config{
			Certificates: []tls.Certificate{authority.issue(t, "server")},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: authority.pool,
		},
		Handle: func(ctx context.Context, s *flower.Session) error {
			ids <- s.ID()
			return s.Reconnect(ctx, 0)
		},
	})
	own := &tls.Config{RootCAs: authority.pool, Certificates: []tls.Certificate{authority.issue(t, "hospital-7")}}
	require.NoError(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, TLS: own}))
	require.Equal(t, "hospital-7", <-ids)

	nameless := &tls.Config{RootCAs: authority.pool}
	require.Error(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}, TLS: nameless}))
	require.Error(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}}), "without TLS")
	require.Empty(t, ids)
}

func TestServer_replacesTheSessionOfAClientThatJoinsAgain(t *testing.T) {
	joined := make(chan *flower.Session, 2)
	address := serve(t, flower.ServerConfig{
		Identify: func(flower.Peer) (string, error) { return "the one", nil },
		Handle: func(ctx context.Context, s *flower.Session) error {
			joined <- s
			<-ctx.Done()
			return nil
		},
	})
	first := start(t, flower.ClientConfig{Target: address, Trainer: trainer{}})
	old := <-joined
	second := start(t, flower.ClientConfig{Target: address, Trainer: trainer{}})
	young := <-joined
	<-old.Done()
	require.ErrorIs(t, old.Err(), flower.ErrReplaced)
	require.ErrorContains(t, <-first, "AlreadyExists")
	require.NoError(t, young.Reconnect(t.Context(), 0))
	require.NoError(t, <-second)
}
