package modelrepo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

func ExampleNew() {
	ctx := context.Background()
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		log.Fatal(err)
	}
	model := modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	version := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	if err := errors.Join(
		repository.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{}),
		repository.CreateModel(ctx, model, modelrepo.ModelUpdate{LatestVersion: "1.0"}),
		repository.CreateVersion(ctx, version, modelrepo.VersionUpdate{}),
	); err != nil {
		log.Fatal(err)
	}
	uploaded, err := repository.Upload(ctx, version, "text/turtle", strings.NewReader("# SOSA\n"),
		&modelrepo.UploadOptions{ContentType: "text/turtle"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(uploaded.Size, uploaded.MD5)

	version.Version = modelrepo.Latest
	content, err := repository.Open(ctx, version, "")
	if err != nil {
		log.Fatal(err)
	}
	defer content.Close()
	if _, err := io.Copy(os.Stdout, content); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 7 dcba427c99402cda235d9f09c94c6552
	// # SOSA
}

func ExampleParsePath() {
	path, err := modelrepo.ParsePath("w3c/sosa/1.0")
	fmt.Println(path.Model, path.Version, err)
	_, err = modelrepo.ParsePath("w3c/../secrets")
	fmt.Println(err)
	// Output:
	// sosa 1.0 <nil>
	// parse path "w3c/../secrets": modelrepo: not valid: a name breaks the rules
}
