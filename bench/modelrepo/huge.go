package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"time"
)

// hugeTrial is one content larger than what 32 bits count, from a generator.
type hugeTrial struct {
	Bytes  int64   `json:"bytes"`
	Upload float64 `json:"uploadMBps"` // with the generator and its digest
	Peak   int64   `json:"peak"`
}

// generator makes content that does not repeat itself, and its digest.
type generator struct {
	left  int64
	block []byte
	rest  []byte
	count uint64
	sum   hash.Hash
}

func newGenerator(size int64) *generator {
	g := &generator{left: size, block: make([]byte, 1<<20), sum: sha256.New()}
	_, _ = rand.NewChaCha8([32]byte{2}).Read(g.block)
	return g
}

// Read implements [io.Reader].
func (g *generator) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, io.EOF
	}
	if len(g.rest) == 0 {
		g.count++
		binary.LittleEndian.PutUint64(g.block, g.count)
		g.rest = g.block[:min(int64(len(g.block)), g.left)]
	}
	n := copy(p, g.rest)
	g.rest, g.left = g.rest[n:], g.left-int64(n)
	g.sum.Write(p[:n]) // hashes never fail
	return n, nil
}

// huge uploads a huge content to the repository, and reads it back whole and
// at both sides of its end.
func (b *bench) huge(ctx context.Context) error {
	s, end, err := b.fresh(ctx, b.contenders[0], 1)
	if err != nil {
		return err
	}
	defer end()
	from := newGenerator(b.hugeSize)
	one := content{size: from.left, open: func() io.Reader { return from }}
	began := time.Now()
	if err := s.upload(ctx, 0, one); err != nil {
		return err
	}
	trial := &hugeTrial{Bytes: one.size, Upload: rate(one.size, time.Since(began)), Peak: s.proc().Peak()}
	one.sha256 = hex.EncodeToString(from.sum.Sum(nil))
	if err := receive(ctx, s, one, sha256.New()); err != nil {
		return err
	}
	r := s.(*repository)
	for given, status := range map[string]int{
		fmt.Sprintf("bytes=%d-", one.size-1): http.StatusPartialContent,
		fmt.Sprintf("bytes=%d-", one.size):   http.StatusRequestedRangeNotSatisfiable,
	} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/bench/model/0/content", nil)
		if err != nil {
			return err
		}
		request.Header.Set("Range", given)
		if _, err := expect(r.client, request, status); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "huge: %.0f MB/s, peak %.1f MB\n", trial.Upload, float64(trial.Peak)/1e6)
	b.record.Huge = trial
	return nil
}
