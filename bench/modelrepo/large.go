package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// downloads is how often a large content is downloaded in a trial; the first
// time does not count.
const downloads = 4

// largeTrial is one upload and some downloads of a large content.
type largeTrial struct {
	Contender string    `json:"contender"`
	Round     int       `json:"round"`
	Load      float64   `json:"load"`
	Bytes     int64     `json:"bytes"`
	MD5       float64   `json:"md5MBps"`    // of one core, just before
	SHA256    float64   `json:"sha256MBps"` // likewise
	Upload    float64   `json:"uploadMBps"`
	UploadCPU float64   `json:"uploadCPUs"` // seconds
	Peak      int64     `json:"peak"`       // bytes, after the upload
	Download  []float64 `json:"downloadMBps"`
	DownCPU   float64   `json:"downloadCPUs"` // seconds each
	Sendfile  float64   `json:"sendfile"`     // share of the bytes of a download, negative if not looked at
}

// rate is a speed in MB/s, of 10^6 bytes.
func rate(size int64, took time.Duration) float64 { return float64(size) / 1e6 / took.Seconds() }

// plain hides everything but Read, so that no client has a shorter way for one
// of the contenders.
type plain struct{ io.Reader }

// large measures uploads and downloads of a large content, the contenders in
// turns.
func (b *bench) large(ctx context.Context) error {
	data := make([]byte, b.size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	for round := range b.rounds {
		for i := range b.contenders {
			c := b.contenders[(i+round)%len(b.contenders)]
			trial, err := b.largeTrial(ctx, c, round, data)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round, err)
			}
			b.record.Large = append(b.record.Large, trial)
			fmt.Fprintf(os.Stderr, "large %s: md5 %.0f, up %.0f MB/s (%.1f s CPU), peak %.1f MB, down %.0f, load %.1f\n",
				c.name, trial.MD5, trial.Upload, trial.UploadCPU, float64(trial.Peak)/1e6, trial.Download, trial.Load)
		}
	}
	return nil
}

// fresh starts a contender over an empty folder.
func (b *bench) fresh(ctx context.Context, c contender, contents int) (s server, end func(), err error) {
	folder, err := os.MkdirTemp(b.folder, "data-")
	if err != nil {
		return nil, nil, err
	}
	s, err = c.start(ctx, folder)
	if err == nil {
		err = s.prepare(ctx, contents)
	}
	if err != nil {
		if s != nil {
			s.proc().End()
		}
		return nil, nil, err
	}
	// A contender does not write back what the one before it has left.
	err = exec.CommandContext(ctx, "sync").Run()
	return s, func() { s.proc().End(); _ = os.RemoveAll(folder) }, err
}

func (b *bench) largeTrial(ctx context.Context, c contender, round int, data []byte) (*largeTrial, error) {
	s, end, err := b.fresh(ctx, c, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	// New bytes each time, since a store that has them would have less to do.
	binary.LittleEndian.PutUint64(data, rand.Uint64())
	trial := &largeTrial{Contender: c.name, Round: round, Bytes: b.size, Sendfile: -1}
	one := content{size: b.size, open: func() io.Reader { return plain{bytes.NewReader(data)} }}
	rig.AwaitCalm(ctx, b.calm)
	one.md5, trial.MD5 = digest(md5.New(), data)
	one.sha256, trial.SHA256 = digest(sha256.New(), data)
	trial.Load = rig.LoadAverage()

	cpu, began := s.proc().CPU(), time.Now()
	if err := s.upload(ctx, 0, one); err != nil {
		return nil, err
	}
	trial.Upload = rate(b.size, time.Since(began))
	trial.UploadCPU, trial.Peak = (s.proc().CPU() - cpu).Seconds(), s.proc().Peak()

	for i := range downloads {
		if i == 1 {
			cpu = s.proc().CPU()
		}
		began := time.Now()
		if err := receive(ctx, s, one, io.Discard); err != nil {
			return nil, err
		}
		if i > 0 {
			trial.Download = append(trial.Download, rate(b.size, time.Since(began)))
		}
	}
	trial.DownCPU = (s.proc().CPU() - cpu).Seconds() / (downloads - 1)
	if round == 0 {
		if trial.Sendfile, err = sendfileShare(ctx, s, one, filepath.Join(b.folder, "strace")); err != nil {
			b.record.Problems = append(b.record.Problems, fmt.Sprintf("sendfile of %s: %v", c.name, err))
		}
	}
	return trial, nil
}

// digest returns a digest in hex, and how fast one core makes it in MB/s.
func digest(h hash.Hash, data []byte) (string, float64) {
	began := time.Now()
	_, _ = h.Write(data) // hashes never fail
	return hex.EncodeToString(h.Sum(nil)), rate(int64(len(data)), time.Since(began))
}

// receive downloads a content and checks its length, and its digest too unless
// the bytes are discarded.
func receive(ctx context.Context, s server, c content, to io.Writer) error {
	answer, err := s.download(ctx, 0, c)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("download: %s", answer.Status)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, answer.Body, make([]byte, 1<<20))
	if err == nil && n != c.size {
		err = fmt.Errorf("download: %d bytes of %d", n, c.size)
	}
	if sum, ok := to.(hash.Hash); ok && err == nil && hex.EncodeToString(sum.Sum(nil)) != c.sha256 {
		err = fmt.Errorf("download: other bytes than were uploaded")
	}
	return err
}
