package modelrepo_test

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
		repository.CreateNamespace(ctx, "w3c"),
		repository.CreateModel(ctx, model, modelrepo.ModelUpdate{LatestVersion: "1.0"}),
		repository.CreateVersion(ctx, version, modelrepo.VersionUpdate{}),
	); err != nil {
		log.Fatal(err)
	}
	uploaded, err := repository.Upload(ctx, version, "text/turtle", strings.NewReader("# SOSA\n"), &modelrepo.UploadOptions{ContentType: "text/turtle"})
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

func ExampleNewClient() {
	repository, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(repository.Handler(nil))
	defer server.Close()

	ctx := context.Background()
	client, err := modelrepo.NewClient(server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.CreateNamespace(ctx, "w3c"))
	err = client.CreateNamespace(ctx, "w3c")
	fmt.Println(errors.Is(err, modelrepo.ErrExists))
	// Output:
	// <nil>
	// true
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

func ExampleParseDigests() {
	digests, err := modelrepo.ParseDigests("", "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
	fmt.Printf("%x %v\n", digests.SHA256[:4], err)
	_, err = modelrepo.ParseDigests("", "crc32=:AAAAAA==:")
	fmt.Println(err)
	// Output:
	// 5f8f04f6 <nil>
	// parse Repr-Digest "crc32=:AAAAAA==:": modelrepo: not valid: none of its algorithms is known; use sha-256, sha-512 or md5
}

func ExampleParseChecksum() {
	checksum, err := modelrepo.ParseChecksum("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=")
	fmt.Println(checksum.Algorithm, len(checksum.Sum), err)
	_, err = modelrepo.ParseChecksum("crc32 AAAAAA==")
	fmt.Println(err)
	// Output:
	// sha1 20 <nil>
	// parse Upload-Checksum "crc32 AAAAAA==": modelrepo: not valid: the algorithm is not one of sha1,sha256,sha512,md5
}
