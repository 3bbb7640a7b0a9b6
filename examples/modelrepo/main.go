// Command modelrepo shows the model repository inside a program: everything in
// memory, served over HTTP, with a client that publishes a model and fetches it
// again. With disk.Open in place of the stores in memory it lasts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/client"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

func main() {
	ctx := context.Background()
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(), // or those of disk.Open or mongo.Open
		Blobs:     storage.NewMemoryBlobs(),     // or those of s3.Open
	})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(rest.NewHandler(repository, nil)) // or your own http.Server
	defer server.Close()

	client, err := client.New(server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := publish(ctx, client); err != nil {
		log.Fatal(err)
	}
	if err := fetch(ctx, client); err != nil {
		log.Fatal(err)
	}
}

// publish uploads a version and makes it the latest one.
func publish(ctx context.Context, client *client.Client) error {
	model := modelrepo.Path{Namespace: "weather", Model: "forecast"}
	version := modelrepo.Path{Namespace: "weather", Model: "forecast", Version: "1.0"}
	if err := errors.Join(
		client.CreateNamespace(ctx, version.Namespace, modelrepo.NamespaceUpdate{}),
		client.CreateModel(ctx, model, modelrepo.ModelUpdate{LatestVersion: version.Version}),
		client.CreateVersion(ctx, version, modelrepo.VersionUpdate{}),
	); err != nil {
		return err
	}
	weights := strings.NewReader("0.25 0.50 0.25\n")
	done, err := client.Upload(ctx, version, "text/plain", weights, &modelrepo.UploadOptions{ContentType: "text/plain"})
	if err != nil {
		return err
	}
	fmt.Println("published", version, "of", done.Size, "bytes, MD5", done.MD5)

	_, err = client.Upload(ctx, version, "text/plain", strings.NewReader("other"), nil)
	fmt.Println("published again:", errors.Is(err, modelrepo.ErrContentExists))
	return nil
}

// fetch downloads the latest version in its default format.
func fetch(ctx context.Context, client *client.Client) error {
	content, err := client.Open(ctx, modelrepo.Path{Namespace: "weather", Model: "forecast", Version: modelrepo.Latest}, "")
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	fmt.Println("fetched", content.ContentType)
	_, err = io.Copy(os.Stdout, content)
	return err
}
