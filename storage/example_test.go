package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

func Example() {
	ctx := context.Background()
	documents, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs() // or those of packages disk, mongo and s3
	first, err := documents.Create(ctx, "job/7", []byte(`{"round":1}`))
	if err != nil {
		log.Fatal(err)
	}
	_, err = documents.Update(ctx, "job/7", first, []byte(`{"round":2}`))
	_, late := documents.Update(ctx, "job/7", first, []byte(`{"round":3}`)) // the document is at another revision
	fmt.Println(err, errors.Is(late, storage.ErrConflict))

	model, err := blobs.Create(ctx, "model/7")
	if err != nil {
		log.Fatal(err)
	}
	defer model.Abort()
	fmt.Fprint(model, "any number of bytes")
	info, err := model.Commit(ctx) // visible from here on
	fmt.Println(info.Key, info.Size, err)
	// Output:
	// <nil> true
	// model/7 19 <nil>
}

func ExampleNewMemoryDocuments() {
	ctx := context.Background()
	docs := storage.NewMemoryDocuments()

	first, _ := docs.Create(ctx, "channel/1", []byte(`{"stopped":true}`))
	_, _ = docs.Update(ctx, "channel/1", first, []byte(`{"stopped":false}`))

	_, err := docs.Update(ctx, "channel/1", first, []byte(`{"stopped":true}`))
	fmt.Println(err)
	fmt.Println(errors.Is(err, storage.ErrConflict))

	doc, _ := docs.Get(ctx, "channel/1")
	fmt.Println(string(doc.Data))
	// Output:
	// update document "channel/1": storage: revision conflict
	// true
	// {"stopped":false}
}

func ExampleNewMemoryBlobs() {
	ctx := context.Background()
	blobs := storage.NewMemoryBlobs()

	writer, _ := blobs.Create(ctx, "weights")
	defer writer.Abort()
	_, _ = io.Copy(writer, strings.NewReader("hello world"))
	info, _ := writer.Commit(ctx)
	fmt.Println(info.Size, info.MD5)

	reader, _ := blobs.Open(ctx, "weights")
	defer reader.Close()
	_, _ = reader.Seek(6, io.SeekStart)
	rest, _ := io.ReadAll(reader)
	fmt.Println(string(rest))
	// Output:
	// 11 5eb63bbbe01eeed093cb22bb8f5acdc3
	// world
}

func ExamplePrefixed() {
	ctx := context.Background()
	shared := storage.NewMemoryDocuments()
	channels := storage.Prefixed(shared, "channels/")

	_, _ = channels.Create(ctx, "1", []byte(`{}`))
	doc, _ := shared.Get(ctx, "channels/1")
	fmt.Println(doc.Key)
	// Output: channels/1
}

func ExamplePrefixedBlobs() {
	ctx := context.Background()
	shared := storage.NewMemoryBlobs()
	models := storage.PrefixedBlobs(shared, "models/")

	writer, _ := models.Create(ctx, "sosa")
	defer writer.Abort()
	_, _ = writer.Commit(ctx)
	for info, err := range shared.List(ctx, "") {
		fmt.Println(info.Key, err)
	}
	// Output: models/sosa <nil>
}

func ExampleAll() {
	ctx := context.Background()
	docs := storage.NewMemoryDocuments()
	for _, key := range []string{"b", "a/2", "a/10", "a/1"} {
		_, _ = docs.Create(ctx, key, []byte(`{}`))
	}
	for doc, err := range storage.All(ctx, docs, "a/") {
		fmt.Println(doc.Key, err)
	}
	// Output:
	// a/1 <nil>
	// a/10 <nil>
	// a/2 <nil>
}

func ExampleChange() {
	ctx := context.Background()
	docs := storage.NewMemoryDocuments()
	count := func(found storage.Document) ([]byte, error) {
		if found.Revision == 0 {
			return []byte(`1`), nil
		}
		n, err := strconv.Atoi(string(found.Data))
		return []byte(strconv.Itoa(n + 1)), err
	}
	for range 3 {
		if _, err := storage.Change(ctx, docs, "visits", count); err != nil {
			log.Fatal(err)
		}
	}
	doc, err := docs.Get(ctx, "visits")
	fmt.Println(string(doc.Data), err)
	// Output: 3 <nil>
}

func ExampleRemove() {
	ctx := context.Background()
	docs := storage.NewMemoryDocuments()
	_, _ = docs.Create(ctx, "job/7", []byte(`"running"`))
	ended := func(found storage.Document) (bool, error) { return string(found.Data) == `"ended"`, nil }

	fmt.Println(storage.Remove(ctx, docs, "job/7", ended)) // it stays
	_, _ = storage.Change(ctx, docs, "job/7", func(storage.Document) ([]byte, error) { return []byte(`"ended"`), nil })
	fmt.Println(storage.Remove(ctx, docs, "job/7", ended))
	fmt.Println(errors.Is(storage.Remove(ctx, docs, "job/7", ended), storage.ErrNotFound))
	// Output:
	// <nil>
	// <nil>
	// true
}

func ExampleValidKey() {
	fmt.Println(storage.ValidKey("w3c/sosa/1.0"))
	fmt.Println(storage.ValidKey("two\nlines"))
	// Output:
	// <nil>
	// storage: invalid key: byte 3 begins the control character U+000A
}
