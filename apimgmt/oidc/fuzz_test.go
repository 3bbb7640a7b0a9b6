package oidc

import (
	"slices"
	"testing"
	"time"
)

// FuzzParseKeys reads key sets. What is read can be used.
func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	f.Add([]byte(
		`{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",` +
			`"y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"sig"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"RSA","n":"AQAB","e":"AQAB"},null,7]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := parseKeys(text)
		if err != nil {
			return
		}
		for _, k := range set.keys {
			if len(k.algorithms) == 0 || k.public == nil {
				t.Fatalf("key without an algorithm: %+v", k)
			}
			for _, algorithm := range k.algorithms {
				if !slices.Contains(algorithms(), algorithm) {
					t.Fatalf("algorithm %q", algorithm)
				}
			}
		}
	})
}

// FuzzParseClaims reads claims. Times that are read can be written.
func FuzzParseClaims(f *testing.F) {
	f.Add([]byte(`{"iss":"i","aud":["a"],"exp":1e9,"iat":1.5,"realm_access":{"roles":["Developer"]},"active":true}`))
	f.Add([]byte(`{"aud":null,"exp":null,"scope":" a  b "}`))
	f.Add([]byte(`{"iss":"a","ISS":"b","iss":"c"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		claims, _, err := parseClaims(text)
		if err != nil {
			return
		}
		if year := claims.Expires.Year(); year > 9999 {
			t.Fatalf("expires in %d", year)
		}
		_ = claims.check(expectation{}, time.Now())
	})
}

// FuzzParseMetadata reads discovery documents.
func FuzzParseMetadata(f *testing.F) {
	f.Add([]byte(
		`{"issuer":"https://idm.example","jwks_uri":"https://idm.example/certs","authorization_response_iss_parameter_supported":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseMetadata(text)
		if err == nil && m.Issuer == "" {
			t.Fatal("no issuer")
		}
	})
}
