package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/s3"
)

// A part of a bucket, with the credentials of the environment.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := s3.Open(ctx, s3.Config{
		Endpoint: "s3.eu-central-1.amazonaws.com",
		Region:   "eu-central-1",
		Bucket:   "models",
		Prefix:   "modelrepo/",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	writer, err := store.Blobs().Create(ctx, "weights/1")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer writer.Abort()
	if _, err := io.WriteString(writer, "0.25 0.75"); err != nil {
		fmt.Println(err)
		return
	}
	info, err := writer.Commit(ctx)
	fmt.Println(info.Size, err)
}

// nowhere is a store on an address where nothing listens.
func nowhere() s3.Config {
	return s3.Config{
		Endpoint: "127.0.0.1:1", Insecure: true, Bucket: "models",
		AccessKey: "key", SecretKey: "from a secret", Attempts: 1,
	}
}

func ExampleOpen() {
	// Nothing listens there, and Open finds out at once.
	_, err := s3.Open(context.Background(), nowhere())
	fmt.Println(errors.Is(err, storage.ErrUnavailable))
	// Output: true
}

func ExampleNew() {
	// Nothing listens there, and New does not mind: each call tries anew.
	store, err := s3.New(nowhere())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	_, err = store.Blobs().Stat(context.Background(), "weights/1")
	fmt.Println(errors.Is(err, storage.ErrUnavailable))
	// Output: true
}

func ExampleParseURL() {
	config, err := s3.ParseURL("s3://key:from%20a%20secret@127.0.0.1:9000/models/modelrepo/?insecure=true")
	fmt.Println(config, config.AccessKey, config.Insecure, err)
	_, err = s3.ParseURL("s3://models")
	fmt.Println(err != nil)
	// Output:
	// s3://127.0.0.1:9000/models/modelrepo/ key true <nil>
	// true
}
