package modelrepo

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/storage"
)

// ScrubConfig configures the scrub: it reads all content and compares it with its digests,
// so that damage is found before the content is needed. The zero value is the default.
type ScrubConfig struct {
	// Interval is the time from the beginning of one scrub to that of the next one. Zero
	// means 30 days. A negative value means only on request, see [Store.Scrub].
	Interval time.Duration
	// BytesPerSecond bounds how fast content is read by a scrub that was not requested. Zero
	// means 8 MiB.
	BytesPerSecond int64
}

// maxHurt is how many places of damaged content [Store.Integrity] names, and how many damaged
// contents.
const maxHurt = 1000

// Integrity is what is known about the content of a repository.
type Integrity struct {
	// Scrub is the last scrub.
	Scrub Scrub `json:"scrub"`
	// DamagedContents is how many contents are damaged, and Damaged are the first 1000 of them.
	DamagedContents int              `json:"damagedContents"`
	Damaged         []DamagedContent `json:"damaged"`
}

// Scrub is how far a scrub has come.
type Scrub struct {
	// Requested is set if a scrub was requested and has not begun: it begins when a process
	// runs [Store.Run].
	Requested bool `json:"requested"`
	// Running is set from the beginning of a scrub to its end.
	Running bool `json:"running"`
	// Begun and Ended are when the last one began and ended; zero if it has not.
	Begun time.Time `json:"begun,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Contents were compared, with Bytes, and Damaged of them were damaged.
	Contents int64 `json:"contents"`
	Bytes    int64 `json:"bytes"`
	Damaged  int64 `json:"damaged"`
}

// DamagedContent is content whose bytes are missing, or do not have its digest.
type DamagedContent struct {
	// SHA256 is the digest that it should have, and Size its length in bytes.
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Found is when that was found, and Reason what, for the operator.
	Found  time.Time `json:"found"`
	Reason string    `json:"reason"`
	// Versions are the formats of versions that have this content; all results together name
	// at most 1000.
	Versions []Hurt `json:"versions"`
}

// Hurt is a format of a version whose content is damaged.
type Hurt struct {
	// Version is the path of the version.
	Version string `json:"version"`
	// Format is the format tag.
	Format string `json:"format"`
}

func newScrub(s integrity.State) Scrub {
	return Scrub{Requested: s.Requested, Running: s.Running(), Begun: s.Begun, Ended: s.Ended,
		Contents: s.Contents, Bytes: s.Bytes, Damaged: s.Damaged}
}

// Scrub requests that all content is read and compared with its digests, as fast as the
// storage allows. It returns at once: a process that runs [Store.Run] scrubs, this one if it
// does. While a requested scrub runs, a further request changes nothing. [Store.Integrity] has
// the result.
func (s *Store) Scrub(ctx context.Context) (Scrub, error) {
	state, err := s.scrubber.Request(ctx)
	if err != nil {
		return Scrub{}, fmt.Errorf("request a scrub: %w", err)
	}
	return newScrub(state), nil
}

// Integrity returns how far the scrub has come, and what is damaged. If anything is, it reads
// every version, as [Store.Usage] does.
func (s *Store) Integrity(ctx context.Context) (Integrity, error) {
	known, err := s.integrity(ctx)
	if err != nil {
		return Integrity{}, fmt.Errorf("read the integrity of the content: %w", err)
	}
	return known, nil
}

func (s *Store) integrity(ctx context.Context) (Integrity, error) {
	state, err := s.contents.checker.State(ctx)
	if err != nil {
		return Integrity{}, err
	}
	marks, err := s.contents.checker.Marks(ctx)
	if err != nil {
		return Integrity{}, err
	}
	known := Integrity{Scrub: newScrub(state), DamagedContents: len(marks), Damaged: []DamagedContent{}}
	byBlob := map[string]int{}
	for _, m := range marks[:min(len(marks), maxHurt)] {
		byBlob[m.Blob] = len(known.Damaged)
		known.Damaged = append(known.Damaged,
			DamagedContent{SHA256: m.SHA256, Size: m.Size, Found: m.Found, Reason: m.Reason, Versions: []Hurt{}})
	}
	if len(marks) == 0 {
		return known, nil
	}
	select {
	case s.tree.scans <- struct{}{}:
		defer func() { <-s.tree.scans }()
	case <-ctx.Done():
		return Integrity{}, ctx.Err()
	}
	hurt := 0
	for doc, err := range storage.All(ctx, s.tree.docs, versionPrefix) {
		if err != nil {
			return Integrity{}, err
		}
		n, err := peekNode(doc)
		if err != nil {
			return Integrity{}, err
		}
		for _, e := range n.Formats {
			i, found := byBlob[e.Blob]
			if !found || !n.visible() || hurt == maxHurt {
				continue
			}
			hurt++
			known.Damaged[i].Versions = append(known.Damaged[i].Versions, Hurt{strings.TrimPrefix(doc.Key, versionPrefix), e.Format})
		}
	}
	return known, nil
}

// DamagedFormats returns the formats of a version whose content is known to this process to be
// damaged. It reads only the version and what is known of its content. The version's tag may
// be [Latest] or an alias. The error matches [ErrNotFound] if there is no such version.
func (s *Store) DamagedFormats(ctx context.Context, at Path) (map[string]bool, error) {
	_, n, err := s.tree.readVersion(ctx, "read the damaged formats", at)
	if err != nil {
		return nil, err
	}
	formats := map[string]bool{}
	for _, e := range n.Formats {
		if s.contents.checker.IsDamaged(ctx, e.Blob) {
			formats[e.Format] = true
		}
	}
	return formats, nil
}

// contents yields the content of each format of each version.
func (t *tree) contents(ctx context.Context) iter.Seq2[integrity.Content, error] {
	return func(yield func(integrity.Content, error) bool) {
		for doc, err := range storage.All(ctx, t.docs, versionPrefix) {
			var n node
			if err == nil {
				n, err = peekNode(doc)
			}
			if err != nil {
				yield(integrity.Content{}, err)
				return
			}
			for _, e := range n.Formats {
				if !yield(e.content(), nil) {
					return
				}
			}
		}
	}
}
