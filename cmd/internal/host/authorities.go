package host

import (
	"crypto/x509"
	"fmt"
	"os"

	"github.com/iotenablers/enablers/internal/cli"
)

// Authorities adds the certificates of a PEM file to a pool. The error names the flag that names
// the file, and is one of usage.
func Authorities(pool *x509.CertPool, flag, file string) error {
	text, err := os.ReadFile(file)
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = fmt.Errorf("%s holds no certificate in PEM", file)
	}
	if err != nil {
		return cli.Usage(fmt.Errorf("-%s: %w", flag, err))
	}
	return nil
}
