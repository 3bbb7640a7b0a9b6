package supernode_test

import (
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
)

// certificate returns a certificate that is its own authority.
func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key := newKey(t, elliptic.P256())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestConfig_TLS_servesBothTransportsAndShowsCertificates(t *testing.T) {
	transports(t, func(t *testing.T, grpc bool) {
		own, roots := certificate(t, "collector")
		theirs, clients := certificate(t, "hospital-7")
		w := start(t, supernode.Config{TLS: &tls.Config{
			Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
		}})
		c, node := w.node(supernodetest.Config{GRPC: grpc, TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{theirs}}})
		require.Equal(t, "hospital-7", node.Peer().Certificates[0].Subject.CommonName)
		m := w.join(w.run(supernode.RunConfig{}), node)
		w.works(c, addOne)
		(<-fit(t, m, model(10))).release(t)
		without := w.client(supernodetest.Config{GRPC: grpc, TLS: &tls.Config{RootCAs: roots}})
		require.Error(t, without.Register(bounded(t)))
	})
	_, err := supernode.New(supernode.Config{TLS: &tls.Config{}})
	require.ErrorContains(t, err, "TLS has no certificate")
}

func TestNew_refusesOddConfigurations(t *testing.T) {
	for field, config := range map[string]supernode.Config{
		"Hold is 26s": {Hold: 26 * time.Second}, "MaxNodes is -1": {MaxNodes: -1}, "Uploads is -1": {Uploads: -1},
		"Stall is 2h0m0s": {Stall: 2 * time.Hour},
	} {
		_, err := supernode.New(config)
		require.ErrorContains(t, err, field)
	}
}

func TestServer_refusesRelease119WithASentence(t *testing.T) {
	w := start(t, supernode.Config{})
	c := w.client(supernodetest.Config{GRPC: true})
	require.NoError(t, c.Create(bounded(t)))
	node := w.arrival()
	require.NoError(t, c.Heartbeat(bounded(t), "SendNodeHeartbeat"))
	got := fit(t, w.join(w.run(supernode.RunConfig{}), node), model(10))
	task, err := c.Ask(bounded(t))
	require.NoError(t, err)
	// It reads the tree as a list, of the objects directly below the message.
	task.Tree.Children[0].Children = nil
	_, err = c.Fetch(bounded(t), task)
	refused := refusal(t, err)
	require.Equal(t, 12, refused.Status)
	require.Contains(t, refused.Detail, "Flower 1.13 to 1.18, and of 1.20 and later")
	require.ErrorContains(t, (<-got).err, "Flower 1.19")
	<-node.Done()
}
