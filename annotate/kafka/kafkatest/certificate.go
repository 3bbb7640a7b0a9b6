package kafkatest

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"

	"github.com/iotenablers/enablers/internal/peertest"
)

// certify creates a key and a certificate for the loopback interface, writes
// both to the file, and returns what clients check the certificate against.
func certify(file string) (*x509.CertPool, error) {
	pair, roots, err := peertest.NewCertificate()
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, block := range []*pem.Block{{Type: "PRIVATE KEY", Bytes: secret}, {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}} {
		if err := pem.Encode(&text, block); err != nil {
			return nil, err
		}
	}
	return roots, os.WriteFile(file, text.Bytes(), 0o600)
}
