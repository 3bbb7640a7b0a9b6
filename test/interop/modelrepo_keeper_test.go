package interop_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/iotenablers/enablers/modelrepo"
	modelclient "github.com/iotenablers/enablers/modelrepo/client"
)

// sizes are those of the contents that keepers upload: nothing, about the
// buffers of the server, and enough to be killed in the middle.
var sizes = []int{0, 1, 4096, 65_537, 256 << 10, 700_001, 2 << 20, 5 << 20}

// contents are few, so that versions share them and they come and go.
type contents struct {
	data   [][]byte
	sha256 []string
	md5    []string
}

func makeContents(seed uint64) *contents {
	c := &contents{}
	for i, size := range slices.Concat(sizes, sizes[2:]) {
		data := make([]byte, size)
		key := [32]byte{byte(i), byte(seed), byte(seed >> 8)}
		_, _ = rand.NewChaCha8(key).Read(data)
		sum, old := sha256.Sum256(data), md5.Sum(data)
		c.data = append(c.data, data)
		c.sha256 = append(c.sha256, hex.EncodeToString(sum[:]))
		c.md5 = append(c.md5, hex.EncodeToString(old[:]))
	}
	return c
}

// shelf is the versions of one model, and which content each has in which
// format.
type shelf map[string]map[string]int

func (s shelf) clone() shelf {
	all := shelf{}
	for version, formats := range s {
		all[version] = maps.Clone(formats)
	}
	return all
}

// deed is one request of a keeper.
type deed struct {
	kind  string
	do    func(context.Context, *modelclient.Client) error
	after shelf
}

// keeper changes a model of its own, one request after the other, and keeps what was
// acknowledged. A request in progress when the server is killed may have happened or
// not, so either of two states may be found.
type keeper struct {
	model     modelrepo.Path
	contents  *contents
	known     shelf
	perhaps   shelf  // nil when nothing was under way
	underWay  string // the kind of what was
	confirmed int    // requests
}

// next chooses a request.
func (k *keeper) next(random *rand.Rand) deed {
	after := k.known.clone()
	at := k.model
	at.Version = fmt.Sprintf("v%d", random.IntN(3))
	formats, there := after[at.Version]
	format := fmt.Sprintf("f%d", random.IntN(3))
	_, filled := formats[format]
	switch chance := random.IntN(10); {
	case !there:
		after[at.Version] = map[string]int{}
		return deed{"create", func(ctx context.Context, c *modelclient.Client) error {
			return c.CreateVersion(ctx, at, modelrepo.VersionUpdate{})
		}, after}
	case chance < 2 && len(formats) == 0:
		delete(after, at.Version)
		return deed{"delete version",
			func(ctx context.Context, c *modelclient.Client) error { return c.DeleteVersion(ctx, at) }, after}
	case chance < 4 && filled:
		delete(formats, format)
		return deed{"delete", func(ctx context.Context, c *modelclient.Client) error {
			return c.DeleteContent(ctx, at, format, modelrepo.Condition{})
		}, after}
	}
	number := random.IntN(len(k.contents.data))
	formats[format] = number
	kind := "upload"
	if filled {
		kind = "overwrite"
	}
	return deed{kind, func(ctx context.Context, c *modelclient.Client) error {
		done, err := c.Upload(ctx, at, format, bytes.NewReader(k.contents.data[number]),
			&modelrepo.UploadOptions{Overwrite: true})
		if err == nil && done.MD5 != k.contents.md5[number] {
			return fmt.Errorf("the server confirmed the MD5 digest %q of content %d", done.MD5, number)
		}
		return err
	}, after}
}

// work makes requests until one is not answered, or is answered wrongly. It calls answered
// after each one that is.
func (k *keeper) work(ctx context.Context, client *modelclient.Client, random *rand.Rand, answered func()) error {
	for {
		deed := k.next(random)
		err := deed.do(ctx, client)
		var refusal *modelrepo.Error
		switch {
		case err == nil:
			k.known, k.confirmed = deed.after, k.confirmed+1
		case errors.Is(err, modelrepo.ErrExpired): // on a machine that is too busy
		case errors.As(err, &refusal):
			return fmt.Errorf("%s in %v: %w", deed.kind, k.known, err)
		default: // the connection broke
			k.perhaps, k.underWay = deed.after, deed.kind
			return nil
		}
		answered()
	}
}

// settle takes what is found for what is known, if it may be.
func (k *keeper) settle(found shelf) error {
	matches := func(want shelf) bool {
		return want != nil && maps.EqualFunc(want, found, maps.Equal[map[string]int, map[string]int])
	}
	if !matches(k.known) && !matches(k.perhaps) {
		return fmt.Errorf("%v: found %v, acknowledged was %v, under way was %q, which would make %v",
			k.model, found, k.known, k.underWay, k.perhaps)
	}
	k.known, k.perhaps, k.underWay = found, nil, ""
	return nil
}
