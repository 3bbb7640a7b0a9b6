package transfer

import (
	"fmt"
	"io"
	"time"
)

// progressInterval is the time between two lines about a transfer that takes long.
const progressInterval = 5 * time.Second

// progress reports how far a transfer is.
type progress struct {
	to    io.Writer
	next  time.Time
	files int
	bytes int64
}

func newProgress(to io.Writer) *progress {
	return &progress{to: to, next: time.Now().Add(progressInterval)}
}

// file counts a file.
func (p *progress) file() { p.files++ }

// add counts bytes, and now and then writes a line.
func (p *progress) add(bytes int64) {
	p.bytes += bytes
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(progressInterval)
		_, _ = fmt.Fprintf(p.to, "%s so far\n", p) // there is no place for the error
	}
}

// String says what has been transferred.
func (p *progress) String() string {
	files := "files"
	if p.files == 1 {
		files = "file"
	}
	return fmt.Sprintf("%d %s, %s", p.files, files, size(p.bytes))
}

// size writes a number of bytes in a unit that fits.
func size(bytes int64) string {
	const step = 1024
	if bytes < step {
		return fmt.Sprintf("%d bytes", bytes)
	}
	value, unit := float64(bytes)/step, "KiB"
	for _, larger := range []string{"MiB", "GiB", "TiB"} {
		if value < step {
			break
		}
		value, unit = value/step, larger
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
