package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// repository is our server.
type repository struct {
	*rig.Process
	url    string
	client *http.Client
}

func startRepository(program string) func(context.Context, string) (server, error) {
	return func(ctx context.Context, folder string) (server, error) {
		p, err := rig.Start(ctx, folder, nil, program, "-listen", "127.0.0.1:0", "-data", folder+"/data")
		if err != nil {
			return nil, err
		}
		url, err := p.Await(ctx, "listening on ")
		if err != nil {
			p.End()
			return nil, err
		}
		return &repository{p, url, newClient()}, nil
	}
}

func (r *repository) proc() *rig.Process { return r.Process }

// post creates something.
func (r *repository) post(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path, nil)
	if err != nil {
		return err
	}
	_, err = expect(r.client, request, http.StatusOK)
	return err
}

// prepare creates one version for each content.
func (r *repository) prepare(ctx context.Context, contents int) error {
	for _, path := range []string{"/bench", "/bench/model"} {
		if err := r.post(ctx, path); err != nil {
			return err
		}
	}
	return r.many(ctx, contents, func(i int) error { return r.post(ctx, fmt.Sprintf("/bench/model/%d", i)) })
}

// many does something for all numbers below n, over all connections.
func (r *repository) many(ctx context.Context, n int, do func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(connections)
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(i)
		})
	}
	return group.Wait()
}

func (r *repository) upload(ctx context.Context, number int, c content) error {
	const head = "--boundary\r\nContent-Disposition: form-data; name=\"content\"\r\nContent-Type: application/octet-stream\r\n\r\n"
	const tail = "\r\n--boundary--\r\n"
	body := io.MultiReader(strings.NewReader(head), c.open(), bytes.NewReader([]byte(tail)))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/bench/model/%d/content?format=f", r.url, number), body)
	if err != nil {
		return err
	}
	request.ContentLength = c.size + int64(len(head)+len(tail))
	request.Header.Set("Content-Type", "multipart/form-data; boundary=boundary")
	answer, err := expect(r.client, request, http.StatusOK)
	if err != nil {
		return err
	}
	if etag := answer.Header.Get("ETag"); c.sha256 != "" && etag != `"`+c.sha256+`"` {
		return fmt.Errorf("it stored %s, sent was %s", etag, c.sha256)
	}
	return nil
}

func (r *repository) download(ctx context.Context, number int, _ content) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/bench/model/%d/content?format=f", r.url, number), nil)
	if err != nil {
		return nil, err
	}
	return r.client.Do(request)
}
