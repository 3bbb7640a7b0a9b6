package lease_test

import (
	"context"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

func ExampleAcquire() {
	ctx := context.Background()
	documents := storage.NewMemoryDocuments()
	config := lease.Config{Documents: documents, Key: "server/1", Duration: time.Minute, Value: []byte(`"192.0.2.1:8080"`)}

	held, err := lease.Acquire(ctx, config)
	fmt.Println(err)
	fmt.Println(held.Context().Err()) // work goes on while this is nil

	err = held.Release(ctx)
	fmt.Println(err)
	fmt.Println(context.Cause(held.Context()))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// lease: released
}

func ExampleNewWatcher() {
	ctx := context.Background()
	documents := storage.NewMemoryDocuments()
	config := lease.Config{Documents: documents, Key: "server/1", Duration: time.Minute, Value: []byte(`"192.0.2.1:8080"`)}
	held, _ := lease.Acquire(ctx, config)
	defer held.Release(ctx)

	watcher := lease.NewWatcher(documents, "server/", time.Minute)
	alive, _ := watcher.Look(ctx)
	for _, holder := range alive {
		fmt.Println(holder.Key, string(holder.Value), holder.Session == held.Session())
	}
	// Output: server/1 "192.0.2.1:8080" true
}
