package devidp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

func TestProvider_authorize_redirectsToRegisteredAddressesOnly(t *testing.T) {
	c := Client{BaseURL: "https://portal.example/app/", Redirects: []string{"https://portal.example/exact?x=1", "http://127.0.0.1:3000/*"}}
	for address, want := range map[string]bool{
		"https://portal.example/app": true, "https://portal.example/app/": true, "https://portal.example/app/a/b?c=d": true,
		"https://portal.example/exact?x=1": true, "http://127.0.0.1:3000/": true, "http://127.0.0.1:3000": true,
		"https://portal.example/exact": false, "https://portal.example/exact?x=1&y=2": false, "https://portal.example/apple": false,
		"http://portal.example/app/": false, "https://portal.example:444/app/": false, "https://portal.example.evil.example/app/": false,
		"https://portal.example@evil.example/app/": false, "https://u@portal.example/app/": false, "https://portal.example/app/../x": false,
		"https://portal.example/app/%2e%2e/x": false, "https://portal.example/app/%252e%252e/x": false, "https://portal.example/app/..\\x": false,
		"https://portal.example/app/..;/x": false, "https://portal.example/app/#x": false, "https://portal.example/app/\n": false,
		"//portal.example/app/": false, "javascript:alert(1)": false, "": false, "http://127.0.0.1:3001/": false,
	} {
		require.Equal(t, want, c.returns(address), address)
	}
}

// FuzzReturns looks for an address that leads to another host, or up.
func FuzzReturns(f *testing.F) {
	c := Client{BaseURL: "https://portal.example/app"}
	for _, seed := range []string{"https://portal.example/app/x", "https://portal.example/app/%2e%2e/",
		"https://evil.example\\@portal.example/app/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		const home = "https://portal.example/app"
		if c.returns(address) && (len(address) < len(home) || address[5:len("https://portal.example")] != home[5:len("https://portal.example")]) {
			t.Fatalf("%q", address)
		}
	})
}

// FuzzUnseal looks for refresh tokens and ID tokens that were not issued here.
func FuzzUnseal(f *testing.F) {
	r := &ring{docs: storage.NewMemoryDocuments(), stored: storedRing{ringDocument: ringDocument{Secret: make([]byte, 64)}}}
	good, err := r.seal(claims{Kind: "Refresh"})
	require.NoError(f, err)
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, token string) {
		var c claims
		if r.open(t.Context(), token, &c) == nil {
			t.Fatalf("opened: %q", token)
		}
		if r.unseal(token, &c) == nil && c.Kind != "Refresh" {
			t.Fatalf("unsealed: %q", token)
		}
	})
}
