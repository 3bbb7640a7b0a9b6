package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
)

// A replica set over TLS, with credentials.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := mongo.Open(ctx, mongo.Config{
		URI:      "mongodb://db.example:27017/?replicaSet=rs0&tls=true",
		Database: "annotator",
		User:     "annotator",
		Password: "from a secret",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	revision, err := store.Documents().Create(ctx, "channel/1", []byte(`{"stopped":false}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = store.Documents().Update(ctx, "channel/1", revision, []byte(`{"stopped":true}`))
	fmt.Println(err)
}

func ExampleOpen() {
	// Nothing listens there, and Open finds out at once.
	_, err := mongo.Open(context.Background(), mongo.Config{
		URI:           "mongodb://127.0.0.1:1",
		Database:      "annotator",
		SelectTimeout: 100 * time.Millisecond,
	})
	fmt.Println(errors.Is(err, storage.ErrUnavailable))
	// Output: true
}

func ExampleNew() {
	// Nothing listens there, and New does not mind: each call tries anew.
	store, err := mongo.New(mongo.Config{
		URI:           "mongodb://127.0.0.1:1",
		Database:      "annotator",
		SelectTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	_, err = store.Documents().Get(context.Background(), "channel/1")
	fmt.Println(store.Hosts(), errors.Is(err, storage.ErrUnavailable))
	// Output: 127.0.0.1:1 true
}
