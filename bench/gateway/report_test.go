package main

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func TestRecord_markdown_hasMediansAndRatiosOfAllRecords(t *testing.T) {
	dir := t.TempDir()
	of := func(name string, round, routes int, rate, cpu float64) *trial {
		return &trial{Contender: name, Round: round, Routes: routes, Connections: 32, Rate: rate, CPU: cpu, P99: 1.5}
	}
	one := &record{Head: rig.Head{Date: "2026-01-31T10:00:00Z", Command: "first"}, Trials: []*trial{
		of("ours", 1, 1, 1000, 20),
		of("ours", 2, 1, 3000, 40),
		of("nginx", 1, 1, 4000, 10),
		of("ours, RS256", 1, 1, 900, 30),
		of("KrakenD's engine, RS256", 1, 1, 300, 120),
	}}
	two := &record{Head: rig.Head{Date: "2026-01-31T11:00:00Z", Command: "second", Problems: []string{"this failed"}}, Trials: []*trial{
		of("ours", 3, 1, 2000, 30),
		of("ours", 1, 1000, 1000, 60),
	}}
	require.NoError(t, one.write(dir))
	require.NoError(t, two.write(dir))
	records, err := filepath.Glob(filepath.Join(dir, "results", "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.NoError(t, rig.Rewrite(records, (*record).add, (*record).markdown))
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"| ours | 2,000 (1,000 to 3,000) | 0.50 | 1.5 | 30.0 |",
		"| with RS256 at least 3 times KrakenD's engine with RS256 | 1 routes, 32 connections | 3.00 times | 0.25 times |",
		"| without tokens at least half of nginx | 1 routes, 32 connections | 0.50 times | 3.00 times |",
		"| as fast with more routes | 1,000 routes beside 1, 32 connections | 0.50 times | 2.00 times |",
		"`first` and `second`", "this failed",
	} {
		require.Contains(t, string(text), want)
	}
	two.Machine = "another"
	require.NoError(t, two.write(dir))
	require.ErrorContains(t, rig.Rewrite(records, (*record).add, (*record).markdown), "is of another machine")
}

func TestTrial_read_takesTheOutputOfWrk(t *testing.T) {
	text := "Running 3s test\n" +
		"  Latency Distribution\n     50%  360.00us\n     99%    2.46ms\n" +
		"  185436 requests in 3.00s, 29.71MB read\nRequests/sec:  61812.00\n"
	got := &trial{}
	requests, err := got.read(text)
	require.NoError(t, err)
	require.Equal(t, 185436.0, requests)
	require.Equal(t, &trial{Rate: 61812, P99: 2.46}, got)
	for _, bad := range []string{
		"",
		text + "  Non-2xx or 3xx responses: 3\n",
		"  Socket errors: connect 0\n" + text,
		strings.Replace(text, "185436", "0", 1),
	} {
		_, err := got.read(bad)
		require.Error(t, err)
	}
}

func TestIssuer_token_isSignedWithThePublishedKey(t *testing.T) {
	i, err := newIssuer()
	require.NoError(t, err)
	defer i.close()
	token, err := i.token()
	require.NoError(t, err)
	at := strings.LastIndexByte(token, '.')
	signature, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	require.NoError(t, err)
	digest := sha256.Sum256([]byte(token[:at]))
	require.NoError(t, rsa.VerifyPKCS1v15(&i.key.PublicKey, crypto.SHA256, digest[:], signature))
}
