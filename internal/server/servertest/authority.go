package servertest

import (
	"cmp"
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
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority issues certificates for tests.
type Authority struct {
	// File is the certificate of the authority, in PEM.
	File string

	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority returns an authority whose files last as long as the test.
func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{t: t, File: filepath.Join(t.TempDir(), "authority.pem")}
	a.key = a.newKey()
	a.certificate = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, a.key)
	a.write(a.File, "CERTIFICATE", a.certificate.Raw)
	return a
}

// Certificate is a certificate with its key, in files and in memory.
type Certificate struct {
	// Cert and Key are the files, in PEM.
	Cert, Key string
	// Serial is its serial number.
	Serial *big.Int

	key *ecdsa.PrivateKey
	raw []byte
}

// Issue issues a certificate for 127.0.0.1, [::1], localhost and its name, for servers and
// clients, with organizational units.
func (a *Authority) Issue(name string, units ...string) *Certificate {
	a.t.Helper()
	dir := a.t.TempDir()
	c := &Certificate{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	a.Renew(c, name, units...)
	return c
}

// Renew writes a new certificate, with a new key, into the files of one that exists.
func (a *Authority) Renew(c *Certificate, name string, units ...string) {
	a.t.Helper()
	c.key = a.newKey()
	raw, err := x509.MarshalPKCS8PrivateKey(c.key)
	require.NoError(a.t, err)
	a.write(c.Key, "PRIVATE KEY", raw)
	a.Prolong(c, name, units...)
}

// Prolong writes a new certificate for the key of one that exists.
func (a *Authority) Prolong(c *Certificate, name string, units ...string) {
	a.t.Helper()
	certificate := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name, OrganizationalUnit: units},
		DNSNames: []string{name, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, c.key)
	a.write(c.Cert, "CERTIFICATE", certificate.Raw)
	c.Serial, c.raw = certificate.SerialNumber, certificate.Raw
}

// PublicKey returns the key of the certificate in the form that certificates have it in (PKIX).
func (c *Certificate) PublicKey() ([]byte, error) { return x509.MarshalPKIXPublicKey(&c.key.PublicKey) }

// Client returns a client that trusts the authority and shows the certificates. It keeps
// no connection.
func (a *Authority) Client(certificates ...*Certificate) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: a.ClientTLS(certificates...), DisableKeepAlives: true}}
}

// ClientTLS returns the configuration of Client for other protocols.
func (a *Authority) ClientTLS(certificates ...*Certificate) *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(a.certificate)
	for _, one := range certificates {
		config.Certificates = append(config.Certificates, tls.Certificate{Certificate: [][]byte{one.raw}, PrivateKey: one.key})
	}
	return config
}

// ServerTLS returns the configuration of a server that has a certificate and trusts clients of the authority.
func (a *Authority) ServerTLS(clients tls.ClientAuthType) *tls.Config {
	a.t.Helper()
	config := a.ClientTLS(a.Issue("server"))
	config.ClientAuth, config.ClientCAs = clients, config.RootCAs
	return config
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	return key
}

// sign signs a certificate for a key, and that of the authority if it has none.
func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	var err error
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.t, err)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := cmp.Or(a.certificate, template)
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	certificate, err := x509.ParseCertificate(raw)
	require.NoError(a.t, err)
	return certificate
}

func (a *Authority) write(name, kind string, raw []byte) {
	a.t.Helper()
	require.NoError(a.t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600))
}
