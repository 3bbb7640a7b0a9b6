package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// awaitHTTP asks until a request is answered with the status.
func awaitHTTP(ctx context.Context, p *rig.Process, address string, status int) error {
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == status {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return p.Failure(ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// registry is the distribution registry.
type registry struct {
	*rig.Process
	url    string
	client *http.Client
}

func startRegistry(program string) func(context.Context, string) (server, error) {
	return func(ctx context.Context, folder string) (server, error) {
		address, err := rig.FreeAddress()
		if err != nil {
			return nil, err
		}
		config := filepath.Join(folder, "config.yml")
		text := "version: 0.1\nlog:\n  level: error\n  accesslog:\n    disabled: true\n" +
			"storage:\n  filesystem:\n    rootdirectory: " + folder + "/data\n" +
			"http:\n  addr: " + address + "\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return nil, err
		}
		p, err := rig.Start(ctx, folder, nil, program, "serve", config)
		if err != nil {
			return nil, err
		}
		if err := awaitHTTP(ctx, p, "http://"+address+"/v2/", http.StatusOK); err != nil {
			p.End()
			return nil, err
		}
		return &registry{p, "http://" + address, newClient()}, nil
	}
}

func (r *registry) proc() *rig.Process { return r.Process }

func (r *registry) prepare(context.Context, int) error { return nil }

func (r *registry) upload(ctx context.Context, _ int, c content) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v2/bench/model/blobs/uploads/", nil)
	if err != nil {
		return err
	}
	answer, err := expect(r.client, request, http.StatusAccepted)
	if err != nil {
		return err
	}
	target, err := answer.Location()
	if err != nil {
		return err
	}
	query := target.Query()
	query.Set("digest", "sha256:"+c.sha256)
	target.RawQuery = query.Encode()
	request, err = http.NewRequestWithContext(ctx, http.MethodPut, target.String(), c.open())
	if err != nil {
		return err
	}
	request.ContentLength = c.size
	request.Header.Set("Content-Type", "application/octet-stream")
	_, err = expect(r.client, request, http.StatusCreated)
	return err
}

func (r *registry) download(ctx context.Context, _ int, c content) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/v2/bench/model/blobs/sha256:"+c.sha256, nil)
	if err != nil {
		return nil, err
	}
	return r.client.Do(request)
}

// bucket is a bucket of MinIO.
type bucket struct {
	*rig.Process
	signer *minio.Client
	client *http.Client
}

func startMinIO(program string) func(context.Context, string) (server, error) {
	return func(ctx context.Context, folder string) (server, error) {
		const access, secret = "enablers-bench", "not-a-real-secret"
		address, err := rig.FreeAddress()
		if err != nil {
			return nil, err
		}
		console, err := rig.FreeAddress()
		if err != nil {
			return nil, err
		}
		env := []string{
			"MINIO_ROOT_USER=" + access, "MINIO_ROOT_PASSWORD=" + secret,
			"MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME=" + folder,
		}
		p, err := rig.Start(ctx, folder, env,
			program, "server", "--quiet", "--address", address, "--console-address", console, folder+"/data")
		if err != nil {
			return nil, err
		}
		// An unknown user is refused once the server has its drive and its users.
		const unknown = "/bench/?list-type=2&AWSAccessKeyId=unknown&Expires=9999999999&Signature=none"
		err = awaitHTTP(ctx, p, "http://"+address+unknown, http.StatusForbidden)
		var signer *minio.Client
		if err == nil {
			signer, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(access, secret, ""), Region: "us-east-1"})
		}
		if err == nil {
			err = signer.MakeBucket(ctx, "bench", minio.MakeBucketOptions{})
		}
		if err != nil {
			p.End()
			return nil, err
		}
		return &bucket{p, signer, newClient()}, nil
	}
}

func (b *bucket) proc() *rig.Process { return b.Process }

func (b *bucket) prepare(context.Context, int) error { return nil }

func (b *bucket) upload(ctx context.Context, number int, c content) error {
	target, err := b.signer.PresignedPutObject(ctx, "bench", fmt.Sprint(number), time.Hour)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, target.String(), c.open())
	if err != nil {
		return err
	}
	request.ContentLength = c.size
	answer, err := expect(b.client, request, http.StatusOK)
	if err != nil {
		return err
	}
	if etag := strings.Trim(answer.Header.Get("ETag"), `"`); c.md5 != "" && etag != c.md5 {
		return fmt.Errorf("it stored %s, sent was %s", etag, c.md5)
	}
	return nil
}

func (b *bucket) download(ctx context.Context, number int, _ content) (*http.Response, error) {
	target, err := b.signer.PresignedGetObject(ctx, "bench", fmt.Sprint(number), time.Hour, url.Values{})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	return b.client.Do(request)
}
