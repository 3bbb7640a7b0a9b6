package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/peertest"
)

// contender is a program that is measured.
type contender struct {
	name, how string
	// start starts it over an empty folder.
	start func(ctx context.Context, folder string) (server, error)
}

// server is a contender that runs.
type server interface {
	// proc is what takes the memory and the processor time.
	proc() *rig.Process
	// prepare makes room for that many contents. It is not counted.
	prepare(ctx context.Context, contents int) error
	// upload sends the content of a number.
	upload(ctx context.Context, number int, c content) error
	// download asks for it, and returns the answer.
	download(ctx context.Context, number int, c content) (*http.Response, error)
}

// content is what is uploaded.
type content struct {
	open        func() io.Reader
	size        int64
	sha256, md5 string // hex
}

// contenders builds the programs.
func contenders(ctx context.Context, folder string) ([]contender, error) {
	if err := os.Setenv(peertest.RequirePeers, "1"); err != nil { // so that the peers are built
		return nil, err
	}
	ours, err := rig.Build(ctx, folder, "modelrepo")
	if err != nil {
		return nil, err
	}
	registry, err := peertest.Peer{
		Module: "bench/modelrepo/registry", Package: "github.com/distribution/distribution/v3/cmd/registry", Name: "registry",
	}.Program(ctx)
	if err != nil {
		return nil, err
	}
	minio, err := peertest.Peer{Module: "test/minio", Package: "github.com/minio/minio", Name: "minio"}.Program(ctx)
	if err != nil {
		return nil, err
	}
	return []contender{
		{"modelrepo", "`cmd/modelrepo` over a folder; `POST` of a form; MD5 and SHA-256", startRepository(ours)},
		{"registry", "distribution v3.1.2 over its filesystem driver, default settings; `POST`, then `PUT` of the whole " +
			"blob; SHA-256 alone", startRegistry(registry)},
		{"MinIO", "one drive, default settings; `PUT` to a presigned URL, so without a digest of the body; MD5", startMinIO(minio)},
	}, nil
}

// expect makes a request, reads the answer and refuses a status that is not
// the one.
func expect(client *http.Client, request *http.Request, status int) (*http.Response, error) {
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	_ = answer.Body.Close()
	if err == nil && answer.StatusCode != status {
		err = fmt.Errorf("%s %s: %s: %.300s", request.Method, request.URL.Path, answer.Status, text)
	}
	return answer, err
}

// connections is how many connections a client has at most.
const connections = 32

// newClient returns the client that all contenders get.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections,
		WriteBufferSize: 256 << 10, ReadBufferSize: 256 << 10, DisableCompression: true,
	}}
}
