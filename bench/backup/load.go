package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
)

const (
	workers = 64
	format  = "text"
	filler  = 4 << 10 // bytes of a content, at most
)

func transport() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
}

// state is what was acknowledged of one model: the number in its metadata, and that in
// its content. Each write has a greater number than the one before. Content whose last
// write was its deletion is in gone.
type state struct {
	metadata, content int64
}

// model is one model that a single worker writes.
type model struct {
	mu     sync.Mutex
	last   state
	gone   map[int64]bool // numbers of deletions of the content
	exists bool           // the content
}

// load writes models at a rate.
type load struct {
	settings
	client *client.Client
	models []*model

	mu      sync.Mutex
	samples []float64 // milliseconds from when a write was due to its acknowledgement
}

func at(i int) modelrepo.Path {
	return modelrepo.Path{Namespace: "load", Model: fmt.Sprintf("model-%d", i), Version: "1"}
}

// newLoad makes the models and the ballast.
func newLoad(ctx context.Context, c *client.Client, s settings) (*load, error) {
	l := &load{settings: s, client: c}
	for range s.models {
		l.models = append(l.models, &model{gone: map[int64]bool{0: true}})
	}
	if err := c.CreateNamespace(ctx, "load", modelrepo.NamespaceUpdate{}); err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	create := func(path modelrepo.Path) error {
		err := c.CreateModel(ctx, modelrepo.Path{Namespace: path.Namespace, Model: path.Model}, modelrepo.ModelUpdate{})
		if err == nil {
			err = c.CreateVersion(ctx, path, modelrepo.VersionUpdate{})
		}
		return err
	}
	for i := range s.models {
		group.Go(func() error { return create(at(i)) })
	}
	const each = 16
	for i := range s.ballast / each {
		group.Go(func() error {
			path := modelrepo.Path{Namespace: "load", Model: fmt.Sprintf("ballast-%d", i), Version: "1"}
			if err := create(path); err != nil {
				return err
			}
			_, err := c.Upload(ctx, path, format, io.LimitReader(rand.Reader, each<<20), nil)
			return err
		})
	}
	return l, group.Wait()
}

// begin starts the workers. The function that it returns stops them.
func (l *load) begin(ctx context.Context) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for w := range workers {
		group.Go(func() error {
			for i := w; ; i += workers {
				due := began.Add(time.Duration(i) * time.Second / time.Duration(l.rate))
				if pause(ctx, time.Until(due)) != nil {
					return nil
				}
				// A worker has the models whose number leaves its own when divided.
				own := (len(l.models) - w + workers - 1) / workers
				if err := l.write(w+workers*((i/workers)%own), i); err != nil {
					return err
				}
				l.mu.Lock()
				l.samples = append(l.samples, float64(time.Since(due))/float64(time.Millisecond))
				l.mu.Unlock()
			}
		})
	}
	return func() error {
		cancel()
		return group.Wait()
	}
}

// write writes one model: of nineteen writes fifteen change metadata, three replace
// content and one deletes it, at any time and over the time of each model.
func (l *load) write(number, turn int) error {
	m, path := l.models[number], at(number)
	ctx := context.Background() // what has begun is ended
	switch kind := (turn/workers + turn%workers) % 19; {
	case kind < 15:
		n := m.last.metadata + 1
		_, err := l.client.UpdateModel(ctx, modelrepo.Path{Namespace: path.Namespace, Model: path.Model},
			modelrepo.ModelUpdate{Metadata: modelrepo.Metadata{"n": {strconv.FormatInt(n, 10)}}})
		if err != nil {
			return err
		}
		m.acknowledge(func() { m.last.metadata = n })
	case kind < 18 || !m.exists:
		n := m.last.content + 1
		content := fmt.Sprintf("%d %s", n, strings.Repeat("x", int(n*997)%filler))
		if _, err := l.client.Upload(ctx, path, format, strings.NewReader(content), &modelrepo.UploadOptions{Overwrite: true}); err != nil {
			return err
		}
		m.acknowledge(func() { m.last.content, m.exists = n, true })
	default:
		n := m.last.content + 1
		m.acknowledge(func() { m.gone[n] = true }) // before: it may be in the backup unacknowledged
		if err := l.client.DeleteContent(ctx, path, format, modelrepo.Condition{}); err != nil {
			return err
		}
		m.acknowledge(func() { m.last.content, m.exists = n, false })
	}
	return nil
}

func (m *model) acknowledge(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// acknowledged returns what has been acknowledged of every model.
func (l *load) acknowledged() []state {
	all := make([]state, len(l.models))
	for i, m := range l.models {
		m.acknowledge(func() { all[i] = m.last })
	}
	return all
}

// figures are the writes of a while.
type figures struct {
	rate    float64   // a second
	samples []float64 // milliseconds
}

func (f figures) at(share float64) float64 { return rig.Quantile(f.samples, share) }

// during returns the writes that were acknowledged while something ran.
func (l *load) during(something func() error) (figures, error) {
	l.mu.Lock()
	l.samples = nil
	l.mu.Unlock()
	began := time.Now()
	err := something()
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	return figures{float64(len(l.samples)) / took.Seconds(), slices.Clone(l.samples)}, err
}

// compare reads all models and returns how many registers it has compared, and how many
// do not have what was acknowledged before, or something later.
func (l *load) compare(ctx context.Context, c *client.Client, before []state) (checked, lost int, err error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i, m := range l.models {
		group.Go(func() error {
			path := at(i)
			found, err := c.Model(ctx, modelrepo.Path{Namespace: path.Namespace, Model: path.Model}, nil)
			if err != nil {
				return err
			}
			metadata := int64(0)
			if values := found.Metadata["n"]; len(values) == 1 {
				if metadata, err = strconv.ParseInt(values[0], 10, 64); err != nil {
					return err
				}
			}
			content, there, err := read(ctx, c, path)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			checked += 2
			if metadata < before[i].metadata {
				lost++
			}
			if (there && content < before[i].content) || (!there && !m.goneSince(before[i].content)) {
				lost++
			}
			return nil
		})
	}
	err = group.Wait()
	return checked, lost, err
}

// goneSince reports whether the content was deleted by that write or a later one.
func (m *model) goneSince(number int64) bool {
	for n := range m.gone {
		if n >= number {
			return true
		}
	}
	return false
}

// read reads the content of a model to its end, and returns the number in it.
func read(ctx context.Context, c *client.Client, path modelrepo.Path) (number int64, there bool, err error) {
	content, err := c.Open(ctx, path, format)
	if errors.Is(err, modelrepo.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	data, err := io.ReadAll(content)
	if err != nil {
		return 0, false, err
	}
	first, rest, _ := bytes.Cut(data, []byte(" "))
	number, err = strconv.ParseInt(string(first), 10, 64)
	if err == nil && len(rest) != int(number*997)%filler {
		err = fmt.Errorf("content %d has %d bytes", number, len(rest))
	}
	return number, true, err
}
