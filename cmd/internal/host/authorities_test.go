package host_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/cli"
)

func TestAuthorities_readsAFile(t *testing.T) {
	site := httptest.NewTLSServer(http.NotFoundHandler())
	defer site.Close()
	name := filepath.Join(t.TempDir(), "ca.pem")
	var text bytes.Buffer
	require.NoError(t, pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}))
	require.NoError(t, os.WriteFile(name, text.Bytes(), 0o600))

	pool := x509.NewCertPool()
	require.NoError(t, host.Authorities(pool, "site-ca", name))
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	answer, err := client.Get(site.URL)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())

	require.NoError(t, os.WriteFile(name, []byte("nothing"), 0o600))
	err = host.Authorities(pool, "site-ca", name)
	require.ErrorContains(t, err, "-site-ca: "+name+" holds no certificate in PEM")
	require.Equal(t, 2, cli.Status(err))
}
