package modelrepo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

func Example() {
	ctx := context.Background()
	repository, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	if err != nil {
		log.Fatal(err)
	}
	sosa := modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
	err = errors.Join(
		repository.CreateNamespace(ctx, "w3c", modelrepo.NamespaceUpdate{}),
		repository.CreateModel(ctx, modelrepo.Path{Namespace: "w3c", Model: "sosa"}, modelrepo.ModelUpdate{LatestVersion: "1.0"}),
		repository.CreateVersion(ctx, sosa, modelrepo.VersionUpdate{}),
	)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := repository.Upload(ctx, sosa, "text/turtle", strings.NewReader("# SOSA\n"), nil); err != nil {
		log.Fatal(err)
	}
	sosa.Version = modelrepo.Latest
	content, err := repository.Open(ctx, sosa, "text/turtle")
	if err != nil {
		log.Fatal(err)
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	fmt.Printf("%s%s %v\n", text, content.MD5, err)
	// Output:
	// # SOSA
	// dcba427c99402cda235d9f09c94c6552 <nil>
}

func ExampleParsePath() {
	path, err := modelrepo.ParsePath("w3c/sosa/1.0")
	fmt.Println(path.Model, path.Version, err)
	fmt.Println(path.Kind(), path.Name(), "of", path.Parent().Kind(), path.Parent())
	_, err = modelrepo.ParsePath("w3c/../secrets")
	fmt.Println(err)
	// Output:
	// sosa 1.0 <nil>
	// model version 1.0 of model w3c/sosa
	// parse path "w3c/../secrets": modelrepo: not valid: a name breaks the rules
}
