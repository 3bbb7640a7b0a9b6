package collector

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/internal/access"
)

// keyPair returns a key, its public part in the form of OpenSSH, and in PEM.
func keyPair(t testing.TB, curve elliptic.Curve, name string) (key *ecdsa.PrivateKey, ssh, text string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	point, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	var blob []byte
	for _, part := range [][]byte{[]byte("ecdsa-sha2-" + name), []byte(name), point} {
		blob = append(binary.BigEndian.AppendUint32(blob, uint32(len(part))), part...)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	return key, "ecdsa-sha2-" + name + " " + base64.StdEncoding.EncodeToString(blob),
		string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func TestNodeKeys_admitTheKeysOfTheFile(t *testing.T) {
	first, firstSSH, _ := keyPair(t, elliptic.P256(), "nistp256")
	second, _, secondPEM := keyPair(t, elliptic.P384(), "nistp384")
	third, thirdSSH, _ := keyPair(t, elliptic.P521(), "nistp521")
	other, otherSSH, _ := keyPair(t, elliptic.P384(), "nistp384")
	file := filepath.Join(t.TempDir(), "keys")
	text := "# of the hospitals\n\n" + firstSSH + " hospital-7\r\n" + secondPEM + thirdSSH + " two words\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	keys, err := OpenNodeKeys(t.Context(), file)
	require.NoError(t, err)
	authorize := (&Collector{keys: keys, Access: openToClients}).authorizeNode()
	admit := func(key *ecdsa.PrivateKey) (string, error) {
		return authorize(t.Context(), supernode.Caller{PublicKey: &key.PublicKey})
	}
	name, err := admit(first)
	require.NoError(t, err)
	require.Equal(t, "hospital-7", name)
	for _, key := range []*ecdsa.PrivateKey{second, third} {
		name, err := admit(key)
		require.NoError(t, err)
		require.Regexp(t, "^SHA256:[A-Za-z0-9+/]{43}$", name)
	}
	_, err = admit(other)
	require.ErrorContains(t, err, "not in the collector's file of keys (-fleet-keys)")
	_, err = authorize(t.Context(), supernode.Caller{})
	require.ErrorContains(t, err, "--auth-supernode-private-key")

	require.NoError(t, os.WriteFile(file, []byte(otherSSH+"\n"), 0o600))
	require.NoError(t, keys.Reload(t.Context()))
	_, err = admit(other)
	require.NoError(t, err)
	_, err = admit(first)
	require.Error(t, err, "its key is gone")
	require.NoError(t, os.WriteFile(file, []byte("no key\n"), 0o600))
	require.ErrorContains(t, keys.Reload(t.Context()), "line 1: ")
	_, err = admit(other)
	require.NoError(t, err, "the keys before hold")
}

func TestCollector_authorizeNode_withoutKeys(t *testing.T) {
	require.Nil(t, (&Collector{Access: openToClients}).authorizeNode())
	closed, err := access.New(access.Config{Name: "things", Certificates: true})
	require.NoError(t, err)
	c := &Collector{env: &host.Env{Door: &door.Door{Door: closed}}}
	_, err = c.authorizeNode()(t.Context(), supernode.Caller{})
	require.ErrorContains(t, err, "-fleet-keys")
}

func TestParseNodeKeys_namesTheLineOfAFault(t *testing.T) {
	_, ssh, text := keyPair(t, elliptic.P256(), "nistp256")
	rsa := "-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----\n"
	for file, want := range map[string]string{
		text + "ssh-ed25519 AAAA x\n":                            `line 5: the key is of the kind "ssh-ed25519"`,
		"\n" + ssh + "\n" + ssh[:60] + "\n":                      "line 3: ",
		"ecdsa-sha2-nistp384" + ssh[len("ecdsa-sha2-nistp256"):]: "line 1: the key is not one of the kind",
		"# x\n" + rsa:                    "line 2: the PEM block is a \"RSA PUBLIC KEY\"",
		"-----BEGIN PUBLIC KEY-----\nAA": "line 1: the PEM block is damaged",
		"word":                           "line 1: it is not a key",
	} {
		_, err := parseNodeKeys([]byte(file))
		require.ErrorContains(t, err, want, file)
	}
}

func FuzzParseNodeKeys(f *testing.F) {
	_, ssh, text := keyPair(f, elliptic.P256(), "nistp256")
	f.Add([]byte(ssh + " name\n" + text))
	f.Add([]byte("# x\n\nword word"))
	f.Fuzz(func(t *testing.T, file []byte) {
		names, err := parseNodeKeys(file)
		if err == nil {
			for _, name := range names {
				require.NotEmpty(t, name)
				require.True(t, isPlainName(name))
			}
		}
	})
}

func TestOpenNodeKeys_failsWithoutAFile(t *testing.T) {
	_, err := OpenNodeKeys(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, (&NodeKeys{}).Reload(ctx), context.Canceled)
}
