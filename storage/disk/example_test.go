package disk_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

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

func ExampleStore_Snapshot() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := disk.Open(ctx, filepath.Join(dir, "used"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	_, _ = store.Documents().Create(ctx, "channel/1", []byte(`{"stopped":false}`))

	snapshot, err := store.Snapshot(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer snapshot.Close()
	_, _ = store.Documents().Create(ctx, "channel/2", []byte(`{}`)) // not in the snapshot
	for file, err := range snapshot.Files(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		content, err := file.Open()
		if err != nil {
			fmt.Println(err)
			return
		}
		data, _ := io.ReadAll(content)
		_ = content.Close()
		name := filepath.Join(dir, "copy", filepath.FromSlash(file.Name))
		_ = os.MkdirAll(filepath.Dir(name), 0o700)
		_ = os.WriteFile(name, data, 0o600)
	}

	copied, err := disk.Open(ctx, filepath.Join(dir, "copy"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer copied.Close()
	documents, _ := copied.Documents().List(ctx, "channel/", "", 0)
	fmt.Println(len(documents), documents[0].Key)
	// Output: 1 channel/1
}
