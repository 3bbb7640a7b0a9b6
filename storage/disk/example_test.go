package disk_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/iotenablers/enablers/storage/disk"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	store, err := disk.Open(ctx, dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = store.Documents().Create(ctx, "channel/1", []byte(`{"stopped":false}`))
	writer, _ := store.Blobs().Create(ctx, "weights")
	defer writer.Abort()
	_, _ = io.WriteString(writer, "0.25 0.75")
	_, _ = writer.Commit(ctx)
	_ = store.Close()

	store, err = disk.Open(ctx, dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	doc, _ := store.Documents().Get(ctx, "channel/1")
	info, _ := store.Blobs().Stat(ctx, "weights")
	fmt.Println(string(doc.Data), info.Size)
	// Output: {"stopped":false} 9
}
