//go:build !no_s3

package drivers

import (
	"context"

	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/s3"
)

// s3Driver opens buckets of S3, which have no documents.
func s3Driver() stores.Driver {
	return stores.Driver{Schemes: []string{"s3"}, Form: s3Form, BlobsOnly: true, Open: openS3}
}

// openS3 opens a bucket, or a part of one. If the URL asks for it, the bucket is created
// once the server answers.
func openS3(_ context.Context, s *stores.Stores, where string) (storage.Documents, storage.Blobs, error) {
	config, err := s3.ParseURL(where)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	config.Logger = s.Logger()
	store, err := s3.New(config)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	ping := store.Ping
	if config.CreateBucket {
		ping = func(ctx context.Context) error { return createBucket(ctx, config) }
	}
	s.Closing(store.Close)
	s.Pinging(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.Timeout())
		defer cancel()
		return ping(ctx)
	})
	return nil, store.Blobs(), nil
}

// createBucket creates the bucket unless it exists.
func createBucket(ctx context.Context, config s3.Config) error {
	config.SweepInterval = -1
	store, err := s3.Open(ctx, config)
	if err != nil {
		return err
	}
	return store.Close()
}
