package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"time"
)

// issuer signs tokens, and tells its keys.
type issuer struct {
	url    string
	key    *rsa.PrivateKey
	server *http.Server
	done   chan error
}

func newIssuer() (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &issuer{url: "http://" + listener.Addr().String(), key: key, done: make(chan error, 1)}
	answer := func(value any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(value)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", answer(map[string]string{
		"issuer": i.url, "jwks_uri": i.url + "/certs", "authorization_endpoint": i.url + "/auth", "token_endpoint": i.url + "/token"}))
	mux.HandleFunc("/certs", answer(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "k", "use": "sig", "alg": "RS256", "n": encoded(key.N.Bytes()), "e": encoded(big.NewInt(int64(key.E)).Bytes())}}}))
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { i.done <- i.server.Serve(listener) }()
	return i, nil
}

func (i *issuer) close() {
	_ = i.server.Close()
	<-i.done
}

func (i *issuer) discovery() string { return i.url + "/.well-known/openid-configuration" }

// token signs a token as Keycloak makes them, good for hours.
func (i *issuer) token() (string, error) {
	claims, err := json.Marshal(map[string]any{
		"iss": i.url, "sub": "6b0fdb2e-3f5c-4d43-9d1f-0f8e7c9f5f21", "preferred_username": "demodeveloper",
		"aud": "account", "azp": "public-frontend", "typ": "Bearer",
		"iat": time.Now().Unix(), "exp": time.Now().Add(6 * time.Hour).Unix(), "jti": "2f1a", "scope": "openid profile email",
		"realm_access": map[string]any{"roles": []string{"Developer", "Open-Caller"}},
	})
	if err != nil {
		return "", err
	}
	text := encoded([]byte(`{"alg":"RS256","typ":"JWT","kid":"k"}`)) + "." + encoded(claims)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, digest[:])
	return text + "." + encoded(signature), err
}

func encoded(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
